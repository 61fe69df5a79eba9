"""Health in the daemon: what outlives a process, what is missing, what is logged; and that the edges are told the same."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import signals
from exporter.model.entity import Link
from exporter.model.expected_ports import ExpectedPort
from exporter.model.health import Level
from exporter.model.maintenance import Maintenance
from exporter.runtime.health import MISSES, Boot
from exporter.runtime.kept_verdicts import FILE
from tests.runtime.conftest import Records
from tests.runtime.health_node import BOOT, CARDS, HealthNode
from tests.signals.small_feeds import DOWN, INACTIVE, LINK, OTHER, PORT, UP


def failed(folder: Path | None = None) -> HealthNode:
    """A node of which one port went down."""
    node = HealthNode(folder).run(15.0)
    node.seen[PORT] = DOWN
    return node.run(15.0)


def levels(records: Records, link: Link = PORT) -> list[tuple[str, str]]:
    """What the log says of a link's level: from, to."""
    lines = [message for message in records.messages if message.startswith(f"health changed link={link} ")]
    return [(line.split(" from=")[1].split()[0], line.split(" to=")[1].split()[0]) for line in lines]


def test_a_port_that_was_up_is_expected_and_fails_when_it_is_down() -> None:
    """Nobody configured anything."""
    node = failed()

    assert (node.status(), node.reasons(), node.status(OTHER)) == ("failed", {"down"}, "ok")
    assert node.node[signals.NODE_HEALTH.key] == 3


def test_a_killed_daemon_keeps_a_failed_link_failed_and_clears_it_once(tmp_path: Path, records: Records) -> None:
    """The link is well when the daemon is back, for all it can see; the level falls by its own rule."""
    node = failed(tmp_path)
    node.seen[PORT] = UP
    node.start().run(5.0)
    assert node.status() == "failed"
    assert node.run(300.0).status() == "ok"

    expected = [("ok", "failed"), ("failed", "degraded"), ("degraded", "suspect"), ("suspect", "ok")]
    assert levels(records) == expected


def test_a_restart_in_the_middle_of_a_hold_begins_it_anew(tmp_path: Path) -> None:
    """Nobody looked meanwhile."""
    node = failed(tmp_path)
    node.seen[PORT] = UP
    node.run(60.0).start().run(60.0)

    assert (node.status(), node.run(10.0).status()) == ("failed", "degraded")


def test_a_link_whose_device_is_gone_stays_failed_over_a_restart(tmp_path: Path) -> None:
    """Nothing of it is seen: it must not vanish from the page. When it is back it is judged by its own rule."""
    node = failed(tmp_path).lose("mlx5_0").run(60.0)
    node.start().run(5.0 * MISSES)
    gone = node.status(), node.reasons(), node.node[signals.NODE_HEALTH.key]
    node.seen[PORT], node.found["infiniband"] = UP, frozenset(CARDS)
    back = node.run(15.0).status(), node.reasons()

    assert gone == ("failed", {"down", "missing"}, 3)
    assert back == ("failed", set())
    assert node.run(200.0).status() == "ok"


def test_other_hardware_after_a_restart_is_judged_anew(tmp_path: Path) -> None:
    """The card was changed while the daemon was down; or while the device was gone."""
    node = failed(tmp_path)
    node.seen[PORT], node.cards["mlx5_0"] = UP, "0000:5a:00.0"
    assert node.start().run(5.0).status() == "ok"

    node = failed(tmp_path).lose("mlx5_0").start().run(60.0)
    assert node.status() == "failed"
    node.seen[PORT], node.found["infiniband"], node.cards["mlx5_0"] = UP, frozenset(CARDS), "0000:6b:00.0"
    assert node.run(5.0).status() == "ok"


def test_another_boot_begins_anew(tmp_path: Path) -> None:
    """A reboot repairs much; without a boot id nobody could tell, and nothing is kept."""
    node = failed(tmp_path)
    node.seen[PORT], node.boot = UP, Boot("boot-2")
    assert node.start().run(5.0).status() == "ok"

    node = HealthNode(tmp_path / "other", Boot())
    node.run(15.0).seen[PORT] = DOWN
    node.run(15.0)
    node.seen[PORT] = UP
    assert node.start().run(5.0).status() == "ok"


def test_what_goes_wrong_before_a_link_says_who_it_is_is_not_lost(tmp_path: Path) -> None:
    """Its old verdict comes back when it does, and both count."""
    node = failed(tmp_path)
    node.cards["mlx5_0"] = ""
    node.start().run(30.0)
    node.cards["mlx5_0"] = CARDS["mlx5_0"]

    assert (node.run(5.0).status(), node.reasons()) == ("failed", {"down"})


def test_a_device_that_is_gone_fails_its_links_at_the_third_tick() -> None:
    """One odd scan is no loss (NVIDIA/NVSentinel#1488); with one device of several no driver was unloaded."""
    node = HealthNode().run(15.0).lose("mlx5_0")

    assert [node.run().status() for _ in range(MISSES)] == ["ok", "ok", "failed"]
    assert (node.reasons(), node.status(OTHER)) == ({"missing"}, "ok")


def test_a_virtual_function_that_leaves_is_no_loss() -> None:
    """It moves into the network namespace of its pod, and back when that ends."""
    node = HealthNode().run(15.0)
    place = node.health.engine.links[PORT].place
    node.health.engine.links[PORT].place = replace(place, is_virtual=True)

    assert node.lose("mlx5_0").run(120.0).reasons() == set()


def test_a_device_that_is_back_closes_missing() -> None:
    """At once; the level falls by its hold."""
    node = HealthNode().run(15.0).lose("mlx5_0").run(60.0)
    node.seen[PORT], node.found["infiniband"] = UP, frozenset(CARDS)

    assert (node.run().reasons(), node.status()) == (set(), "failed")
    assert node.run(200.0).status() == "ok"


def test_two_odd_scans_and_a_good_one_count_for_nothing() -> None:
    """In a row, or not at all."""
    node = HealthNode().run(15.0)
    for _ in range(5):
        node.found["infiniband"] = frozenset({"mlx5_1"})
        node.run(10.0).found["infiniband"] = frozenset(CARDS)
        node.run(5.0)

    assert node.status() == "ok"


def test_all_devices_of_a_driver_gone_at_once_are_no_loss_but_grace(records: Records) -> None:
    """A driver that is loaded anew. If they do not come back, they are missing when grace ends."""
    node = HealthNode().run(15.0).lose("gpu0").run(50.0)
    during = node.status(LINK), node.node[signals.NODE_GRACE.key]
    node.run(60.0)

    assert during == ("stale", 1)
    assert (node.status(LINK), node.reasons(LINK), node.node[signals.NODE_GRACE.key]) == ("failed", {"missing"}, 0)
    assert [message.split(":")[0] for message in records.messages if message.startswith("grace")] == ["grace began", "grace ended"]


def test_a_driver_that_is_back_before_the_next_scan_was_loaded_anew_all_the_same() -> None:
    """All devices of a driver fell silent at once and came back with links that train: grace."""
    node = HealthNode().run(60.0)
    node.mute = frozenset({"infiniband"})
    node.run(10.0)
    node.mute, node.seen = frozenset(), {**node.seen, PORT: DOWN, OTHER: DOWN}
    node.run(30.0)

    assert (node.status(), node.status(OTHER), node.node[signals.NODE_GRACE.key]) == ("grace", "grace", 1)


def test_the_only_device_of_a_driver_that_fell_silent_has_no_grace() -> None:
    """Its fault is its own; so has a source that never answered."""
    node = HealthNode().run(60.0)
    node.mute = frozenset({"nvlink"})
    node.run(10.0)
    node.mute, node.seen = frozenset(), {**node.seen, LINK: INACTIVE}
    node.run(30.0)

    assert (node.status(LINK), node.node[signals.NODE_GRACE.key]) == ("failed", 0)


def test_a_port_that_is_configured_off_may_vanish() -> None:
    """Whoever switched it off does not miss it."""
    node = HealthNode(ports={"mlx5_0": ExpectedPort(is_up=False)}).run(15.0).lose("mlx5_0").run(60.0)

    assert node.status() == "stale"


def test_links_that_are_not_up_while_the_node_starts_are_unknown() -> None:
    """For the configured time after boot; then three passes."""
    node = HealthNode(boot=Boot("boot-1", 10.0, 1000.0))
    node.seen[LINK] = INACTIVE
    statuses = [node.run().status(LINK) for _ in range(15)]

    assert statuses[:9] == ["grace"] * 9
    assert statuses[-1] == "failed"


def test_no_news_is_not_logged(records: Records) -> None:
    """A link that falls silent and comes back while well has no line: unknown is no level. Passes without a change have none."""
    node = HealthNode().run(60.0)
    del node.seen[PORT]
    node.run(60.0)
    node.seen[PORT] = UP
    node.run(60.0)

    assert [message for message in records.messages if message.startswith("health changed")] == []


def test_a_change_is_one_line_with_reason_and_evidence(records: Records) -> None:
    """A warning when it got worse, information when better."""
    failed()

    found = [(record.levelname, record.getMessage()) for record in records.kept if "health changed" in record.getMessage()]
    assert found == [
        ("WARNING", f"health changed link={PORT} from=ok to=failed reasons=down: state down, physical state polling; it should be up")
    ]


def test_maintenance_is_shown_and_changes_nothing() -> None:
    """Health is computed all the same: alerts are silent by this series."""
    node = failed()
    node.maintenance = Maintenance(is_active=True)
    node.run()

    assert (node.node[signals.NODE_MAINTENANCE.key], node.status()) == (1, "failed")


def test_a_pass_that_was_taken_in_is_not_taken_again() -> None:
    """Ticks are more frequent than some feeds: one look at a link that is down is one look."""
    node = HealthNode().run(15.0)
    node.seen[PORT] = DOWN
    node.run()
    feeds, now_s = dict(node._feeds), node.now_s
    for _ in range(5):
        node.shown = node.health.observe(feeds, [], 1.8e9, now_s)

    assert node.status() == "ok"


def test_a_disk_that_fails_costs_no_verdict(tmp_path: Path) -> None:
    """The daemon goes on, and says so."""
    node = failed(tmp_path)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    node.seen[PORT] = UP

    assert node.run(200.0).status() == "ok"
    assert "is lost at a restart" in (node.kept.problem or "")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\x00", b'{"version": 2}', b'{"version": 1, "boot_id": "boot-1", "links": []}']
)
def test_a_state_file_that_is_not_ours_is_forgotten_and_said_so(tmp_path: Path, content: bytes) -> None:
    """Empty, torn, newer, foreign."""
    failed(tmp_path)
    (tmp_path / FILE).write_bytes(content)
    node = HealthNode(tmp_path)

    assert node.health.restored == {}
    assert str(tmp_path / FILE) in (node.kept.problem or "")
    assert node.run(15.0).status() == "ok"


does = st.lists(st.tuples(st.sampled_from(["up", "down", "silent", "restart"]), st.floats(-1e7, 1e7)), max_size=15)


@given(does)
def test_restarts_and_clocks_lower_no_level(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, float]]) -> None:
    """With restarts in the middle, gaps and wall clocks that jump: from failed the level falls only after sixty seconds of passes that saw
    the link well, without a restart between."""
    node = failed(tmp_path_factory.mktemp("state"))
    well_s, was_failed = 0.0, True
    for what, jump_s in steps:
        well_s += 15.0
        if what == "restart":
            node.start()
            well_s = 15.0
        elif what == "silent":
            node.seen.pop(PORT, None)
        else:
            node.seen[PORT] = UP if what == "up" else DOWN
        if what == "down":
            well_s = 0.0
        node.run(15.0, jump_s)
        is_failed = node.health.engine.links[PORT].verdict.level is Level.FAILED if PORT in node.health.engine.links else was_failed
        assert is_failed or not was_failed or well_s >= 60.0
        was_failed = is_failed


def test_what_is_kept_is_plain_json_of_sick_links_alone(tmp_path: Path) -> None:
    """A person may read it."""
    failed(tmp_path)
    document = json.loads((tmp_path / FILE).read_text())

    assert (document["boot_id"], list(document["links"])) == (BOOT.boot_id, [str(PORT)])
    assert document["links"][str(PORT)]["identity"] == CARDS["mlx5_0"]
