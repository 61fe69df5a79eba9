"""Stand-ins for the rules that are still to come: what they will cost, on the real Scene. Pure; no verdict is meant.

For each link: use of both directions, stall, errors per bit and retrainings over three windows, downgrade, share among its siblings, a
step of a debounced state for each of six conditions, and the worst of them. Numbers are asked for by role, through a view of the link
(counts.py).
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias

from exporter.model.entity import Link
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Number, Reading, Scene, SeriesKey, Snapshot
from tests.benchmarks import counts
from tests.benchmarks.counts import Feed2, View

BACK = (1, 10, 50)
"""Passes that the three windows reach back: stand-ins for a minute, an hour and days, of which a rule keeps one Snapshot each."""
NTH = tuple(range(len(BACK)))
ACTIVE_IDS = frozenset({1, 4})
"""NVLink's and InfiniBand's active."""
USABLE_BYTES_PER_S = 25e9
"""Of a link whose source states no capacity."""
TICK_BYTES = 8
BUSY_BYTES_PER_S = 1e9
ERROR_RATIO_MAX = (1e-12, 1e-13, 1e-15)
RAISE_AFTER, CLEAR_AFTER = 3, 10
SEVERITIES: Mapping[str, int] = {"missing": 3, "downgrade": 2, "errors": 1, "stalled": 1, "flapping": 1, "imbalance": 1}
ERROR_RATIO = tuple(("error_ratio", str(back)) for back in BACK)
FLAPS = tuple(("flaps", str(back)) for back in BACK)

Views: TypeAlias = Callable[[Iterable[Feed2]], Mapping[Link, View]]
"""Puts each link's Readings together (counts.searched, counts.paired)."""
Rates: TypeAlias = tuple[float, float]
"""Bytes per second sent and received."""


class State(NamedTuple):
    """A debounced condition: raised or not, since when (monotonic), and for how many passes in a row it was otherwise."""

    raised: bool = False
    since_s: float = 0.0
    against: int = 0


UNSEEN = (State(),) * len(SEVERITIES)


class StandInRules:
    """Keeps each feed's last Snapshots and each condition's state."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._history: dict[Feed, deque[Snapshot]] = {}
        self._states: dict[Link, tuple[State, ...]] = {}

    def step(self, scene: Scene) -> tuple[Reading, ...]:
        """One pass over all links: a Reading of derived numbers for each."""
        feeds = [(self._earlier(feed, newest), newest) for feed, newest in scene.snapshots.items() if feed.cadence is not Cadence.SLOW]
        views = self._views(feeds)
        rates = {link: _rates(view) for link, view in views.items()}
        usual = _usual(rates)
        return tuple(
            [Reading(link, self._judged(link, view, rates[link], usual[link.device], scene.monotonic_s)) for link, view in views.items()]
        )

    def _earlier(self, feed: Feed, newest: Snapshot) -> Sequence[Snapshot]:
        """The Snapshots that the windows reach back to; as far back as there are any."""
        kept = self._history.setdefault(feed, deque(maxlen=BACK[-1] + 1))
        if not kept or kept[-1] is not newest:
            kept.append(newest)
        return [kept[max(-1 - back, -len(kept))] for back in BACK]

    def _judged(self, link: Link, view: View, rates: Rates, usual: Rates, now_s: float) -> Mapping[SeriesKey, Number]:
        values = _numbers(view, rates)
        share = _share(rates, usual)
        if share is not None:
            values["sibling_ratio"] = share
        bad = _bad(values, share)
        before = self._states.get(link, UNSEEN)
        after = self._states[link] = tuple([stepped(state, is_bad, now_s) for state, is_bad in zip(before, bad, strict=True)])
        values["health"] = max([severity if state.raised else 0 for state, severity in zip(after, SEVERITIES.values(), strict=True)])
        return values


def stepped(state: State, is_bad: bool | None, now_s: float) -> State:  # noqa: FBT001  # the input of a state machine
    """Raised after RAISE_AFTER bad passes in a row, cleared after CLEAR_AFTER good ones; what cannot be told changes nothing."""
    if is_bad is None:
        return state
    if is_bad is state.raised:
        return State(state.raised, state.since_s) if state.against else state
    against = state.against + 1
    if against >= (CLEAR_AFTER if state.raised else RAISE_AFTER):
        return State(is_bad, now_s)
    return State(state.raised, state.since_s, against)


def _rates(view: View) -> Rates:
    """Over the shortest window; 0 where unknown."""
    elapsed_s = view.elapsed_s(0, counts.SENT)
    if elapsed_s <= 0:
        return 0.0, 0.0
    return (view.growth(0, counts.SENT) or 0) / elapsed_s, (view.growth(0, counts.RECEIVED) or 0) / elapsed_s


def _usual(rates: Mapping[Link, Rates]) -> Mapping[str, Rates]:
    """The median rates of each device's links."""
    groups: dict[str, list[Rates]] = {}
    for link, pair in rates.items():
        groups.setdefault(link.device, []).append(pair)
    return {device: (median([sent for sent, _ in pairs]), median([got for _, got in pairs])) for device, pairs in groups.items()}


def _numbers(view: View, rates: Rates) -> dict[SeriesKey, Number]:
    """What is derived of one link alone; a number whose inputs are missing is missing."""
    values: dict[SeriesKey, Number] = {}
    growth = view.growth
    state = view.value(counts.STATE)
    if state is not None:
        values["up"] = state in ACTIVE_IDS
    capacity = view.value(counts.CAPACITY) or USABLE_BYTES_PER_S
    values["tx_utilization"], values["rx_utilization"] = rates[0] / capacity, rates[1] / capacity
    values["capacity_ratio"] = capacity / USABLE_BYTES_PER_S
    for nth in NTH:
        received = growth(nth, counts.RECEIVED)
        if received:
            errors = (growth(nth, counts.ERRORS) or 0) + (growth(nth, counts.SYMBOL_ERRORS) or 0)
            values[ERROR_RATIO[nth]] = errors / (received * 8)
        values[FLAPS[nth]] = (growth(nth, counts.RECOVERIES) or 0) + (growth(nth, counts.LINK_DOWNS) or 0)
    waited, elapsed_s = growth(0, counts.STALL), view.elapsed_s(0, counts.STALL)
    if waited is not None and elapsed_s > 0:
        values["stall_ratio"] = waited * TICK_BYTES / (capacity * elapsed_s)
    retries = growth(0, counts.RETRIES)
    if retries is not None:
        values["retries"] = retries
    return values


def _share(rates: Rates, usual: Rates) -> float | None:
    """The link's rate over its siblings' median, of the direction in which it lags more; None without traffic to compare."""
    ratios = [rate / among for rate, among in zip(rates, usual, strict=True) if among > BUSY_BYTES_PER_S]
    return min(ratios) if ratios else None


def _bad(values: Mapping[SeriesKey, Number], share: float | None) -> tuple[bool | None, ...]:
    """Whether each condition holds now, in the order of SEVERITIES; None where it cannot be told."""
    up, stall = values.get("up"), values.get("stall_ratio")
    errors = [ratio > most for key, most in zip(ERROR_RATIO, ERROR_RATIO_MAX, strict=True) if (ratio := values.get(key)) is not None]
    return (
        None if up is None else not up,
        values["capacity_ratio"] < 0.99,
        any(errors) if errors else None,
        None if stall is None else stall > 0.05,
        values[FLAPS[-1]] >= 3,
        None if share is None else share < 0.7,
    )
