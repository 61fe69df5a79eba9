"""Where a link sits, who its device is and what is expected of it, out of Readings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import ethernet, gpu, infiniband, nvlink, pcie
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Metric, Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.facts import default_place, device_expectation, expected_state, fabric_health, identities, place_in
from exporter.signals.rule import NOWHERE, LinkPlace

RAIL, STORAGE = Link(Fabric.INFINIBAND, "mlx5_0", "1"), Link(Fabric.ROCE, "mlx5_8", "1")
NVLINK, ETHERNET = Link(Fabric.NVLINK, "gpu3", "4"), Link(Fabric.ETHERNET, "eth0", "1")


def info(row: Metric, **labels: str) -> dict[SeriesKey, Number]:
    """An info row with these labels, the others empty."""
    return {(row.key, *(labels.get(name, "") for name in row.own_labels)): 1}


@pytest.mark.parametrize(
    ("link", "values", "place"),
    [
        (RAIL, info(infiniband.PORT_INFO, pci="0000:19:00.0", role="compute", rail="2", gpu="gpu2"),
         LinkPlace("compute", "2", "rails", "gpu2", "0000:19:00.0")),
        (STORAGE, info(infiniband.PORT_INFO, pci="0000:c8:00.0", role="storage"), LinkPlace("storage", identity="0000:c8:00.0")),
        (NVLINK, info(nvlink.INFO, peer_type="switch", peer_pci="0000:07:00.0"), LinkPlace(group="gpu3/switch", gpu="gpu3")),
        (NVLINK, info(nvlink.INFO, peer_type="gpu", peer_pci="0000:5a:00.0"), LinkPlace(group="gpu3/0000:5a:00.0", gpu="gpu3")),
        (NVLINK, info(nvlink.INFO), LinkPlace(gpu="gpu3")),
        (ETHERNET, info(ethernet.INFO, pci="0000:01:00.0"), LinkPlace(identity="0000:01:00.0")),
        (STORAGE, info(ethernet.INFO, pci="0000:c8:00.0"), None),
        (RAIL, {"ib_state": 4, ("ib_hw_events", "packet_seq_err"): 0}, None),
        (RAIL, {}, None),
    ],
)  # fmt: skip
def test_an_info_row_says_where_a_link_sits(link: Link, values: dict[SeriesKey, Number], place: LinkPlace | None) -> None:
    """Links to any switch carry the same, links to GPUs only those to the same one. A RoCE port's interface does not say its role: its
    RDMA device does."""
    assert place_in(link, values) == place


@pytest.mark.parametrize(
    ("link", "gpu_name"),
    [(NVLINK, "gpu3"), (Link(Fabric.PCIE, "gpu3", "upstream"), "gpu3"), (Link(Fabric.PCIE, "mlx5_0", "upstream"), ""), (RAIL, "")],
)
def test_what_is_named_after_a_gpu_belongs_to_it(link: Link, gpu_name: str) -> None:
    """Until more is known."""
    assert default_place(link) == LinkPlace(gpu=gpu_name)
    assert default_place(RAIL) == NOWHERE


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        ({Role.STATE: 1}, 1),
        ({Role.STATE: 3, Role.PRESENCE: nvlink.PRESENCE_UNWIRED}, 1),
        ({Role.STATE: 0, Role.PRESENCE: nvlink.PRESENCE_DOWN}, 1),
        ({Role.STATE: 0, Role.PRESENCE: nvlink.PRESENCE_UNWIRED}, 0),
        ({Role.STATE: 0, Role.PRESENCE: nvlink.PRESENCE_MIG}, 0),
        ({Role.STATE: 0}, None),
        ({}, None),
    ],
)
def test_an_nvlink_is_expected_by_what_its_source_says(latest: dict[Role, Number], expected: Number | None) -> None:
    """Nothing is expected of a link that only the kernel log has named."""
    assert expected_state(latest) == expected


def test_devices_say_who_they_are() -> None:
    """A GPU to its NVLinks by its UUID; any device to its PCIe links by its place on the bus; nobody by an empty label."""
    values = {**info(gpu.INFO, uuid="GPU-1", pci="0000:1b:00.0"), **info(pcie.INFO, pci="0000:1b:00.0")}

    assert identities(values) == {Fabric.NVLINK: "GPU-1", Fabric.PCIE: "0000:1b:00.0"}
    assert identities({**info(gpu.INFO), "gpu_links_active": 18}) == {}


def test_a_gpu_says_how_its_links_should_run_and_how_it_joined_its_domain() -> None:
    """None for what it does not say, or says in no number."""
    assert device_expectation({gpu.RATE_EXPECTED.key: 2.65625e10}) == 2.65625e10
    assert device_expectation({}) is None
    assert fabric_health({gpu.FABRIC_STATE.key: 3, gpu.FABRIC_HEALTHY.key: 0}) == (3, 0)
    assert fabric_health({gpu.FABRIC_STATE.key: float("inf")}) == fabric_health({}) == (None, None)


rows = st.sampled_from([infiniband.PORT_INFO.key, nvlink.INFO.key, gpu.INFO.key, pcie.INFO.key, ethernet.INFO.key, gpu.FABRIC_STATE.key])
keys = rows | st.lists(rows | st.text(max_size=3), max_size=4).map(tuple)


@given(st.dictionaries(keys, st.floats() | st.integers(), max_size=5), st.sampled_from([RAIL, NVLINK, ETHERNET, STORAGE]))
def test_no_values_raise(values: dict[SeriesKey, Number], link: Link) -> None:
    """Rows of fewer labels than they have, empty keys, any numbers."""
    place = place_in(link, values)

    assert place is None or isinstance(place, LinkPlace)
    assert all(identities(values).values())
    device_expectation(values)
    fabric_health(values)
