"""The engine: links followed through their passes, each by itself; what is shown of them, and of the node."""

import pytest

from exporter.catalog import gpu, nvlink, signals
from exporter.model.entity import NODE, Device, Fabric, Link
from exporter.model.health import Finding, Level, Why
from exporter.model.metric import Cadence
from exporter.model.thresholds import Thresholds
from exporter.signals.devices import DOMAIN
from exporter.signals.verdict import LinkState, ReasonState
from tests.signals.small_feeds import (
    ACTIVE,
    DOWN,
    INACTIVE,
    LINK,
    OTHER,
    PORT,
    UNWIRED,
    UP,
    WALL_S,
    Player,
    gpu_identity,
    identity,
    logged,
    snapshot,
)

FAILED = LinkState(Level.FAILED, 7.0, {Why.DOWN: ReasonState(0b111, 7.0, "it was down")})


def test_a_link_that_is_up_is_ok_from_its_first_pass() -> None:
    """Also while nobody knows whether it should be."""
    assert Player().play(UP).status() == Player(expected={}).play(UP).status() == "ok"


def test_an_expected_link_that_is_down_fails_at_the_third_pass() -> None:
    """One poll is noise; the log line has the reason and its evidence."""
    player = Player().play(UP)

    assert [player.play(DOWN).status() for _ in range(3)] == ["ok", "ok", "failed"]
    assert player.reasons() == {"down"}
    changes = [change for change in player.changes if change.after.link == PORT]
    assert [(change.before.level, change.after.level) for change in changes] == [(Level.OK, Level.FAILED)]
    assert changes[0].after.active[0].evidence == "state down, physical state polling; it should be up"


def test_a_condition_says_since_when() -> None:
    """In Unix time."""
    player = Player().play(UP).play(DOWN, 3)

    assert player.shown()[signals.CONDITION_SINCE.key, "down"] == WALL_S + player.now_s


def test_a_failed_link_that_comes_back_falls_level_by_level() -> None:
    """An hour after failed, then ten minutes each; each change once."""
    player = Player().play(UP).play(DOWN, 3)
    player.changes.clear()
    player.play(UP, 1100)

    levels = [(change.before.level, change.after.level) for change in player.changes if change.before.level is not change.after.level]
    assert levels == [(Level.FAILED, Level.DEGRADED), (Level.DEGRADED, Level.SUSPECT), (Level.SUSPECT, Level.OK)]
    assert (player.status(), player.reasons()) == ("ok", set())


def test_silence_never_clears_failed() -> None:
    """A hung device says nothing for a day; when it speaks again it must prove itself for the whole hold."""
    player = Player().play(UP).play(DOWN, 3).play(UP, 5).wait(86_400.0)
    silent = player.status()

    assert (silent, player.play(UP, 700).status()) == ("failed", "failed")
    assert player.play(UP, 30).status() == "degraded"


def test_a_link_that_falls_silent_is_unknown_and_has_no_signals() -> None:
    """After three of its passes; the last values are no news."""
    counted = {**UP, "ib_data_transmitted": 1, "ib_data_rate": 5e10}
    player = Player().play(counted, 3)
    before = player.shown()

    assert signals.UTILIZATION.key in {key[0] for key in before if isinstance(key, tuple)}
    assert player.wait(15.0).status() == "ok"
    assert player.wait(5.0).shown() == {(signals.UNKNOWN.key, "stale"): 1}


def test_a_link_that_was_seen_once_is_given_a_minute() -> None:
    """Nobody knows yet how often it is looked at."""
    player = Player().play(UP)

    assert player.wait(60.0).status() == "ok"
    assert player.wait(5.0).status() == "stale"


def test_a_pass_that_came_late_and_the_next_at_once_make_no_link_stale() -> None:
    """Passes a minute apart: a short pause between two of them is not how often the link is looked at."""
    player = Player().play(UP, 4, every_s=60.0).play(UP, every_s=1.0)

    assert player.wait(59.0).status() == "ok"


def test_a_link_whose_quick_feed_stops_is_judged_by_the_slower_one() -> None:
    """The counters still come: it is seen every fifteen seconds."""
    player = Player().play(UP, 4)
    for _ in range(6):
        player.now_s += 15.0
        player.tick(snapshot(player.now_s, [(PORT, {"ib_symbol_error": 0})], cadence=Cadence.NORMAL))

    assert player.wait(30.0).status() == "ok"


def test_an_xid_is_no_look_at_the_link() -> None:
    """The kernel log speaks of links that hang: they stay silent, and failed."""
    player = Player().play(ACTIVE, 3, LINK).tick(logged(1015.0, LINK, 0))
    for _ in range(10):
        player.now_s += 5.0
        player.tick(logged(player.now_s, LINK, 1))

    assert (player.status(LINK), player.reasons(LINK)) == ("failed", {"xid"})
    assert player.engine.links[LINK].last_s == 1015.0


def test_a_switch_port_in_the_log_is_no_link_of_ours() -> None:
    """Nor are events that name no link: no rule is about either."""
    port = Link(Fabric.NVLINK, "0000:07:00.0", "12")
    player = Player(expected={}).tick(
        snapshot(1000.0, [(port, {("sxid", "20034"): 1}), (Link(Fabric.NVLINK, "gpu0", ""), {("xid", "74"): 1})], source="kernel_log")
    )

    assert player.engine.links == {}


def test_a_gpu_that_is_not_well_in_its_domain_fails_a_link_of_its_own() -> None:
    """Its NVLinks may all be active: fabric manager is not well, none of them is to blame."""
    player = Player(expected={})
    domain = Link(Fabric.NVLINK, "gpu0", DOMAIN)
    statuses = []
    for healthy in (1, 0, 0, 0):
        player.now_s += 15.0
        player.tick(snapshot(player.now_s, [(Device("gpu0"), {gpu.FABRIC_HEALTHY.key: healthy})], source="nvlink", cadence=Cadence.NORMAL))
        statuses.append(player.status(domain))

    assert statuses == ["ok", "ok", "ok", "failed"]


def test_the_domain_can_be_left_out_like_a_rule() -> None:
    """For `make detection WITHOUT=nvlink_domain`."""
    player = Player(expected={}, left_out=["nvlink_domain"])

    assert player.tick(snapshot(1.0, [(Device("gpu0"), {gpu.FABRIC_HEALTHY.key: 0})])).engine.links == {}


def test_how_a_gpu_joins_its_domain_is_told() -> None:
    """For grace; a number that is none is left out."""
    states = {"gpu0": 2, "gpu1": float("nan"), "gpu2": float("inf")}
    player = Player().tick(snapshot(1.0, [(Device(name), {gpu.FABRIC_STATE.key: state}) for name, state in states.items()]))

    assert player.engine.devices.fabric_states == {"gpu0": 2}


@pytest.mark.parametrize(("link", "down"), [(PORT, DOWN), (LINK, INACTIVE)])
def test_a_link_that_is_not_up_yet_is_unknown_in_grace(link: Link, down: dict[str, float]) -> None:
    """Nothing is raised while the node starts; when grace ends three more passes are needed."""
    player = Player()
    player.in_grace = True
    during = player.play(down, 20, link).status(link)
    player.in_grace = False

    assert during == "grace"
    assert [player.play(down, 1, link).status(link) for _ in range(3)] == ["ok", "ok", "failed"]


def test_a_link_that_need_not_be_up_is_well_in_grace_too() -> None:
    """Unwired ports of an H100 PCIe never come up."""
    player = Player()
    player.in_grace = True

    assert player.play(UNWIRED, 3, LINK).status(LINK) == "ok"


def test_a_down_link_of_which_nobody_knows_is_unknown() -> None:
    """An unprovisioned second port (NVIDIA/NVSentinel#1361); the node's worst health is that of the others."""
    player = Player(expected={OTHER: 1}).play(UP, 1, OTHER).play(DOWN, 20)

    assert player.status() == "no_expectation"


def test_the_node_counts_its_links_by_status() -> None:
    """Each status of each fabric it has, and the worst that is known."""
    player = Player(expected={PORT: 1}).play(UP).play(DOWN, 3).play(DOWN, 1, OTHER).play(ACTIVE, 1, LINK)

    expected = {
        (signals.NODE_LINKS.key, fabric, status): number
        for fabric, counts in (("infiniband", (0, 0, 0, 1, 1)), ("nvlink", (1, 0, 0, 0, 0)))
        for status, number in zip(("ok", "suspect", "degraded", "failed", "unknown"), counts, strict=True)
    }
    assert player.node == {**expected, signals.NODE_HEALTH.key: 3}


def test_a_node_of_unknown_links_has_no_worst_health() -> None:
    """Not knowing is not well."""
    assert signals.NODE_HEALTH.key not in Player(expected={}).play(DOWN).node


def test_what_did_not_change_is_not_made_anew() -> None:
    """Between their passes links are shown as they were, at no cost."""
    player = Player().play(UP)
    before = player.engine.readings(player.moment)
    player.now_s += 1.0
    after = player.tick().engine.readings(player.moment)

    assert all(one is other for one, other in zip(before, after, strict=True))


def test_links_are_all_up_once_each_expected_one_is() -> None:
    """None while nobody expects anything."""
    player = Player()
    unseen = player.engine.are_all_up()
    one = player.play(UP).engine.are_all_up()

    assert (unseen, one, player.play(UP, 1, OTHER).engine.are_all_up()) == (False, False, True)
    assert Player(expected={}).play(UP).engine.are_all_up() is None


def test_other_hardware_by_the_same_name_begins_anew() -> None:
    """Conditions of a card that was taken out stayed with its name (NVIDIA/NVSentinel#1529). Its counters are not compared either."""
    flapped = {"ib_link_downed": 3}
    player = Player().tick(identity(1000.0, PORT, "0000:19:00.0")).play({**UP, **flapped}).play(DOWN, 3)
    was = player.status()
    player.tick(
        snapshot(player.now_s + 5.0, [(PORT, {**UP, "ib_link_downed": 200})], subject=PORT.device),
        identity(player.now_s + 5.1, PORT, "0000:5a:00.0"),
    )

    assert (was, player.status(), player.reasons()) == ("failed", "ok", set())
    assert player.shown()[signals.FLAPS.key] == 0
    assert (player.changes[-1].before.level, player.changes[-1].after.level) == (Level.FAILED, Level.OK)


def test_the_same_hardware_keeps_its_verdict_when_it_says_again_who_it_is() -> None:
    """Also when it does not say it for once."""
    player = Player().tick(identity(1000.0, PORT, "0000:19:00.0")).play(UP).play(DOWN, 3)

    assert player.tick(identity(player.now_s, PORT, "")).tick(identity(player.now_s, PORT, "0000:19:00.0")).status() == "failed"


def test_a_gpu_tells_its_links_who_they_are_whoever_is_seen_first() -> None:
    """A link that is seen later than its GPU is known at once: its kept verdict waits for that."""
    player = Player().tick(gpu_identity(1000.0, "gpu0", "GPU-1")).play(ACTIVE, 1, LINK)
    other = Player().play(ACTIVE, 1, LINK).tick(gpu_identity(1010.0, "gpu0", "GPU-1"))

    assert player.engine.links[LINK].place.identity == other.engine.links[LINK].place.identity == "GPU-1"


def test_a_restored_verdict_is_shown_though_nothing_is_seen_of_its_link() -> None:
    """The device may never come back; other hardware clears it."""
    player = Player(expected={})
    player.engine.restore(PORT, FAILED, "0000:19:00.0")
    unseen = player.wait(100_000.0).status()

    assert (unseen, player.reasons(), player.node[signals.NODE_HEALTH.key]) == ("failed", {"down"}, 3)
    assert player.tick(identity(player.now_s, PORT, "0000:5a:00.0")).play(UP).status() == "ok"


def test_a_finding_from_outside_is_judged_like_a_rules() -> None:
    """Missing devices; one that is clear and never was raised is nothing."""
    player = Player().play(UP)
    nothing = player.engine.find(PORT, Finding(Why.MISSING, holds=False), player.moment)
    raised = player.engine.find(PORT, Finding(Why.MISSING, holds=True, evidence="gone"), player.moment)

    assert (nothing, [change.after.level for change in raised]) == ([], [Level.FAILED])
    assert player.engine.find(PORT, Finding(Why.MISSING, holds=True, evidence="gone"), player.moment) == []


def test_thresholds_of_the_site_count() -> None:
    """One pass is enough where somebody says so."""
    assert Player(Thresholds(down_passes=1)).play(UP).play(DOWN).status() == "failed"


def test_signals_of_a_link_stand_in_one_reading() -> None:
    """Of whatever feeds: state and bytes quickly, errors now and then; what a rule said stays for three of its own intervals."""
    player = Player().play({nvlink.STATE.key: 1, nvlink.TRANSMITTED.key: 0}, 2, LINK)
    for now_s in (1012.0, 1027.0):
        player.now_s = now_s
        errors = {(nvlink.ERRORS.key, "replay"): 0, (nvlink.RECOVERIES.key, "successful"): 0, nvlink.RATE.key: 266e8}
        player.tick(snapshot(now_s, [(LINK, errors)], source="nvlink", subject="gpu0", cadence=Cadence.NORMAL))
    player.play({nvlink.STATE.key: 1, nvlink.TRANSMITTED.key: 10**9}, 2, LINK)

    assert [entity for entity, _ in player.engine.readings(player.moment)].count(LINK) == 1
    assert [entity for entity, _ in player.engine.readings(player.moment)][-1] == NODE
    assert {signals.UTILIZATION.key, signals.FLAPS.key} <= {key if isinstance(key, str) else key[0] for key in player.shown(LINK)}
