"""`fabric-exporter scrape`: two passes and what they show, without a daemon."""

import json
import stat
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.simulator.archive import read_archive, unpack
from tests.machine import MACHINES, machine, parsed, port_value

QUICK = "--window=1ms"


@pytest.fixture
def h100(tmp_path: Path) -> str:
    """The H100 machine as real files."""
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    return f"--sysfs-root={tmp_path / 'sys'}"


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
    assert f"{tmp_path}/class/infiniband" in told


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
