"""PCIe links that run slower or narrower than they should."""

from collections.abc import Mapping
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.signals import CAPACITY
from exporter.model.entity import Fabric, Link
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.pcie_downgrade import RULE
from exporter.signals.rule import NOWHERE, LinkPlace, Outcome
from tests.signals.passes import a_pass, seen

NIC = Link(Fabric.PCIE, "mlx5_0", "upstream")
NIC_BRIDGE = Link(Fabric.PCIE, "mlx5_0", "0000:11:00.0")
GPU = Link(Fabric.PCIE, "gpu0", "upstream")
GPU_BRIDGE = Link(Fabric.PCIE, "gpu0", "0000:11:00.0")
GEN5: Mapping[Role, Number] = {Role.LANE_RATE: 32e9, Role.WIDTH: 16}
IDLE: Mapping[Role, Number] = {Role.LANE_RATE: 2.5e9, Role.WIDTH: 16}
WAITS = (Finding(Why.SPEED_DOWNGRADE, holds=None),)


def _told(link: Link, now: Mapping[Role, Number], busy_s: float | None = None, expected: Mapping[Role, Number] = GEN5) -> Outcome:
    place = LinkPlace(gpu=link.device) if link.device.startswith("gpu") else NOWHERE
    return RULE.step(None, a_pass(seen(now), link=link, expected=expected, place=place, busy_s=busy_s))[1]


def test_a_link_as_expected_is_well() -> None:
    """All of its capacity."""
    assert _told(NIC, GEN5) == _told(GPU, GEN5) == Outcome({CAPACITY.key: 1.0})


@pytest.mark.parametrize("link", [NIC, NIC_BRIDGE, GPU, GPU_BRIDGE], ids=str)
def test_lost_lanes_are_found_at_any_load(link: Link) -> None:
    """A card that is not seated well: eight of sixteen lanes, at the device and above it."""
    finding = Finding(Why.WIDTH_DOWNGRADE, holds=True, evidence="8 lanes instead of 16")

    assert _told(link, {**GEN5, Role.WIDTH: 8}) == Outcome({CAPACITY.key: 0.5}, (finding,))


@pytest.mark.parametrize("link", [NIC, NIC_BRIDGE], ids=str)
def test_a_slow_link_of_a_nic_is_found_at_once(link: Link) -> None:
    """NICs do not slow their links down."""
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="runs at 16 GT/s instead of 32 GT/s")

    assert _told(link, {**GEN5, Role.LANE_RATE: 16e9}) == Outcome({CAPACITY.key: 0.5}, (finding,))


@pytest.mark.parametrize("link", [GPU, GPU_BRIDGE], ids=str)
@pytest.mark.parametrize("busy_s", [None, 0.0, 59.0])
def test_a_slow_link_of_an_idle_gpu_is_no_finding_and_clears_none(link: Link, busy_s: float | None) -> None:
    """Idle GPUs go down to 2.5 GT/s (local-inference-lab/rtx6kpro#88); nobody knows what the link could do, so there is no capacity."""
    assert _told(link, IDLE, busy_s) == Outcome(findings=WAITS)


@pytest.mark.parametrize("link", [GPU, GPU_BRIDGE], ids=str)
def test_a_slow_link_of_a_gpu_that_works_is_found(link: Link) -> None:
    """3.5 hours of training at Gen2 went unnoticed in the same thread."""
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="runs at 2.5 GT/s instead of 32 GT/s while its GPU has worked for 61 s")

    assert _told(link, IDLE, 61.0).findings == (finding,)


def test_an_idle_gpu_at_full_speed_clears() -> None:
    """It has shown that it can."""
    assert _told(GPU, GEN5).findings == ()


def test_what_is_missing_is_untold() -> None:
    """Speed unknown, expectation unknown: what was raised stays."""
    assert _told(NIC, {Role.WIDTH: 16}) == Outcome(findings=WAITS)
    assert {finding.holds for finding in _told(NIC, GEN5, expected={}).findings} == {None}


numbers = st.one_of(st.integers(-5, 2**70), st.floats())
values = st.dictionaries(st.sampled_from([Role.LANE_RATE, Role.WIDTH]), numbers)


@given(st.sampled_from([NIC, GPU, GPU_BRIDGE]), values, values, st.one_of(st.none(), st.floats()))
def test_no_numbers_raise(link: Link, now: dict[Role, Number], expected: dict[Role, Number], busy_s: float | None) -> None:
    """Twice the same is the same, and ratios are finite."""
    told = _told(link, now, busy_s, expected)

    assert told == _told(link, now, busy_s, expected)
    assert all(isfinite(ratio) and ratio >= 0 for ratio in told.signals.values())
