"""Links that are left alone while nothing changes: nothing that is said of them differs from what asking at every pass says."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import infiniband, nvlink, pcie, signals
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey, Snapshot
from exporter.signals.engine import Engine
from exporter.signals.presence import NVLINKS
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State
from exporter.signals.rules import RULES
from exporter.signals.verdict import Moment
from tests.signals.passes import DEFAULTS
from tests.signals.small_feeds import LINK, OTHER, PORT, WALL_S, Player, snapshot

RESTLESS = Rule("restless", frozenset(), lambda state, _asked: ((state or 0) + 1, NOTHING))
"""Remembers something: whatever it is asked about does not rest."""
EAGER = (*(replace(rule, hears=None) for rule in RULES), RESTLESS)
"""The same rules, asked at every pass."""
SLOT = Link(Fabric.PCIE, "gpu0", "upstream")
SEEN: dict[Link, tuple[dict[SeriesKey, Number], ...]] = {
    PORT: (
        {infiniband.STATE.key: 4, infiniband.PHYSICAL_STATE.key: 5, "ib_data_transmitted": 5, "ib_data_rate": 5e10},
        {infiniband.STATE.key: 1, infiniband.PHYSICAL_STATE.key: 2, "ib_data_transmitted": 5},
        {infiniband.STATE.key: 4, infiniband.PHYSICAL_STATE.key: 5, "ib_data_transmitted": 9, "ib_data_rate": 2.5e10},
    ),
    LINK: (
        {nvlink.STATE.key: 1},
        {nvlink.STATE.key: 0},
        {nvlink.STATE.key: 3},
    ),
    SLOT: (
        {pcie.WIDTH.key: 16, pcie.SPEED.key: 32e9, pcie.WIDTH_EXPECTED.key: 16, pcie.SPEED_EXPECTED.key: 32e9},
        {pcie.WIDTH.key: 8, pcie.SPEED.key: 32e9, pcie.WIDTH_EXPECTED.key: 16, pcie.SPEED_EXPECTED.key: 32e9},
        {pcie.WIDTH.key: 16, pcie.SPEED.key: 32e9},
    ),
}  # fmt: skip
ERRORS: tuple[dict[SeriesKey, Number], ...] = (
    {(nvlink.ERRORS.key, "replay"): 0, nvlink.RATE.key: 26e9},
    {(nvlink.ERRORS.key, "replay"): 4_000_000, nvlink.RATE.key: 26e9},
)
_PLACES: dict[tuple[SeriesKey, ...], dict[SeriesKey, int]] = {}


def laid_out(values: dict[SeriesKey, Number]) -> FixedValues:
    """As sources hand them out: equal keys share their places."""
    places = _PLACES.setdefault(tuple(values), {key: at for at, key in enumerate(values)})
    return FixedValues(places, list(values.values()))


def passes_at(now_s: float, choice: tuple[int, int, int, int]) -> list[Snapshot]:
    """What three links say in a pass, and the errors of one of them in its normal pass."""
    *fast, slow = choice
    found = [snapshot(now_s, [(link, laid_out(SEEN[link][at % 3]))], subject=str(link)) for link, at in zip(SEEN, fast, strict=True)]
    return [*found, snapshot(now_s, [(LINK, laid_out(ERRORS[slow % 2]))], subject="errors", cadence=Cadence.NORMAL)]


choices = st.tuples(*[st.integers(0, 2)] * 4)
plays = st.lists(st.tuples(choices, st.integers(1, 12), st.sampled_from([1.0, 5.0, 40.0, 700.0])), min_size=1, max_size=8)


@given(plays)
def test_resting_changes_nothing_that_is_said(plays: list[tuple[tuple[int, int, int, int], int, float]]) -> None:
    """Passes that repeat for a while, then change, with pauses of all lengths: verdicts and signals are those of an engine that asks each
    rule at each pass."""
    resting, eager, now_s = Engine(RULES, DEFAULTS), Engine(EAGER, DEFAULTS), 1000.0
    for engine in (resting, eager):
        engine.expect(PORT, {Role.STATE: 1})
        engine.expect(LINK, {Role.STATE: 1})
    for choice, times, every_s in plays:
        for _ in range(times):
            now_s += every_s
            moment = Moment(now_s, WALL_S + now_s, in_grace=False)
            said = [
                (engine.take(passes_at(now_s, choice), moment) + engine.settle(moment), shown_by(engine, moment))
                for engine in (resting, eager)
            ]
            assert said[0] == said[1]


def shown_by(engine: Engine, moment: Moment) -> list[tuple[str, dict[SeriesKey, Number]]]:
    """All Readings, in words that compare."""
    return [(str(entity), dict(values)) for entity, values in engine.readings(moment)]


class Counting:
    """A rule's step that counts how often it is asked; fails nobody."""

    def __init__(self, rule: Rule) -> None:
        self.asked = 0
        self.rule = replace(rule, step=self.step)
        self._step = rule.step

    def step(self, state: State, asked: Pass) -> tuple[State, Outcome]:
        """As the rule's."""
        self.asked += 1
        return self._step(state, asked)


def played(rules: Sequence[Rule], passes: Sequence[dict[SeriesKey, Number]], link: Link = LINK) -> Player:
    """A player with these rules that has seen these passes."""
    player = Player(expected={})
    player.engine = Engine(rules, DEFAULTS)
    for values in passes:
        player.now_s += 5.0
        player.tick(Snapshot(snapshot(0.0, [], subject="x").feed, WALL_S, player.now_s, (Reading(link, laid_out(values)),)))
    return player


def test_a_link_whose_numbers_stand_still_is_asked_twice() -> None:
    """The first pass has nothing before it; the second is as the first; then it rests until something changes."""
    counting = Counting(NVLINKS)
    played((counting.rule,), [{nvlink.STATE.key: 1}] * 50)
    still = counting.asked
    played((counting.rule,), [*[{nvlink.STATE.key: 1}] * 50, {nvlink.STATE.key: 2}])

    assert (still, counting.asked - still) == (1, 2)


def test_rules_of_facts_are_not_asked_because_bytes_move() -> None:
    """The state stands still while the counters run; the rule about load is asked each time."""
    counting, load = Counting(NVLINKS), Counting(next(rule for rule in RULES if rule.name == "load"))
    passes = [{nvlink.STATE.key: 1, nvlink.RECEIVED.key: at, nvlink.TRANSMITTED.key: at} for at in range(50)]
    played((counting.rule, load.rule), passes)

    assert (counting.asked, load.asked) == (1, 50)


def test_a_link_that_rests_does_not_fall_silent() -> None:
    """Its signals and its health stay for as long as it is looked at."""
    player = Player()
    values = laid_out({infiniband.STATE.key: 4, infiniband.PHYSICAL_STATE.key: 5})
    for _ in range(100):
        player.now_s += 5.0
        player.tick(snapshot(player.now_s, [(OTHER, values)], subject="x"))

    assert (player.status(OTHER), signals.FLAPS.key in player.shown(OTHER)) == ("ok", True)
