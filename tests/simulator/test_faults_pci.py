"""What the PCI bus, a card's files and the driver show before, during and after each fault of a device."""

import errno

import pytest

from exporter.simulator.faults.pci import ends_of
from exporter.simulator.profiles import HGX_H100
from exporter.sources.nvml_session import NvmlError
from exporter.sources.sysfs import read_once
from exporter.sources.xid_lines import event_of
from tests.simulator.faulty import Watched, planned


def test_a_pcie_link_trains_down_at_both_ends() -> None:
    """The card and the port above it; what they could do stays."""
    profile_pci = next(hca for hca in HGX_H100.hcas if hca.name == "mlx5_3").pci_path
    card, bridge = (f"bus/pci/devices/{address}" for address in profile_pci[-1:-3:-1])
    node = Watched(planned("pcie", "pcie/mlx5_3/upstream", speed="16.0 GT/s", width=8))

    def shown(moment: float) -> list[str | None]:
        node.at(moment)
        return [node.text(f"{place}/{name}") for place in (card, bridge) for name in ("current_link_speed", "current_link_width")]

    assert shown(59) == ["32.0 GT/s PCIe", "16"] * 2
    assert shown(61) == ["16.0 GT/s PCIe", "8"] * 2
    assert node.text(f"{card}/max_link_width") == "16"
    assert shown(121) == ["32.0 GT/s PCIe", "16"] * 2


def test_a_link_between_bridges_has_two_bridges_for_ends() -> None:
    """Root port and switch; the card's own link is not touched."""
    path = HGX_H100.hcas[3].pci_path
    ends = ends_of(HGX_H100, "mlx5_3", path[1])

    assert [end[-1] for end in ends] == [path[1], path[2]]
    assert [end[-1] for end in ends_of(HGX_H100, "mlx5_3", "upstream")] == [path[4], path[3]]


def test_a_function_reports_errors_again_and_again() -> None:
    """In the error's line and in the total; the other end of the link, other severities and other errors count nothing."""
    card, bridge = (f"bus/pci/devices/{address}" for address in HGX_H100.hcas[3].pci_path[-1:-3:-1])
    node = Watched(
        planned("aer", "pcie/mlx5_3/upstream", until_s=None, severity="correctable", error="BadTLP", count=5, times=3, every=10.0)
    )

    def counts(moment: float, place: str = card, severity: str = "correctable") -> dict[str, int]:
        lines = (node.at(moment).text(f"{place}/aer_dev_{severity}") or "").splitlines()
        return {name: int(count) for name, count in (line.split() for line in lines) if count != "0"}

    assert [counts(moment) for moment in (59, 61, 75, 500)] == [
        {}, *({"BadTLP": count, "TOTAL_ERR_COR": count} for count in (5, 10, 15))]  # fmt: skip
    assert counts(500, bridge) == counts(500, card, "nonfatal") == {}


def test_a_switch_that_two_devices_are_below_reports_once() -> None:
    """Though it stands under each of them."""
    switch = HGX_H100.hcas[3].pci_path[1]
    node = Watched(planned("aer", f"pcie/*/{switch}", until_s=None, severity="fatal", error="DLP", count=2)).at(61)

    assert (node.text(f"bus/pci/devices/{switch}/aer_dev_fatal") or "").splitlines()[1] == "DLP 2"


def test_an_hca_is_gone_and_returns_with_counters_at_zero() -> None:
    """With everything that leads to it; the handle that was kept says ENODEV."""
    node = Watched(planned("unplug", "mlx5_3"), planned("counter_set", "infiniband/mlx5_3/1", at_s=5, until_s=None, counter="symbol_error",
                                                        value=9))  # fmt: skip
    tree = node.at(59).hardware.tree
    handle = tree.open("class/infiniband/mlx5_3/ports/1/counters/symbol_error")
    before = tree.pread(handle, 100, 0)
    node.at(61)

    assert before == b"9\n"
    assert node.port("state") is None
    assert "mlx5_3" not in tree.listdir("class/infiniband")
    with pytest.raises(OSError, match="No such device") as caught:
        tree.pread(handle, 100, 0)
    assert caught.value.errno == errno.ENODEV

    node.at(120)

    assert node.port("state") == "4: ACTIVE"
    assert {node.count(f"counters/{name}") for name in ("symbol_error", "port_xmit_data", "port_rcv_packets", "link_downed")} == {0}
    assert node.growth(lambda: node.count("counters/port_xmit_data"), 120, 130) > 0


def test_other_devices_stay_when_one_goes() -> None:
    """Also those on the same PCIe switch."""
    node = Watched(planned("unplug", "mlx5_3")).at(90)

    assert node.port("state", "mlx5_4") == "4: ACTIVE"
    assert node.text(f"bus/pci/devices/{HGX_H100.gpus[3].pci}/vendor") == "0x10de"


def test_a_gpu_falls_off_the_bus_and_returns() -> None:
    """The driver shows one less, the kernel log says why, its links are inactive; afterwards its counters start at 0."""
    node = Watched(planned("unplug", "gpu3"))
    nvml, pci = node.hardware.nvml, HGX_H100.gpus[3].pci
    nvml.open()
    seen = []
    for moment in (59, 61, 121):
        node.at(moment)
        seen.append((nvml.gpu_count(), node.text(f"bus/pci/devices/{pci}/vendor")))

    assert seen == [(8, "0x10de"), (7, None), (8, "0x10de")]
    assert [event.pci for record in node.hardware.log.records().records if (event := event_of(record.text))] == [pci]
    assert node.nvlink(3, 0, 138) < 1e9 < node.nvlink(2, 0, 138)


def test_the_other_end_of_a_bridge_is_inactive_while_a_gpu_is_gone() -> None:
    """Links to a GPU that is not there lead nowhere."""
    node = Watched(planned("unplug", "gpu0"), node="h100-pcie").at(90)
    nvml = node.hardware.nvml
    nvml.open()

    assert nvml.gpu_count() == 7
    assert nvml.gpus.state(1, 0) == 0
    assert node.at(121).hardware.nvml.gpus.state(1, 0) == 1


def test_files_refuse_to_be_read_for_a_while() -> None:
    """With that errno; the port's other files do not."""
    node = Watched(planned("read_error", "infiniband/mlx5_3/1", file="counters/symbol_error", errno="EINVAL"))
    path = "class/infiniband/mlx5_3/ports/1/counters/"

    def code(name: str) -> int | None:
        try:
            read_once(node.hardware.tree, path + name, 100)
        except OSError as error:
            return error.errno
        return None

    assert [(node.at(moment) and code("symbol_error"), code("link_downed")) for moment in (59, 61, 121)] == [
        (None, None),
        (errno.EINVAL, None),
        (None, None),
    ]


def test_files_say_something_else_for_a_while() -> None:
    """All counters unless others are named; a counter goes on meanwhile."""
    node = Watched(planned("read_error", "infiniband/mlx5_3/1", text="N/A (no PMA)"))

    assert node.at(61).port("counters/port_xmit_data") == "N/A (no PMA)"
    assert node.at(90).port("counters/port_xmit_data") == "N/A (no PMA)"
    assert node.port("state") == "4: ACTIVE"
    assert node.at(121).count("counters/port_xmit_data") == Watched().at(121).count("counters/port_xmit_data")


def test_a_lost_gpu_answers_nothing() -> None:
    """As NVML says of it."""
    node = Watched(planned("unplug", "gpu3")).at(59)
    node.hardware.nvml.open()
    node.at(61)

    with pytest.raises(NvmlError, match="lost"):
        node.hardware.nvml.facts(3)
