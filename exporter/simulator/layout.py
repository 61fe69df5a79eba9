"""The sysfs of a simulated node as archive entries: which files a profile has, where they lie and what they say at time zero.

Layout: torvalds/linux Documentation/ABI/stable/sysfs-class-infiniband and sysfs-bus-pci; hw_counters names of mlx5
(drivers/infiniband/hw/mlx5/counters.c), the roce_* ones on InfiniBand ports too, as an H100 node shows them. Knows no traffic.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from posixpath import relpath

from exporter.simulator.archive import Entry, File, Symlink
from exporter.simulator.gpus import gpu_entries, switch_entries
from exporter.simulator.hcas import Hca
from exporter.simulator.mlx5_statistics import statistics, statistics_path, statistics_text
from exporter.simulator.netdevs import Netdev, netdev_entries, nic_entries
from exporter.simulator.pci_layout import Card, branch_entries
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import port_totals

COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "local_link_integrity_errors",
    "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors", "port_rcv_data", "port_rcv_errors",
    "port_rcv_packets", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_constraint_errors",
    "port_xmit_data", "port_xmit_discards", "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets",
    "unicast_xmit_packets",
)  # fmt: skip
HW_COUNTERS = (
    "duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer", "out_of_sequence", "packet_seq_err",
    "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors", "req_remote_invalid_request", "req_rnr_retries_exceeded",
    "req_transport_retries_exceeded", "resp_cqe_error", "resp_cqe_flush_error", "resp_local_length_error",
    "resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart",
    "roce_slow_restart_cnps", "roce_slow_restart_trans", "rx_atomic_requests", "rx_dct_connect", "rx_icrc_encapsulated",
    "rx_read_requests", "rx_write_requests",
)  # fmt: skip
ROCE_HW_COUNTERS = ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
LIFESPAN_MS = 10
"""How long mlx5 may answer hw_counters from its cache (kernel default)."""

_FIRST_INDEX = 2
"""The kernel's number of the first interface after the loopback."""
_MELLANOX = "0x15b3"
_CORES_PER_NODE = 56
_INFINIBAND_CLASS, _ETHERNET_CLASS = "0x020700", "0x020000"


def port_folder(hca: Hca) -> str:
    """Where the port's files really lie; `class/infiniband/<name>/ports/1` leads there."""
    return f"{_device_folder(hca)}/ports/1"


def pci_folder(pci_path: tuple[str, ...]) -> str:
    """Where the function at the end of a path from the root bus really lies; `bus/pci/devices/<address>` leads there."""
    return "/".join(("devices", *pci_path))


def hw_counters(hca: Hca) -> tuple[str, ...]:
    """Names of the port's files in hw_counters/ that count."""
    return HW_COUNTERS + ROCE_HW_COUNTERS if hca.link_layer == "Ethernet" else HW_COUNTERS


def node_entries(profile: Profile) -> tuple[Entry, ...]:
    """The whole tree at time zero: every counter 0, every port up, every PCIe link at its best."""
    found: dict[str, Entry] = {}
    for index, hca in enumerate(profile.hcas, _FIRST_INDEX):
        netdev = netdev_entries(_netdev(hca, index))
        for entry in (*_pci_entries(hca), *netdev, *_ethtool_entries(hca), *_device_entries(hca), *_port_entries(hca)):
            found.setdefault(entry.path, entry)  # cards may share bridges
    for index, nic in enumerate(profile.nics, _FIRST_INDEX + len(profile.hcas)):
        for entry in nic_entries(nic, index):
            found.setdefault(entry.path, entry)
    functions = (*(gpu_entries(gpu) for gpu in profile.gpus), *(switch_entries(switch) for switch in profile.switches))
    for entry in chain.from_iterable(functions):
        found.setdefault(entry.path, entry)
    for entry in _cpu_entries(profile):
        found[entry.path] = entry
    return tuple(found[path] for path in sorted(found))


def _cpu_entries(profile: Profile) -> Iterator[Entry]:
    """The CPUs of each NUMA node that has a device: cores first, then their second threads, as on a two-socket machine."""
    nodes = sorted({hca.numa_node for hca in profile.hcas} | {gpu.numa_node for gpu in profile.gpus})
    cores = _CORES_PER_NODE
    for node in nodes:
        threads = f"{node * cores}-{(node + 1) * cores - 1},{(len(nodes) + node) * cores}-{(len(nodes) + node + 1) * cores - 1}"
        yield from _files(f"devices/system/node/node{node}", {"cpulist": threads})


def _pci_folder(hca: Hca) -> str:
    return pci_folder(hca.pci_path)


def _device_folder(hca: Hca) -> str:
    return f"{_pci_folder(hca)}/infiniband/{hca.name}"


def _files(folder: str, texts: Mapping[str, object]) -> Iterator[Entry]:
    for name, text in texts.items():
        yield File(f"{folder}/{name}", f"{text}\n".encode())


def _link(path: str, target: str) -> Symlink:
    """A relative link from one place in the tree to another."""
    return Symlink(path, relpath(target, path.rpartition("/")[0]))


def _pci_entries(hca: Hca) -> Iterator[Entry]:
    """The card and the bridges above it."""
    card = Card(_MELLANOX, hca.model.pci_device, _card_class(hca), "mlx5_core", hca.model.pcie_speed, hca.model.pcie_lanes)
    yield from branch_entries(hca.pci_path, hca.numa_node, card)
    yield from _files(_pci_folder(hca), {"sriov_totalvfs": 16, "sriov_numvfs": 0})


def _card_class(hca: Hca) -> str:
    return _INFINIBAND_CLASS if hca.link_layer == "InfiniBand" else _ETHERNET_CLASS


def _netdev(hca: Hca, index: int) -> Netdev:
    ethernet = hca.link_layer == "Ethernet"
    return Netdev(hca.netdev, index, _pci_folder(hca), int(hca.rate.split()[0]) * 1000, 9000 if ethernet else 4092, is_ethernet=ethernet)


def _ethtool_entries(hca: Hca) -> Iterator[Entry]:
    if hca.link_layer == "Ethernet":
        yield File(statistics_path(hca), statistics_text(statistics(hca, port_totals(hca, (), 0, 0), 0)))


def _device_entries(hca: Hca) -> Iterator[Entry]:
    folder = _device_folder(hca)
    yield from _files(folder, {
        "board_id": hca.model.board_id,
        "fw_ver": hca.model.firmware,
        "hca_type": hca.model.hca_type,
        "hw_rev": 0,
        "node_desc": f"simulated {hca.name}",
        "node_guid": hca.node_guid,
        "node_type": "1: CA",
        "sys_image_guid": hca.node_guid,
    })  # fmt: skip
    yield _link(f"{folder}/device", _pci_folder(hca))
    yield _link(f"class/infiniband/{hca.name}", folder)


def _port_entries(hca: Hca) -> Iterator[Entry]:
    folder = port_folder(hca)
    ethernet = hca.link_layer == "Ethernet"
    yield from _files(folder, {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": hca.rate,
        "link_layer": hca.link_layer,
        "lid": "0x0" if ethernet else f"0x{int(hca.node_guid[-4:], 16):x}",
        "sm_lid": "0x0" if ethernet else "0x1",
        "sm_sl": 0,
        "lid_mask_count": 0,
        "cap_mask": "0x00010000" if ethernet else "0xa751e848",
    })  # fmt: skip
    yield from _files(f"{folder}/counters", dict.fromkeys(COUNTERS, 0))
    yield from _files(f"{folder}/hw_counters", {**dict.fromkeys(hw_counters(hca), 0), "lifespan": LIFESPAN_MS})
    yield from _files(f"{folder}/gids", {"0": f"fe80:0000:0000:0000:{hca.node_guid}"})
    yield from _files(f"{folder}/gid_attrs/types", {"0": "RoCE v2" if ethernet else "IB/RoCE v1"})
    yield from _files(f"{folder}/gid_attrs/ndevs", {"0": hca.netdev})
    yield from _files(f"{folder}/pkeys", {"0": "0xffff"})
