"""Whether a monitor said what a scenario expects of it, and nothing of links that should be silent. Pure: transitions → what was missed.

Knows statuses and reasons as words; who made the transitions is no concern of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from exporter.model.health import Level
from exporter.simulator.fault_kinds import KINDS, Aim
from exporter.simulator.node_links import matching
from exporter.simulator.profiles import profile_named
from exporter.simulator.scenario import Expected, PlannedFault, Scenario

OK = Level.OK.word
_QUIET = frozenset({OK, "unknown"})


class Transition(NamedTuple):
    """One link's health became another: seconds since the scenario began, statuses in words, the reasons active since then and the evidence
    of each. `unknown`: why nothing can be said of the link; "" if something can."""

    t_s: float
    link: str
    before: str
    after: str
    reasons: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    unknown: str = ""


class Sighting(NamedTuple):
    """A signal of one link was for the first time what expectation `number` asks for: seconds since the scenario began, and the signal."""

    t_s: float
    number: int
    link: str
    value: float


class Unwanted(NamedTuple):
    """A signal was seen of a link of which it must never be seen, for the first time: seconds since the scenario began, and the signal with
    its labels, apart by blanks."""

    t_s: float
    link: str
    signal: str


class Remark(NamedTuple):
    """The monitor says that it cannot tell something, and why: seconds since the scenario began, and its words."""

    t_s: float
    text: str


Event: TypeAlias = Transition | Sighting | Unwanted | Remark


class Met(NamedTuple):
    """One link of one expectation. `after_s`: how long it took; None if it was not met in time. `number`: of the expectation."""

    number: int
    link: str
    after_s: float | None


class Outcome(NamedTuple):
    """`met`: each link of each expectation. `broken`: links that should have been silent and were not. `raised`: every link that was worse
    than ok at any time; those that no expectation and no fault concerns are `unexplained`. `unwanted`: links and the signals that should
    not have been seen of them. `notes`: what the monitor said it could not tell; `unsaid`: what it should have
    said so."""

    met: tuple[Met, ...]
    broken: tuple[str, ...]
    raised: tuple[str, ...]
    unexplained: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the scenario's `expect`, `silent`, `never` and `says` held."""
        return not self.broken and not self.unwanted and not self.unsaid and all(one.after_s is not None for one in self.met)


def outcome_of(scenario: Scenario, events: Sequence[Event]) -> Outcome:
    """What came of it. Events are in the order of time."""
    profile = profile_named(scenario.node)
    by_link: dict[str, list[Transition]] = {}
    seen_s: dict[tuple[int, str], float] = {}
    unwanted: list[str] = []
    notes: list[str] = []
    for event in events:
        if isinstance(event, Sighting):
            seen_s[event.number, event.link] = event.t_s
        elif isinstance(event, Unwanted):
            unwanted.append(f"{event.link} {event.signal}")
        elif isinstance(event, Remark):
            notes.append(event.text)
        else:
            by_link.setdefault(event.link, []).append(event)
    met: list[Met] = []
    for number, expected in enumerate(scenario.expect):
        for link in map(str, matching(profile, expected.link)):
            from_s = onset_s(scenario, expected, link)
            at_s = seen_s.get((number, link))
            after_s = at_s - from_s if at_s is not None else None
            met.append(Met(number, link, after_s if expected.signal else _after_s(expected, from_s, by_link.get(link, ()))))
    raised = sorted(link for link, of_link in by_link.items() if any(_is_loud(transition) for transition in of_link))
    silent = {str(link) for pattern in scenario.silent for link in matching(profile, pattern)}
    explained = {str(link) for pattern in _concerned(scenario) for link in matching(profile, pattern)}
    return Outcome(tuple(met), tuple(link for link in raised if link in silent), tuple(raised),
                   tuple(link for link in raised if link not in explained), tuple(unwanted), tuple(notes),
                   tuple(words for words in scenario.says if not any(words in note for note in notes)))  # fmt: skip


def _is_loud(transition: Transition) -> bool:
    return transition.after not in _QUIET or bool(transition.reasons)


def _after_s(expected: Expected, onset_s: float, transitions: Iterable[Transition]) -> float | None:
    """How long after the onset the link was as expected; None if it was not in time."""
    status, reasons, since_s = OK, frozenset[str](), 0.0
    for transition in (*transitions, None):
        until_s = transition.t_s if transition is not None else float("inf")
        is_so = status == expected.status and (not expected.reason or expected.reason in reasons)
        first_s = max(since_s, onset_s)
        if is_so and first_s < until_s and first_s <= onset_s + expected.within_s:
            return first_s - onset_s
        if transition is not None:
            status, reasons, since_s = transition.after, frozenset(transition.reasons), transition.t_s
    return None


def onset_s(scenario: Scenario, expected: Expected, link: str) -> float:
    """Since when the expectation runs: as said, else since the first fault that concerns the link, else since the first one."""
    if expected.at_s is not None:
        return expected.at_s
    concerning = [fault.at_s for fault in scenario.faults if _concerns(scenario, fault, link)]
    return min(concerning or [fault.at_s for fault in scenario.faults], default=0.0)


def _concerns(scenario: Scenario, fault: PlannedFault, link: str) -> bool:
    aim = KINDS[fault.kind].aim
    if aim is Aim.LINK:
        return link in {str(known) for known in matching(profile_named(scenario.node), fault.target)}
    return aim is Aim.DEVICE and link.split("/")[1] == fault.target


def _concerned(scenario: Scenario) -> Iterable[str]:
    """Patterns of links about which a monitor may well say something."""
    yield from (expected.link for expected in scenario.expect)
    for fault in scenario.faults:
        aim = KINDS[fault.kind].aim
        yield fault.target if aim is Aim.LINK else f"*/{fault.target}/*" if aim is Aim.DEVICE else "*"


def words_of(expected: Expected) -> str:
    """What is expected, in words: a status, or a signal and how much of it."""
    return f"{' '.join(expected.signal)} at least {expected.at_least:g}" if expected.signal else expected.status


def summary_of(scenario: Scenario, outcome: Outcome, transitions: int) -> Mapping[str, object]:
    """The outcome as one JSON object."""
    times = [one.after_s for one in outcome.met if one.after_s is not None]
    missed = [
        {"link": one.link, **({"signal": " ".join(expected.signal)} if expected.signal else {"status": expected.status}),
         **({"reason": expected.reason} if expected.reason else {})}
        for one in outcome.met
        if one.after_s is None
        for expected in (scenario.expect[one.number],)
    ]  # fmt: skip
    return {
        "node": scenario.node, "seed": scenario.seed, "duration_s": scenario.duration_s, "holds": outcome.holds,
        "expected": len(outcome.met), "met": len(times), "missed": missed,
        "after_s": {f"{one.link} {words_of(scenario.expect[one.number])}": round(one.after_s, 3)
                    for one in outcome.met if one.after_s is not None},
        "slowest_s": round(max(times), 3) if times else None,
        "broken_silence": list(outcome.broken), "unwanted": list(outcome.unwanted), "raised": list(outcome.raised),
        "unexplained": list(outcome.unexplained),
        "notes": list(outcome.notes), "unsaid": list(outcome.unsaid), "transitions": transitions,
    }  # fmt: skip
