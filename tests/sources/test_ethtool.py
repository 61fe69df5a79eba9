"""The ioctl against this machine's own interfaces, and the fake that stands for it in machines."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from exporter.simulator.archive import File, Refusal
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.ethernet import EthernetSource
from exporter.sources.ethtool import IoctlEthtool, TableChangedError
from exporter.sources.sysfs import RealFiles
from tests.machine import everything
from tests.requires import lacking, need

NET = Path("/sys/class/net")


def _interfaces() -> list[str]:
    """Interfaces of this machine whose driver has statistics."""
    ethtool, found = IoctlEthtool(), []
    for name in sorted(os.listdir(NET)) if NET.is_dir() else []:
        try:
            ethtool.names(name)
        except OSError:
            continue
        found.append(name)
    return found or lacking("no interface here has ethtool statistics; run on a machine with a NIC")


def test_names_are_those_that_ethtool_prints() -> None:
    """In the same order."""
    tool = need("ethtool", "apt-get install ethtool")
    for netdev in _interfaces():
        printed = subprocess.run([tool, "-S", netdev], capture_output=True, text=True, check=True).stdout.splitlines()[1:]

        assert [line.strip().rpartition(": ")[0] for line in printed] == [name.strip() for name in IoctlEthtool().names(netdev)]


def test_values_lie_between_those_that_ethtool_prints_before_and_after() -> None:
    """The same counters, by position. A counter that stood still says the same in all three."""
    tool = need("ethtool", "apt-get install ethtool")
    for netdev in _interfaces():
        before, ours, after = _printed(tool, netdev), _values(netdev), _printed(tool, netdev)
        still = [i for i, (b, a) in enumerate(zip(before, after, strict=True)) if b == a]

        assert still
        assert [ours[i] for i in still] == [before[i] for i in still]


def _printed(tool: str, netdev: str) -> list[int]:
    lines = subprocess.run([tool, "-S", netdev], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return [int(line.rpartition(": ")[2]) for line in lines]


def _values(netdev: str) -> tuple[int, ...]:
    ethtool = IoctlEthtool()
    return ethtool.values(netdev, len(ethtool.names(netdev)))


def test_a_wrong_count_is_noticed_and_nothing_is_overrun() -> None:
    """Kernels before 6.18 write all they have whatever is asked for."""
    ethtool = IoctlEthtool()
    for netdev in _interfaces():
        count = len(ethtool.names(netdev))
        for wrong in (count - 1, count + 1):
            with pytest.raises(TableChangedError):
                ethtool.values(netdev, wrong)


@pytest.mark.parametrize("netdev", ["no-such-nic", "a-name-longer-than-15", "", "eth\0", "umläut-zu-lang-hier"])
def test_an_interface_that_is_not_there_is_enodev(netdev: str) -> None:
    """Also one whose name no kernel allows: it is never cut to another's."""
    with pytest.raises(OSError, match=r"No such device|Errno 19") as raised:
        IoctlEthtool().names(netdev)

    assert raised.value.errno == errno.ENODEV


def test_a_driver_without_statistics_is_eopnotsupp() -> None:
    """The loopback has none."""
    if not (NET / "lo").exists():
        lacking("no loopback interface here")
    with pytest.raises(OSError, match="not supported") as raised:
        IoctlEthtool().names("lo")

    assert raised.value.errno == errno.EOPNOTSUPP


def test_the_bus_of_an_interface_is_its_own_pci_function() -> None:
    """What the check for another network namespace relies on."""
    files = RealFiles("/sys", 100)
    if not NET.is_dir():
        lacking("no /sys/class/net here")
    places = [reader.place for reader in EthernetSource(files, IoctlEthtool(), everything).scan(0.0, 0.0).readers]
    on_pci = [place for place in places if place.pci] or lacking("no interface on PCI here")

    assert [IoctlEthtool().bus(place.name) for place in on_pci] == [place.pci for place in on_pci]


def test_physical_interfaces_of_this_machine_are_found() -> None:
    """Those with a device, whatever the kernel calls them; no loopback, bridge or veth."""
    if not NET.is_dir():
        lacking("no /sys/class/net here")
    scan = EthernetSource(RealFiles("/sys", 100), IoctlEthtool(), everything).scan(0.0, 0.0)
    expected = [n for n in sorted(os.listdir(NET)) if (NET / n / "device").exists() and (NET / n / "type").read_text().strip() == "1"]

    assert [reader.subject for reader in scan.readers] == expected


def test_a_tree_stands_for_the_ioctl() -> None:
    """Names with colons and blanks are one name."""
    text = b"NIC statistics:\n     rx_discards_phy: 17\n     [0]: rx discards: 3\n\n"
    ethtool = TreeEthtool(MemoryTree([File("ethtool/eth0/statistics", text)]))

    assert ethtool.names("eth0") == ("rx_discards_phy", "[0]: rx discards")
    assert ethtool.values("eth0", 2) == (17, 3)
    with pytest.raises(TableChangedError):
        ethtool.values("eth0", 3)


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EPERM, errno.ENODEV])
def test_a_file_that_refuses_is_a_call_that_fails(code: int) -> None:
    """With the same errno; no file at all is a driver without statistics."""
    ethtool = TreeEthtool(MemoryTree([Refusal("ethtool/eth0/statistics", code)]))
    with pytest.raises(OSError, match=os.strerror(code)):
        ethtool.names("eth0")
    with pytest.raises(OSError, match=os.strerror(errno.EOPNOTSUPP)):
        ethtool.names("eth1")


def test_a_line_that_ethtool_would_not_print_is_refused() -> None:
    """A machine with a slip in it must not pass."""
    with pytest.raises(OSError, match="not a line of ethtool -S"):
        TreeEthtool(MemoryTree([File("ethtool/eth0/statistics", b"rx_discards_phy 17\n")])).names("eth0")
