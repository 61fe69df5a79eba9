"""Properties of the engine: whatever Readings come, in whatever order and at whatever times, it does not raise, is deterministic, tells
finite numbers, and lets no link speak of another."""

import json
from collections.abc import Sequence
from math import isfinite

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import CATALOGUE, gpu, infiniband, nvlink, pcie, signals
from exporter.model.entity import NODE, Device, Fabric, Link
from exporter.model.health import Level, Why
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Reading, Snapshot
from exporter.model.thresholds import Thresholds
from exporter.signals.engine import Engine
from exporter.signals.rules import RULES
from exporter.signals.verdict import Moment
from tests.signals.passes import DEFAULTS
from tests.signals.small_feeds import DOWN, LINK, OTHER, PORT, UP, Player, snapshot

LINKS = [PORT, OTHER, LINK, Link(Fabric.NVLINK, "gpu0", "fabric"), Link(Fabric.PCIE, "gpu0", "upstream"), Link(Fabric.ROCE, "mlx5_0", "1"),
         Link(Fabric.ETHERNET, "eth0", "1"), Link(Fabric.EFA, "rdmap0", "1"), Link(Fabric.NVLINK, "gpu0", "")]  # fmt: skip
ROWS = [row.key for row in CATALOGUE.values() if row.role] + [infiniband.PORT_INFO.key, nvlink.INFO.key, gpu.INFO.key, pcie.INFO.key,
        gpu.FABRIC_HEALTHY.key, gpu.FABRIC_STATE.key, gpu.RATE_EXPECTED.key, "eth_info"]  # fmt: skip
texts = st.sampled_from(["", "transmit", "port_xmit_wait", "74", "replay", "packet_seq_err", "rx_errors_phy", "compute", "switch"])
keys = st.sampled_from(ROWS) | st.lists(st.sampled_from([*ROWS, "event", "ib_hw_events"]) | texts, max_size=4).map(tuple)
good = st.integers(0, 2**64 - 1) | st.floats(0.0, 1e18)
junk = good | st.integers(-(2**63), 2**64) | st.floats()
entities = st.sampled_from([*LINKS, Device("gpu0"), Device("mlx5_0"), NODE])


def snapshots_of(numbers: st.SearchStrategy[int | float], times: st.SearchStrategy[float]) -> st.SearchStrategy[Snapshot]:
    """Snapshots of a few feeds; some with keys laid out once, some with a dict."""
    values = st.dictionaries(keys, numbers, max_size=6)
    laid_out = values.map(lambda found: FixedValues({key: at for at, key in enumerate(found)}, list(found.values())))
    readings = st.lists(st.builds(Reading, entities, values | laid_out), max_size=5).map(tuple)
    feeds = st.builds(Feed, st.sampled_from(["infiniband", "nvlink", "kernel_log"]), st.sampled_from(["", "x"]), st.sampled_from(Cadence))
    return st.builds(Snapshot, feeds, times, times, readings)


any_times = st.floats(-1e9, 1e9)
batches = st.lists(st.tuples(st.lists(snapshots_of(junk, any_times), max_size=4), st.builds(Moment, any_times, any_times, st.booleans())),
                   max_size=6)  # fmt: skip


def ran(batches: Sequence[tuple[Sequence[Snapshot], Moment]]) -> str:
    """All that an engine says of these, as text."""
    engine = Engine(RULES, DEFAULTS)
    said = []
    for snapshots, moment in batches:
        changes = engine.take(snapshots, moment) + engine.compare(moment) + engine.settle(moment)
        said.append((changes, engine.readings(moment), engine.are_all_up()))
    return repr(said)


@given(batches)
def test_no_readings_in_no_order_at_no_time_raise(batches: list[tuple[list[Snapshot], Moment]]) -> None:
    """Junk costs only itself; and twice the same is the same."""
    assert ran(batches) == ran(batches)


plays = st.lists(st.tuples(st.floats(0.1, 700.0), st.lists(snapshots_of(good, st.just(0.0)), min_size=1, max_size=3)), max_size=12)


@given(plays)
def test_what_is_told_is_finite_and_never_negative(plays: list[tuple[float, list[Snapshot]]]) -> None:
    """For any counters: they may rise, fall, be reset or be missing."""
    engine, now_s = Engine(RULES, DEFAULTS), 1000.0
    for elapsed_s, snapshots in plays:
        now_s += elapsed_s
        moment = Moment(now_s, 1.8e9 + now_s, in_grace=False)
        engine.take([snapshot._replace(monotonic_s=now_s, wall_s=1.8e9 + now_s) for snapshot in snapshots], moment)
        engine.compare(moment)
        engine.settle(moment)
        told = [(key, value) for _, values in engine.readings(moment) for key, value in values.items()]
        assert [(key, value) for key, value in told if not (isfinite(value) and value >= 0)] == []


states = st.lists(st.sampled_from(["up", "down", "silent", "junk"]), max_size=40)


@given(states, states)
def test_one_links_passes_never_change_another(ours: list[str], theirs: list[str]) -> None:
    """Whatever one port does, what is shown of the other is the same as without it."""
    seen = {"up": UP, "down": DOWN, "junk": {"ib_state": float("nan"), "ib_data_transmitted": -1}}

    def shown(with_other: list[str]) -> list[str]:
        player, found = Player(), []
        for at in range(max(len(ours), len(theirs))):
            player.now_s += 5.0
            for link, does in ((PORT, ours), (OTHER, with_other)):
                if at < len(does) and does[at] != "silent":
                    player.tick(snapshot(player.now_s, [(link, seen[does[at]])], subject=link.device))
            player.tick()
            found.append(repr(player.shown(PORT)))
        return found

    assert shown(theirs) == shown([])


@given(st.lists(st.tuples(st.sampled_from([UP, DOWN]), st.sampled_from([5.0, 700.0, 90_000.0]), st.floats(-1e8, 1e8)), max_size=40))
def test_a_failed_link_stays_so_for_its_hold_whatever_gaps_and_clocks_do(steps: list[tuple[dict[str, int], float, float]]) -> None:
    """Gaps are silence, and the wall clock may jump: only looks that saw it well for the whole hold let it fall."""
    player = Player(Thresholds(failed_hold_s=100.0)).play(UP, 3).play(DOWN, 3)
    well_s = 0.0
    for values, gap_s, jump_s in steps:
        player.now_s += gap_s - 5.0
        player.tick()
        well_s = 0.0 if gap_s > 5.0 else well_s
        for _ in range(3):
            player.now_s += 5.0
            moment = Moment(player.now_s, 1.8e9 + jump_s, in_grace=False)
            player.engine.take([snapshot(player.now_s, [(PORT, values)], subject=PORT.device)], moment)
            player.engine.settle(moment)
            well_s = well_s + 5.0 if values is UP else 0.0
        if player.engine.links[PORT].verdict.level is not Level.FAILED:
            assert well_s >= 100.0
            return


@given(st.sampled_from(sorted(Level)[1:]), st.lists(st.floats(1.0, 1e5), max_size=10))
def test_time_alone_lowers_no_level(level: Level, waits: list[float]) -> None:
    """Of a link of which nothing is seen."""
    player = Player().play(UP, 2)
    player.engine.restore(PORT, player.engine.links[PORT].verdict._replace(level=level))
    for seconds in waits:
        player.now_s += 100.0 + seconds
        player.tick()

    assert player.engine.links[PORT].verdict.level is level


def test_reasons_have_words_that_are_labels() -> None:
    """What is shown survives JSON, and each reason is a word of its own."""
    assert json.loads(json.dumps([why.value for why in Why])) == [why.value for why in Why]
    assert signals.CONDITION.own_labels == ("reason",)
