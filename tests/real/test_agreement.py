"""node_exporter reads the same trees: every series that both of us have carries the same number."""

from pathlib import Path

import pytest

from exporter.simulator.archive import parse_archive, unpack
from exporter.simulator.memory_tree import MemoryTree
from tests.machine import MACHINES, Machine, Samples, tree_names
from tests.real.listener import RealServerError
from tests.real.node_exporter import PREFIX, node_exporter_samples
from tests.requires import need_data

NEEDS_MORE_THAN_FILES = {"counter-file-einval", "bnxt-re", "limited-pf", "manaport-rate-einval", "pcie-odd-text"}
"""Machines whose files answer with an errno: a plain folder cannot, so node_exporter cannot be shown them."""
IT_MAY_GIVE_UP = {"compat-devices", "no-hardware", "odd-text", "irdma", "efa-p5", "rxe", "no-pma", "vm-guest"}
"""Trees on which releases of node_exporter lose all InfiniBand series (1.5.0 does; prometheus/node_exporter#2769, #2846). Later ones may
not; then they must agree too."""
WITHOUT_INFINIBAND = {"hgx-h100-pcie", "x8-slot-by-design", "degraded-bridge", "gpu-idle-gen1", "vm-flat-pci"}
"""Trees that hold PCI alone: both have nothing of InfiniBand to agree on."""


def _agreement(entries_text: str, folder: Path) -> tuple[int, dict[str, tuple[float, float]]]:
    """How many series both have, and those that differ, on one tree."""
    entries = parse_archive(entries_text)
    unpack(entries, folder / "sys")
    theirs = node_exporter_samples(folder / "sys", folder / "node_exporter.log")
    ours = Machine(MemoryTree(entries)).run(20).samples
    return _compare(theirs, ours)


def _compare(theirs: object, ours: Samples) -> tuple[int, dict[str, tuple[float, float]]]:
    pairs = {
        str(series): (value, float(ours[ours_name, series[1]]))
        for series, value in dict(theirs).items()  # type: ignore[call-overload]
        if (ours_name := series[0].replace(PREFIX, "fabric_infiniband_")) and (ours_name, series[1]) in ours
    }
    return len(pairs), {series: pair for series, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("name", [n for n in tree_names() if n not in NEEDS_MORE_THAN_FILES])
def test_series_that_both_have_agree_on_each_machine(name: str, tmp_path: Path) -> None:
    """Same tree, same names, same numbers."""
    try:
        shared, differing = _agreement((MACHINES / f"{name}.tree").read_text(encoding="utf-8"), tmp_path)
    except RealServerError:
        shared, differing = 0, {}

    assert differing == {}
    assert shared > 0 or name in IT_MAY_GIVE_UP | WITHOUT_INFINIBAND


def test_series_that_both_have_agree_on_captures_of_real_machines(tmp_path: Path) -> None:
    """The same on every capture that node_exporter can read at all."""
    shared = 0
    for number, path in enumerate(sorted((need_data() / "sysfs").glob("*.tree"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            count, differing = _agreement(path.read_text(encoding="utf-8"), folder)
        except RealServerError:
            continue  # one file it dislikes costs it all of them; ours is checked in tests/sources
        shared += count
        assert differing == {}, path.name

    assert shared > 200
