"""`fabric-exporter scrape`: two passes and what they show, without a daemon."""

import json
import stat
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families

from exporter.catalog.ethtool_names import FAMILIES
from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.scrape import SIMULATED_START_S
from exporter.simulator.archive import read_archive, unpack
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import ROCE_H200
from exporter.simulator.tree_ethtool import TreeEthtool
from tests.machine import MACHINES, Samples, machine, parsed, port_value
from tests.requires import lacking

QUICK = "--window=1ms"


@pytest.fixture
def h100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The H100 machine as real files. Its interfaces are left alone: the ioctl would ask this machine's kernel for them."""
    monkeypatch.setenv("FABRIC_SOURCES_ETHERNET_ENABLED", "false")
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    return f"--sysfs-root={tmp_path / 'sys'}"


def devices_of(samples: Samples, prefix: str) -> set[str]:
    """The values of the label `device` of these series."""
    return {dict(labels)["device"] for name, labels in samples if name.startswith(prefix) and "device" in dict(labels)}


def pci_of_gpus(samples: Samples) -> dict[str, str]:
    """PCI address by GPU name."""
    infos = [dict(labels) for name, labels in samples if name == "fabric_pcie_info"]
    return {info["device"]: info["pci"] for info in infos if info["device"].startswith("gpu")}


def asked_interface() -> str:
    """An interface of this machine whose driver is asked for statistics; without one the test skips."""
    asked = [
        folder.name
        for folder in sorted(Path("/sys/class/net").glob("*"))
        if (folder / "device/driver").resolve().name in FAMILIES and not (folder / "device/physfn").exists()
    ]
    return asked[0] if asked else lacking(f"no interface here has one of the drivers {', '.join(sorted(FAMILIES))}: needs such a NIC")


def test_it_prints_the_page_of_the_tree(h100: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every hardware series of the machine's golden page, with its number."""
    expected = {key: value for key, value in machine("h100-8x-ndr400").samples.items() if key[0].startswith("fabric_infiniband")}

    status = main(["scrape", QUICK, h100, "--exposition.tier=full"])

    shown = parsed(capsys.readouterr().out)
    assert status == Exit.OK
    assert {key: shown.get(key) for key in expected} == expected


def test_no_hardware_is_exit_4_and_says_what_it_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prolog script can tell a machine without a fabric from a broken one."""
    status = main(["scrape", QUICK, f"--sysfs-root={tmp_path}"])

    told = capsys.readouterr().err
    assert status == Exit.NO_HARDWARE
    assert all(f"{tmp_path}/{place}" in told for place in ("class/infiniband", "class/net", "bus/pci/devices"))


def test_a_file_that_makes_no_sense_is_exit_5_and_one_line(h100: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names the file and what it says; its neighbours are printed."""
    bad = next((tmp_path / "sys").glob("devices/**/mlx5_3/ports/1/counters/symbol_error"))
    bad.write_text("lots\n")

    status = main(["scrape", QUICK, h100])

    streams = capsys.readouterr()
    shown = parsed(streams.out)
    assert status == Exit.PARTIAL
    assert [line for line in streams.err.splitlines() if "mlx5_3/ports/1/counters/symbol_error" in line and "lots" in line]
    assert port_value(shown, "symbol_error_total", "mlx5_3") is None
    assert port_value(shown, "symbol_error_total", "mlx5_2") is not None


def test_a_textfile_is_written_whole_and_readable_by_others(h100: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """node_exporter's textfile collector runs as another user and must never see half a page."""
    target = tmp_path / "fabric.prom"

    status = main(["scrape", QUICK, h100, f"--textfile={target}"])

    assert status == Exit.OK
    assert capsys.readouterr().out == ""
    assert port_value(parsed(target.read_text()), "state_id", "mlx5_0") == 4
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".fabric")] == []


def test_a_textfile_that_cannot_be_written_is_one_line(h100: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 3, naming the path."""
    status = main(["scrape", QUICK, h100, f"--textfile={tmp_path}/nowhere/x.prom"])

    told = capsys.readouterr().err
    assert status == Exit.CONFIGURATION
    assert told.count("\n") == 1
    assert "nowhere" in told


def test_openmetrics_parses_and_ends_as_it_must(h100: str, capsys: pytest.CaptureFixture[str]) -> None:
    """prometheus_client's strict parser accepts it."""
    main(["scrape", QUICK, h100, "--format=openmetrics"])

    text = capsys.readouterr().out
    assert text.endswith("# EOF\n")
    assert any(family.name == "fabric_infiniband_port_data_transmitted_bytes" for family in openmetrics_families(text))


def test_json_holds_series_and_faults(h100: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For scripts that want neither text format."""
    next((tmp_path / "sys").glob("devices/**/mlx5_3/ports/1/counters/symbol_error")).write_text("")

    main(["scrape", QUICK, h100, "--format=json"])

    page = json.loads(capsys.readouterr().out)
    assert {"name": "fabric_infiniband_state_id", "labels": {"device": "mlx5_0", "port": "1"}, "value": 4} in page["series"]
    assert [fault["reason"] for fault in page["faults"]] == ["parse"]


def test_a_simulated_node_is_scraped_in_virtual_time(capsys: pytest.CaptureFixture[str]) -> None:
    """No files, no waiting, and the page says that it is simulated."""
    status = main(["scrape", "--window=10m", "--simulate=hgx-h100"])

    shown = parsed(capsys.readouterr().out)
    assert status == Exit.OK
    assert shown["fabric_exporter_simulated", ()] == 1
    assert (port_value(shown, "port_data_transmitted_bytes_total", "mlx5_0") or 0) > 0


def test_a_simulated_roce_port_is_one_link(capsys: pytest.CaptureFixture[str]) -> None:
    """Its traffic, its pause and its PCIe link carry the RDMA device's name; nothing carries its interface's but the info series."""
    main(["scrape", QUICK, "--simulate=roce-h200", "--exposition.tier=full"])

    shown = parsed(capsys.readouterr().out)
    rails = {f"mlx5_{n}" for n in range(8)}
    assert devices_of(shown, "fabric_infiniband_") == rails
    assert devices_of(shown, "fabric_ethernet_") == {*rails, "eno1", "eno2"}
    assert devices_of(shown, "fabric_pcie_") == {*rails, *(f"gpu{n}" for n in range(8)), "eno1", "eno2"}


def test_pause_of_the_lossless_priority_is_exactly_the_drivers_microseconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Priority 3 alone has PFC, and no digit is lost on the way to seconds."""
    node = SimulatedNode(ROCE_H200, seed=1)
    node.advance(SIMULATED_START_S + 600)
    ethtool, netdev = TreeEthtool(node.tree()), ROCE_H200.hcas[0].netdev
    names = ethtool.names(netdev)
    microseconds = dict(zip(names, ethtool.values(netdev, len(names)), strict=True))

    main(["scrape", "--window=10m", "--simulate=roce-h200"])

    paused = {labels: value for (name, labels), value in parsed(capsys.readouterr().out).items()
              if name == "fabric_ethernet_pause_seconds_total" and ("device", "mlx5_0") in labels}  # fmt: skip
    assert {(dict(labels)["direction"], dict(labels)["priority"]): value for labels, value in paused.items()} == {
        ("receive", "3"): microseconds["rx_prio3_pause_duration"] / 1e6,
        ("transmit", "3"): microseconds["tx_prio3_pause_duration"] / 1e6,
    }
    assert all(value > 0 for value in paused.values())


def test_a_source_that_found_nothing_says_so_beside_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """RDMA devices without visible PCI or Ethernet are no failure, and the missing series have their explanation."""
    unpack(read_archive(MACHINES / "rxe.tree"), tmp_path / "sys")

    status = main(["scrape", QUICK, f"--sysfs-root={tmp_path / 'sys'}"])

    told = capsys.readouterr().err.splitlines()
    assert status == Exit.OK
    assert "pcie: found nothing" in [line.partition(";")[0] for line in told]


def test_a_source_switched_off_is_not_looked_for(h100: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither on the page nor on stderr."""
    config = tmp_path / "config.yaml"
    config.write_text("sources: {pcie: {enabled: false}}\n")

    main(["scrape", QUICK, h100, f"--config={config}"])

    streams = capsys.readouterr()
    assert [line for line in streams.err.splitlines() if not line.startswith(("nvlink: found nothing", "gpudirect: found nothing"))] == []
    assert not [name for name, _ in parsed(streams.out) if name.startswith(("fabric_ethernet", "fabric_pcie"))]


def test_gpus_have_the_names_that_the_daemon_gave_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without gpu0, which the daemon once saw, gpu1 stays gpu1; and looking writes nothing."""
    unpack(read_archive(MACHINES / "hgx-h100-pcie.tree"), tmp_path / "sys")
    arguments = ["scrape", QUICK, f"--sysfs-root={tmp_path / 'sys'}", f"--state-dir={tmp_path / 'state'}"]
    main(arguments)
    first = pci_of_gpus(parsed(capsys.readouterr().out))
    known = {address: int(name.removeprefix("gpu")) + 1 for name, address in first.items()}
    (tmp_path / "state").mkdir()
    remembered = json.dumps({"version": 1, "most_present": len(known), "numbers": known})
    (tmp_path / "state/gpu-slots.json").write_text(remembered)

    main(arguments)

    second = pci_of_gpus(parsed(capsys.readouterr().out))
    assert second == {f"gpu{number}": address for address, number in known.items()}
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["gpu-slots.json"]
    assert (tmp_path / "state/gpu-slots.json").read_text() == remembered


def test_an_unknown_profile_is_one_line_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 3."""
    status = main(["scrape", "--simulate=hgx-h9000"])

    told = capsys.readouterr().err
    assert status == Exit.CONFIGURATION
    assert told.count("\n") == 1
    assert "hgx-h100" in told


def test_timing_names_each_device_and_what_its_reads_cost(h100: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Per device and cadence, per file and call; no page."""
    status = main(["scrape", "--timing", h100])

    told = capsys.readouterr().out
    assert status == Exit.OK
    assert all(f"infiniband/mlx5_{number}" in told for number in range(10))
    assert "class/infiniband/mlx5_0/ports/1/" in told
    assert "# HELP" not in told


def test_timing_counts_the_call_to_the_driver_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """The price of one pass's ioctl, as it is here."""
    netdev = asked_interface()

    main(["scrape", "--timing"])

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ioctl") and line.endswith(f"ethtool -S {netdev}")]
    assert len(lines) == 1


def test_a_configured_expectation_lowers_what_a_link_should_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`expect.pcie` names a device by pattern; its own link and the bridge above it follow."""
    config = tmp_path / "c.yaml"
    config.write_text('expect:\n  pcie: ["gpu0=16GT/s,x8"]\n')

    main(["scrape", QUICK, "--simulate=hgx-h100", "--exposition.tier=full", f"--config={config}"])

    shown = parsed(capsys.readouterr().out)
    width = {d: shown["fabric_pcie_link_width_expected_lanes", (("device", d), ("port", "upstream"))] for d in ("gpu0", "gpu1")}
    assert width == {"gpu0": 8, "gpu1": 16}
