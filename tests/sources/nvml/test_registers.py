"""The ports' own registers (PRM), which a driver may keep for root, or not give at the moment."""

from exporter.model.fault import Reason
from exporter.model.snapshot import SeriesKey
from tests.nvml_library import FakeDriver, profile, ret
from tests.nvml_library.scenario import Value
from tests.sources.nvml.header_words import registers
from tests.sources.nvml.source_child import Seen, SourceChild

ALL = set(range(18))


def test_registers_that_are_for_root_only_are_one_fault_and_no_series(driver: FakeDriver) -> None:
    """Told once, for a permission does not come by itself; nothing else suffers."""
    driver.write({**profile("b200"), "call.nvmlDeviceReadPRMCounters_v1.ret": 4})
    with SourceChild(driver) as child:
        child.scan()
        first, second = child.read("gpu0", "normal"), child.read("gpu0", "normal")

    assert [first.reasons(), second.reasons()] == [{("gpu0", Reason.DENIED)}, set()]
    assert len(driver.calls("nvmlDeviceReadPRMCounters_v1")) == 1
    assert _registers_shown(second) == set()
    assert second.links("gpu0").keys() == ALL


def test_registers_that_could_not_be_read_once_are_tried_again(driver: FakeDriver) -> None:
    """A busy driver at the first look, and again later, costs those passes."""
    busy: dict[str, Value] = {"g0.call.nvmlDeviceReadPRMCounters_v1.ret": 10}
    driver.write({**profile("b200"), **busy})
    with SourceChild(driver) as child:
        child.scan()
        seen = [child.read("gpu0", "normal")]
        for changes in ({}, busy, {}):
            driver.write({**profile("b200"), **changes})
            seen.append(child.read("gpu0", "normal"))

    shown = {"nvlink_transmit_wait", "nvlink_downs"}
    assert [_registers_shown(one) for one in seen] == [set(), shown, set(), shown]
    assert [one.reasons() for one in seen] == [{("gpu0", Reason.TIMEOUT)}, set()] * 2


def test_a_register_that_a_port_refuses_costs_only_itself(driver: FakeDriver) -> None:
    """Each has its own status."""
    driver.write({**profile("b200"), "g0.port5.prm201": ret(4), "g0.port5.prm1": ret(10)})
    with SourceChild(driver) as child:
        child.scan()
        seen = child.read("gpu0", "normal")

    assert seen.column("gpu0", "nvlink_transmit_wait").keys() == ALL - {5}
    assert seen.column("gpu0", "nvlink_downs").keys() == ALL - {4}
    assert seen.reasons() == {("gpu0/5", Reason.DENIED), ("gpu0/4", Reason.TIMEOUT)}


def _registers_shown(seen: Seen) -> set[SeriesKey]:
    return {key for _, key in registers().values()} & seen.links("gpu0")[0].keys()
