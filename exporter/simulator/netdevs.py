"""Network interfaces of a simulated node as archive entries, and NICs without an RDMA device. Values are invented.

Layout: torvalds/linux Documentation/ABI/testing/sysfs-class-net and sysfs-class-net-statistics. Knows no HCA and no driver's statistics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import relpath

from exporter.simulator.archive import Entry, File, Symlink
from exporter.simulator.pci_layout import Card, branch_entries

X550 = Card("0x8086", "0x1563", "0x020000", "ixgbe", "8.0 GT/s PCIe", 4)
"""Two-port 10 Gb/s NIC of Intel's, as on many boards."""
STATISTICS = (
    "collisions", "multicast", "rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors", "rx_fifo_errors",
    "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors", "rx_packets", "tx_aborted_errors",
    "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors", "tx_fifo_errors", "tx_heartbeat_errors",
    "tx_packets", "tx_window_errors",
)  # fmt: skip
"""Files of statistics/, the same for every interface."""
_BYTES_PER_S, _PACKET_BYTES = 24_000, 300
"""What administration of a node carries: monitoring, a shell now and then."""
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Netdev:
    """One interface. `index` is the kernel's number of it, `is_ethernet` False for IPoIB, `speed_mbit` its rate in Mb/s."""

    name: str
    index: int
    pci_folder: str
    speed_mbit: int
    mtu: int
    is_ethernet: bool

    @property
    def folder(self) -> str:
        """Where its files really lie; `class/net/<name>` leads there."""
        return f"{self.pci_folder}/net/{self.name}"


@dataclass(frozen=True, slots=True)
class Nic:
    """An Ethernet port without an RDMA device. `pci_path` runs from the root bus over the bridges to its own address."""

    name: str
    card: Card
    speed_mbit: int
    pci_path: tuple[str, ...]
    numa_node: int

    @property
    def pci(self) -> str:
        """The function's own address, `0000:04:00.1`."""
        return self.pci_path[-1]

    def netdev(self, index: int) -> Netdev:
        """Its interface."""
        return Netdev(self.name, index, "/".join(("devices", *self.pci_path)), self.speed_mbit, 1500, is_ethernet=True)


def administration(function: int) -> Nic:
    """One of the two ports of the NIC on the board."""
    return Nic(f"eno{function + 1}", X550, 10_000, ("pci0000:00", "0000:00:1c.0", f"0000:04:00.{function}"), 0)


def nic_entries(nic: Nic, index: int) -> Iterator[Entry]:
    """The port's function, those of the bridges above it, and its interface."""
    yield from branch_entries(nic.pci_path, nic.numa_node, nic.card)
    yield from netdev_entries(nic.netdev(index))


def netdev_entries(netdev: Netdev) -> Iterator[Entry]:
    """The interface at rest: carrier up once, every statistic 0."""
    texts: Mapping[str, object] = {
        "dev_port": 0, "operstate": "up", "carrier": 1, "carrier_changes": 2, "carrier_up_count": 1, "carrier_down_count": 1,
        "ifindex": netdev.index, "mtu": netdev.mtu, "speed": netdev.speed_mbit, "type": 1 if netdev.is_ethernet else 32,
        **({"phys_port_name": "p0"} if netdev.is_ethernet else {}),
        **({f"statistics/{name}": 0 for name in STATISTICS}),
    }  # fmt: skip
    for name, text in texts.items():
        yield File(f"{netdev.folder}/{name}", f"{text}\n".encode())
    yield Symlink(f"{netdev.folder}/device", relpath(netdev.pci_folder, netdev.folder))
    yield Symlink(f"class/net/{netdev.name}", relpath(netdev.folder, "class/net"))


def administration_numbers(elapsed_ns: int) -> Iterator[tuple[str, int]]:
    """Files below the interface's folder that administration moves, and their numbers after that time."""
    for direction, share in (("rx", 1), ("tx", 3)):
        carried = elapsed_ns * _BYTES_PER_S // (share * NS_PER_S)
        yield f"statistics/{direction}_bytes", carried
        yield f"statistics/{direction}_packets", carried // _PACKET_BYTES
