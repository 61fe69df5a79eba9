"""Which NVSwitches a machine has."""

import errno

from exporter.simulator.archive import read_archive
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.nvswitches import NvSwitches
from exporter.sources.pci_tree import DEVICES
from tests.requires import need_data
from tests.sources.small_pci import BRIDGE, GPU, folder_of, function

SWITCH = {"vendor": "0x10de", "device": "0x22a3", "class": "0x068000"}
PLACES = (("0000:10:01.0", "0000:05:00.0"), ("0000:10:01.0", "0000:06:00.0"))


def _tree() -> MemoryTree:
    entries = [entry for place in reversed(PLACES) for entry in function(place, SWITCH)]
    return MemoryTree([*entries, *function(("0000:10:01.0",), BRIDGE), *function(("0000:10:02.0", "0000:13:00.0"), GPU)])


def test_switches_are_nvidias_bridges_of_another_kind() -> None:
    """No GPU, and no PCIe switch."""
    assert NvSwitches(_tree()).addresses() == ("0000:05:00.0", "0000:06:00.0")


def test_an_identity_is_read_once_and_a_switch_that_left_is_gone() -> None:
    """Two files a function, then one listing a look; who comes back is looked at again."""
    tree = _tree()
    switches = NvSwitches(tree)
    switches.addresses()
    opened = tree.opens
    tree.remove(f"{DEVICES}/0000:05:00.0")

    assert (switches.addresses(), tree.opens - opened) == (("0000:06:00.0",), 0)


def test_what_cannot_be_read_is_no_switch_and_no_error() -> None:
    """One function's class, junk in the folder, then the whole bus; a function that answers later is seen."""
    tree = _tree()
    path = f"{folder_of(PLACES[0])}/class"
    tree.fail(path, errno.EIO)
    tree.write(f"{DEVICES}/not an address", b"")
    switches = NvSwitches(tree)
    seen = switches.addresses()
    tree.fail(path, None)

    assert (seen, switches.addresses()) == (("0000:06:00.0",), ("0000:05:00.0", "0000:06:00.0"))
    assert NvSwitches(MemoryTree()).addresses() == ()


def test_the_captured_h100_node_has_four() -> None:
    """The boards of eight H100 have four NVSwitches of the third generation."""
    tree = MemoryTree(read_archive(need_data() / "sysfs" / "h100-pci-from-lspci.tree"))

    assert len(NvSwitches(tree).addresses()) == 4
