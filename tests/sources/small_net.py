"""A minimal Ethernet interface below class/net, on a PCI function of its own, with or without an RDMA device; and what came of it."""

from collections.abc import Mapping

from exporter.model.fault import Fault
from exporter.simulator.archive import Directory, Entry, File, Symlink
from tests.machine import Machine, Samples

UP: Mapping[str, object] = {"operstate": "up", "carrier": 1, "speed": 400000, "carrier_changes": 2, "dev_port": 0, "type": 1, "ifindex": 7,
                            "mtu": 9000}  # fmt: skip
PFC = "NIC statistics:\n     rx_prio3_pause_duration: 1523874\n     tx_prio3_pause_duration: 48736124\n     rx_discards_phy: 17\n"
"""What mlx5 says of a port with PFC on priority 3, in short."""


def function(bus: int) -> str:
    """The folder of the PCI function on that bus."""
    return f"devices/pci0000:00/0000:{bus:02x}:00.0"


def interface(name: str, bus: int, said: Mapping[str, object] = UP, driver: str = "mlx5_core", statistics: str = "") -> list[Entry]:
    """The interface `name` and its function."""
    folder = f"{function(bus)}/net/{name}"
    entries: list[Entry] = [File(f"{folder}/{path}", f"{text}\n".encode()) for path, text in said.items()]
    entries += [Symlink(f"{folder}/device", f"../../../0000:{bus:02x}:00.0"), Symlink(f"class/net/{name}", f"../../{folder}")]
    entries += [Symlink(f"{function(bus)}/driver", f"../../../bus/pci/drivers/{driver}")]
    return [*entries, File(f"ethtool/{name}/statistics", statistics.encode())] if statistics else entries


def rdma(name: str, bus: int, ports: int = 1, link_layer: str = "Ethernet") -> list[Entry]:
    """An RDMA device on the function of that bus."""
    folder = f"{function(bus)}/infiniband/{name}"
    files = [File(f"{folder}/ports/{port}/link_layer", f"{link_layer}\n".encode()) for port in range(1, ports + 1)]
    return [
        *files,
        Symlink(f"{folder}/device", f"../../../0000:{bus:02x}:00.0"),
        Symlink(f"class/infiniband/{name}", f"../../{folder}"),
    ]


def drivers(*names: str) -> list[Entry]:
    """The folders that driver links lead to."""
    return [Directory(f"bus/pci/drivers/{name}") for name in names or ("mlx5_core",)]


def ethernet(samples: Samples, name: str, device: str, port: str = "1", **labels: str) -> float | None:
    """One port's value by short name (without fabric_ethernet_), None if there is no such series."""
    pairs = {"device": device, "port": port, **labels}
    return samples.get((f"fabric_ethernet_{name}", tuple(sorted(pairs.items()))))


def links_of(samples: Samples, prefix: str = "fabric_ethernet_") -> set[tuple[str, str]]:
    """(device, port) of every series whose name begins so."""
    return {(pairs["device"], pairs["port"]) for name, labels in samples if name.startswith(prefix) and "port" in (pairs := dict(labels))}


def ethernet_faults(machine: Machine) -> list[Fault]:
    """The Ethernet source's faults in the newest snapshots."""
    return [f for feed, snapshot in machine.scene.snapshots.items() if feed.source == "ethernet" for f in snapshot.faults]
