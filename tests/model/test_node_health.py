"""What is said of a whole node: its worst link, counts, and why the picture may not be whole."""

import pytest

from exporter.model.entity import Fabric, Link
from exporter.model.health import Level, Unknown, Verdict
from exporter.model.node_health import NodeHealth, SourceLook, counts_of, gaps_of, status_of

NOW_S = 1_772_388_000.0
SEES = SourceLook("infiniband", up=True, devices=8)


def port(number: int, level: Level | None) -> Verdict:
    return Verdict(Link(Fabric.INFINIBAND, f"mlx5_{number}", "1"), level, Unknown.STALE if level is None else None, NOW_S)


def node(*levels: Level | None, sources: tuple[SourceLook, ...] = (SEES,)) -> NodeHealth:
    return NodeHealth(NOW_S, tuple(port(number, level) for number, level in enumerate(levels)), sources)


@pytest.mark.parametrize(("levels", "worst"), [
    ((Level.OK, Level.FAILED, Level.SUSPECT), Level.FAILED), ((None, Level.OK), Level.OK), ((None,), None), ((), None),
])  # fmt: skip
def test_the_node_is_as_ill_as_its_worst_link(levels: tuple[Level | None, ...], worst: Level | None) -> None:
    """A link of which nothing is known makes it neither better nor worse."""
    assert node(*levels).level is worst


def test_links_are_counted_by_fabric_and_status() -> None:
    """A status that no link has is missing."""
    health = node(Level.OK, Level.OK, None)

    assert counts_of(health) == {Fabric.INFINIBAND: {"ok": 2, "unknown": 1}}
    assert [status_of(verdict) for verdict in health.links] == ["ok", "ok", "unknown"]


@pytest.mark.parametrize(("look", "gap"), [
    (SEES, ()),
    (SourceLook("nvlink", up=True, devices=0), ()),
    (SourceLook("nvlink", up=None, devices=None), ("nvlink: no answer yet",)),
    (SourceLook("nvlink", up=False, devices=0), ("nvlink: cannot be read",)),
    (SourceLook("nvlink", up=False, devices=8, hung=("gpu3", "scan")), ("nvlink: no answer from gpu3, scan",)),
])  # fmt: skip
def test_a_source_that_is_down_or_a_device_that_hangs_is_a_gap(look: SourceLook, gap: tuple[str, ...]) -> None:
    """A source that found nothing is none."""
    assert gaps_of(node(Level.OK, sources=(look,))) == gap


def test_a_node_that_nobody_has_looked_at_is_a_gap() -> None:
    """Beside what whoever asked knows further."""
    assert gaps_of(NodeHealth(0.0, (), (), notes=("the sampler stands still",))) == (
        "the sampler stands still", "nothing has been looked at yet",
    )  # fmt: skip


def test_a_link_that_was_there_is_hardware() -> None:
    """Even if no source finds a device any more."""
    gone = SourceLook("infiniband", up=True, devices=0)

    assert [node(*levels, sources=(gone,)).has_hardware for levels in ((Level.FAILED,), ())] == [True, False]
