"""What `check` prints for a person."""

import pytest

from exporter.cli.health_text import age_of, coloured, plain, text_of
from exporter.model.entity import Fabric, Link
from exporter.model.health import Active, Level, Unknown, Verdict, Why
from exporter.model.maintenance import Maintenance
from exporter.model.node_health import NodeHealth, SourceLook

NOW_S = 1_772_388_000.0
"""2026-03-01 18:00:00 UTC."""
SEES = (SourceLook("infiniband", up=True, devices=8),)


def verdict(name: str, level: Level | None, *active: Active, unknown: Unknown | None = None) -> Verdict:
    fabric, device, port = name.split("/")
    return Verdict(Link(Fabric(fabric), device, port), level, unknown, NOW_S - 180, active)


WELL = tuple(verdict(f"infiniband/mlx5_{number}/1", Level.OK) for number in range(3))
FAILED = verdict("infiniband/mlx5_3/1", Level.FAILED,
                 Active(Why.DOWN, Level.FAILED, NOW_S - 180, "state down, physical state polling; it should be up"),
                 Active(Why.FLAPS, Level.SUSPECT, NOW_S - 7500, "6 flaps within a day"))  # fmt: skip
IDLE = verdict("ethernet/eno1/1", None, unknown=Unknown.NO_EXPECTATION)


def test_a_healthy_node_is_two_lines() -> None:
    """The word, and the counts."""
    assert text_of(NodeHealth(NOW_S, WELL, SEES), 80, plain) == "ok: all 3 links are ok\n\ninfiniband 3 ok\n"


def test_everything_that_can_be_said() -> None:
    """The gravest first; reasons less grave than the status say how grave; what is unknown or not seen, and why."""
    sources = (*SEES, SourceLook("nvlink", up=False, devices=8, hung=("gpu3",)))
    maintenance = Maintenance(is_active=True, reason="file: swap optics", until_wall_s=NOW_S + 3600)
    held = verdict("nvlink/gpu5/7", Level.DEGRADED)
    health = NodeHealth(NOW_S, (*WELL, held, FAILED, IDLE), sources, "the machine started 40 s ago", maintenance)

    assert (
        text_of(health, 80, plain)
        == """\
failed: infiniband/mlx5_3/1 (down); 2 of 6 links are not ok
in maintenance until 2026-03-01 19:00:00 UTC: file: swap optics
starting: the machine started 40 s ago; links that are not up do not count yet

STATUS    LINK                 SINCE
failed    infiniband/mlx5_3/1  2026-03-01 17:57:00 UTC (3m)
          down (3m): state down, physical state polling; it should be up
          flaps (suspect, 2h5m): 6 flaps within a day
degraded  nvlink/gpu5/7        2026-03-01 17:57:00 UTC (3m)
          nothing is wrong any more, but not for long enough

ethernet 1 unknown; infiniband 3 ok, 1 failed; nvlink 1 degraded
unknown: ethernet/eno1/1: nobody knows whether it should be up
not seen: nvlink: no answer from gpu3
"""
    )


def test_lines_keep_to_the_width() -> None:
    """Evidence is wrapped below its link."""
    shown = text_of(NodeHealth(NOW_S, (FAILED,), SEES), 50, plain).splitlines()

    assert max(map(len, shown[1:])) <= 61  # the line of the link alone is as long as its name wants
    assert "            polling; it should be up" in shown


def test_many_unknown_links_are_a_number() -> None:
    """Some are named."""
    idle = tuple(verdict(f"nvlink/gpu0/{number}", None, unknown=Unknown.NO_EXPECTATION) for number in range(9))

    shown = text_of(NodeHealth(NOW_S, idle, SEES), 200, plain)

    assert shown.startswith("unknown: 0 of 9 links are ok, of 9 nobody can say\n")
    assert "nvlink/gpu0/5 and 3 more: nobody knows whether it should be up" in shown


@pytest.mark.parametrize(("sources", "words"), [((), "no supported hardware"), (SEES, "no links")])
def test_a_node_without_links(sources: tuple[SourceLook, ...], words: str) -> None:
    """Nothing is there, or nothing that has links."""
    assert text_of(NodeHealth(NOW_S, (), sources), 80, plain) == f"unknown: {words}\n"


def test_colour_is_on_the_status_alone_and_adds_no_word() -> None:
    """Without the escapes the text is the same."""
    health = NodeHealth(NOW_S, (*WELL, FAILED), SEES)

    shown = text_of(health, 80, coloured)

    assert shown.startswith("\x1b[31mfailed\x1b[0m: infiniband")
    assert shown.replace("\x1b[31m", "").replace("\x1b[0m", "") == text_of(health, 80, plain)


def test_a_text_of_the_hardware_cannot_steer_the_terminal() -> None:
    """Names and evidence are escaped."""
    link = Link(Fabric.INFINIBAND, "mlx5_\x1b[2J", "1")
    bad = Verdict(link, Level.FAILED, None, NOW_S, (Active(Why.DOWN, Level.FAILED, NOW_S, "state \x07"),))

    shown = text_of(NodeHealth(NOW_S, (bad,), SEES), 80, plain)

    assert "mlx5_\\x1b[2J" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(("seconds", "text"), [(-5, "0s"), (0.4, "0s"), (59.6, "1m"), (90, "1m30s"), (7_530, "2h5m"), (277_500, "3d5h")])
def test_an_age_has_two_units(seconds: float, text: str) -> None:
    """A clock that was set back makes none negative."""
    assert age_of(seconds) == text
