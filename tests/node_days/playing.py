"""Plays node-days with all rules and the configuration of a fresh installation, each in a process of a pool, and counts what was raised.

A healthy day raises nothing: every reason that a link has, and every level worse than ok, is a false alarm. Unknown is none: how long
nothing could be said, and why, is counted apart. Knows no file and no target.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

from exporter.cli.simulate import health_without
from exporter.cli.virtual_run import played
from exporter.config.schema import Config
from exporter.runtime.clock import SystemClock
from exporter.runtime.logs import set_up
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Transition
from tests.node_days.code_digest import digest
from tests.node_days.day import NodeDay, node_day

QUIET = frozenset({"ok", "unknown"})
ENDS_A_LIFE = frozenset({"exporter_restart", "reboot"})
NOTED = ("reboot", "driver_reload", "exporter_restart", "clock_jump", "counter_reset", "maintenance")
"""Kinds of events that a line of results counts."""


class FalseAlarm(NamedTuple):
    """A link that was raised on a healthy day: when (seconds since the day began), to which level, by which new reasons and evidence."""

    t_s: float
    link: str
    level: str
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]


class Played(NamedTuple):
    """What became of a day. `digest` is of the code that played it; `unknown_s` are link-seconds by reason; `took_s` is real time."""

    number: int
    seed: int
    node: str
    digest: str
    virtual_s: float
    took_s: float
    uses: tuple[str, ...]
    events: Mapping[str, int]
    transitions: int
    false_alarms: tuple[FalseAlarm, ...]
    unknown_s: Mapping[str, float]


def play(number: int, duration_s: float) -> Played:
    """Play the day of that number, or its beginning, in this process."""
    return play_day(node_day(number, duration_s))


def play_day(day: NodeDay) -> Played:
    """Play this day in this process."""
    set_up("critical", "logfmt")
    clock, scenario = SystemClock(), day.scenario
    started_s = clock.monotonic_s()
    found = [event for event in played(scenario, Config(), health_without(())) if isinstance(event, Transition)]
    took_s = clock.monotonic_s() - started_s
    kinds = [fault.kind for fault in scenario.faults]
    return Played(day.number, scenario.seed, scenario.node, digest(), scenario.duration_s, took_s, day.uses,
                  {kind: kinds.count(kind) for kind in NOTED if kind in kinds}, len(found), false_alarms(found),
                  unknown_s(scenario, found))  # fmt: skip


def play_all(numbers: Sequence[int], duration_s: float, jobs: int) -> Iterator[Played]:
    """Each day as it is done, in any order. With one job in this process."""
    one = partial(play, duration_s=duration_s)
    if jobs == 1 or len(numbers) <= 1:
        yield from map(one, numbers)
        return
    with get_context("spawn").Pool(min(jobs, len(numbers))) as pool:
        yield from pool.imap_unordered(one, numbers)


def false_alarms(transitions: Iterable[Transition]) -> tuple[FalseAlarm, ...]:
    """One for each time that a link gets a reason it did not have, or is worse than ok without one after it was not. Silence of a link, and
    another life of the exporter, end nothing: what is still there was counted."""
    found: list[FalseAlarm] = []
    had: dict[str, frozenset[str]] = {}
    loud: set[str] = set()
    for t_s, link, _, level, reasons, evidence, _ in transitions:
        new = [place for place, reason in enumerate(reasons) if reason not in had.get(link, ())]
        if new or (level not in QUIET and link not in loud):
            found.append(FalseAlarm(t_s, link, level, tuple(reasons[place] for place in new), tuple(evidence[place] for place in new)))
        had[link] = frozenset(reasons)
        (loud.discard if level in QUIET else loud.add)(link)
    return tuple(found)


def unknown_s(scenario: Scenario, transitions: Iterable[Transition]) -> dict[str, float]:
    """For how long nothing could be said, by reason, over all links. A life of the exporter that ends says nothing any more."""
    ends = iter(sorted(fault.at_s for fault in scenario.faults if fault.kind in ENDS_A_LIFE))
    ends_s = next(ends, scenario.duration_s)
    since: dict[str, tuple[str, float]] = {}
    found: dict[str, float] = {}

    def close(link: str, at_s: float) -> None:
        why, since_s = since.pop(link)
        found[why] = found.get(why, 0.0) + at_s - since_s

    def close_all(at_s: float) -> None:
        for link in list(since):
            close(link, at_s)

    for transition in transitions:
        while ends_s < transition.t_s:
            close_all(ends_s)
            ends_s = next(ends, scenario.duration_s)
        if transition.link in since:
            close(transition.link, transition.t_s)
        if transition.unknown:
            since[transition.link] = transition.unknown, transition.t_s
    close_all(min(ends_s, scenario.duration_s))
    return {why: round(amount_s, 1) for why, amount_s in sorted(found.items())}
