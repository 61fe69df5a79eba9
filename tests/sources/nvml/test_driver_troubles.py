"""Drivers that are not there, do not start, or are of no use to this process any more: one Fault, and who may get an answer."""

from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.sources.nvlink import NO_GPU
from tests.nvml_library import FakeDriver, profile
from tests.sources.nvml.source_child import SourceChild


def test_a_container_that_lost_its_devices_is_told_from_a_sick_gpu(driver: FakeDriver) -> None:
    """NVIDIA/nvidia-container-toolkit#48: all GPUs answer Unknown Error; after the last one has, only a fresh process may help."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        driver.change({"call.*.ret": 999})
        spent = []
        for gpu in range(8):
            seen = child.read(f"gpu{gpu}", "fast")
            assert seen.reasons() == {(f"gpu{gpu}", Reason.UNKNOWN)}
            spent.append(child.state().spent)
        scan = child.scan()

    assert spent[:7] == [None] * 7
    assert spent[7] is not None
    assert spent[7][0] is Reason.UNKNOWN
    assert [scan.gpus, scan.node.reasons()] == [(), {("driver", Reason.UNKNOWN)}]


@pytest.mark.parametrize(("code", "reason"), [(9, Reason.ABSENT), (18, Reason.DRIVER), (999, Reason.UNKNOWN), (4, Reason.DENIED)])
def test_a_driver_that_does_not_start_is_one_fault(driver: FakeDriver, code: int, reason: Reason) -> None:
    """No GPU, no number; except for a matter of rights, only a fresh process may get an answer."""
    driver.write({**profile("h100-sxm"), "init.ret": code})
    with SourceChild(driver) as child:
        scan = child.scan()
        spent = child.state().spent

    assert [scan.gpus, scan.node.values, scan.node.reasons()] == [(), {}, {("driver", reason)}]
    assert (spent and spent[0]) == (None if code == 4 else reason)


def test_an_upgraded_driver_shows_in_a_pass(driver: FakeDriver) -> None:
    """Library and kernel driver of different versions: the process is done with, whichever call said so."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        driver.change({"call.*.ret": 18})
        seen = child.read("gpu0", "fast")
        spent = child.state().spent

    assert seen.reasons() == {("gpu0", Reason.DRIVER)}
    assert spent is not None
    assert spent[0] is Reason.DRIVER


def test_a_library_that_is_not_there_is_one_line(driver: FakeDriver, tmp_path: Path) -> None:
    """The path that was configured, and what to do."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver, library=str(tmp_path / "libnvidia-ml.so.1")) as child:
        scan = child.scan()

    assert scan.node.reasons() == {("driver", Reason.ABSENT)}
    assert str(tmp_path) in scan.node.faults[0].detail
    assert "sources.nvml.library" in scan.node.faults[0].detail


def test_a_library_by_path_is_loaded(driver: FakeDriver) -> None:
    """As in a container that mounts the driver's root elsewhere."""
    driver.write(profile("hgx-h100-4"))
    with SourceChild(driver, library=str(driver.library)) as child:
        assert len(child.scan().gpus) == 4


def test_a_driver_without_gpus_says_so(driver: FakeDriver) -> None:
    """An ABSENT in words, and a later process may find some."""
    driver.write({"gpus": 0, "driver": "570.1"})
    with SourceChild(driver) as child:
        scan = child.scan()
        spent = child.state().spent

    assert [scan.gpus, [fault.detail for fault in scan.node.faults], spent] == [(), [NO_GPU], (Reason.ABSENT, NO_GPU)]
