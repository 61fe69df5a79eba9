"""What Readings say about a link beside its counters: where it sits, which GPU it serves, what is expected of it. Pure.

Knows the labels of info rows and which row holds which expectation; learned values of ports come from port_expectation.py.
"""

from collections.abc import Mapping
from math import isfinite

from exporter.catalog import gpu as gpu_rows
from exporter.catalog.ethernet import INFO as ETHERNET_INFO
from exporter.catalog.infiniband import PORT_INFO
from exporter.catalog.nvlink import INFO as NVLINK_INFO
from exporter.catalog.nvlink import PRESENCE_DOWN, PRESENCE_MIG, PRESENCE_UNWIRED
from exporter.catalog.pcie import INFO as PCIE_INFO
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Metric, Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.rule import LinkPlace

RAILS = "rails"
COMPUTE = "compute"


def place_in(link: Link, values: Mapping[SeriesKey, Number]) -> LinkPlace | None:
    """Where an info row puts the link; None if there is no such row among the values."""
    for key in values:
        row = key[0] if isinstance(key, tuple) and key else ""
        if row == PORT_INFO.key:
            role, rail, gpu = (_label(PORT_INFO, key, name) for name in ("role", "rail", "gpu"))
            group = RAILS if role == COMPUTE and rail else ""
            return LinkPlace(role, rail, group, gpu, _label(PORT_INFO, key, "pci"), _label(PORT_INFO, key, "is_vf") == "true")
        if row == ETHERNET_INFO.key and link.fabric is Fabric.ETHERNET:  # of a RoCE port its RDMA device says more
            return LinkPlace(identity=_label(ETHERNET_INFO, key, "pci"))
        if row == NVLINK_INFO.key:
            kind, pci = _label(NVLINK_INFO, key, "peer_type"), _label(NVLINK_INFO, key, "peer_pci")
            # Links to switches carry the same whatever switch; links to GPUs only those to the same one.
            return LinkPlace("", "", f"{link.device}/{kind if kind == 'switch' else pci}" if kind else "", link.device)
    return None


def default_place(link: Link) -> LinkPlace:
    """Where a link sits by its name alone: what is named after a GPU belongs to it."""
    return LinkPlace(gpu=link.device if link.fabric in (Fabric.NVLINK, Fabric.C2C, Fabric.PCIE) and link.device.startswith("gpu") else "")


def expected_state(latest: Mapping[Role, Number]) -> Number | None:
    """Whether an NVLink should be up, by what its source says of it: 1, 0, or None if nobody knows. A link that is up needs no word."""
    state = latest.get(Role.STATE)
    if state != 0:
        return None if state is None else 1
    presence = latest.get(Role.PRESENCE)
    if presence == PRESENCE_DOWN:
        return 1
    return 0 if presence in (PRESENCE_UNWIRED, PRESENCE_MIG) else None


def identities(values: Mapping[SeriesKey, Number]) -> dict[Fabric, str]:
    """Who a device is, out of a Reading of it: to its NVLinks the GPU's UUID, to its PCIe links its PCI address; missing where it does not
    say."""
    found: dict[Fabric, str] = {}
    for key in values:
        row = key[0] if isinstance(key, tuple) and key else ""
        if row == gpu_rows.INFO.key:
            found[Fabric.NVLINK] = _label(gpu_rows.INFO, key, "uuid")
        elif row == PCIE_INFO.key:
            found[Fabric.PCIE] = _label(PCIE_INFO, key, "pci")
    return {fabric: identity for fabric, identity in found.items() if identity}


def device_expectation(values: Mapping[SeriesKey, Number]) -> Number | None:
    """The signalling rate that each NVLink of a GPU should have, out of a Reading of the GPU."""
    return values.get(gpu_rows.RATE_EXPECTED.key)


def fabric_health(values: Mapping[SeriesKey, Number]) -> tuple[Number | None, Number | None]:
    """State and health of a GPU's place in its NVLink domain, out of a Reading of the GPU; None for what it does not say."""
    state, healthy = values.get(gpu_rows.FABRIC_STATE.key), values.get(gpu_rows.FABRIC_HEALTHY.key)
    return (state if state is not None and isfinite(state) else None, healthy)


def _label(row: Metric, key: SeriesKey, name: str) -> str:
    at = row.own_labels.index(name) + 1
    return key[at] if at < len(key) else ""
