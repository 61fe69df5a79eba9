"""Rows whose series differ: of NVLinks, a hundred and more, and of links that are not well."""

import pytest

from exporter.exposition.choice import choose
from exporter.exposition.selection import Selection
from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.metric import Kind, Metric, Tier, Unit
from exporter.model.snapshot import Number, Reading

LABELS = ("fabric", "device", "port")
PORT, NVLINK = Link(Fabric.INFINIBAND, "mlx5_0", "1"), Link(Fabric.NVLINK, "gpu0", "4")


def row(tier: Tier, *, nvlink: Tier | None = None, sick: Tier | None = None, labels: tuple[str, ...] = LABELS) -> Metric:
    """A row of these tiers."""
    return Metric("x", "fabric_x", Kind.GAUGE, Unit.COUNT, labels, "Of a test.", tier, nvlink_tier=nvlink, sick_tier=sick)


def shown(metric: Metric, tier: Tier, *values: tuple[Entity, Number], cap: int = 100) -> list[Number]:
    """Values of the series on a page of that tier."""
    choice = choose([Reading(entity, {"x": value}) for entity, value in values], {"x": metric}, Selection(tier), cap)
    return [series.value for _, found in choice.rows for series in found]


@pytest.mark.parametrize(("tier", "expected"), [(Tier.AGGREGATE, []), (Tier.BASIC, [1]), (Tier.STANDARD, [1, 2]), (Tier.FULL, [1, 2])])
def test_an_nvlinks_series_may_have_a_tier_of_its_own(tier: Tier, expected: list[Number]) -> None:
    """The ports' come first."""
    assert shown(row(Tier.BASIC, nvlink=Tier.STANDARD), tier, (PORT, 1), (NVLINK, 2)) == expected


def test_an_nvlinks_tier_may_be_lower_as_well() -> None:
    """Whatever the row says."""
    metric = row(Tier.FULL, nvlink=Tier.BASIC)

    assert [shown(metric, tier, (PORT, 1), (NVLINK, 2)) for tier in Tier] == [[], [2], [2], [1, 2]]


@pytest.mark.parametrize(("tier", "expected"), [(Tier.AGGREGATE, [3, 1]), (Tier.BASIC, [0, 3, 1]), (Tier.FULL, [0, 3, 1])])
def test_what_is_not_well_is_named_in_every_tier(tier: Tier, expected: list[Number]) -> None:
    """A healthy fleet costs next to nothing, and a sick link is never hidden."""
    other = Link(Fabric.INFINIBAND, "mlx5_1", "1")

    assert shown(row(Tier.BASIC, sick=Tier.AGGREGATE), tier, (PORT, 0), (other, 3), (NVLINK, 1)) == expected


def test_a_sick_nvlink_is_named_whatever_the_tier_of_well_ones() -> None:
    """Both at once: sickness decides."""
    metric = row(Tier.BASIC, nvlink=Tier.FULL, sick=Tier.AGGREGATE)

    assert [shown(metric, tier, (NVLINK, 2)) for tier in Tier] == [[2]] * 4
    assert [shown(metric, tier, (NVLINK, 0)) for tier in Tier] == [[], [], [], [0]]


def test_series_of_other_entities_follow_the_row() -> None:
    """A device is no NVLink."""
    metric = row(Tier.BASIC, nvlink=Tier.FULL, labels=("device",))

    assert [shown(metric, tier, (Device("gpu0"), 1)) for tier in Tier] == [[], [1], [1], [1]]
    assert shown(row(Tier.BASIC, nvlink=Tier.FULL, labels=()), Tier.BASIC, (NODE, 1)) == [1]


def test_series_that_the_tier_hides_take_no_room() -> None:
    """Nor do they count as dropped: nobody asked for them."""
    metric = row(Tier.BASIC, nvlink=Tier.FULL)
    readings = [Reading(entity, {"x": 1}) for entity in (NVLINK, PORT)]
    choice = choose(readings, {"x": metric}, Selection(Tier.BASIC), 1)

    assert (choice.count, choice.dropped) == (1, {})
