"""`fabric-exporter topology`: the matrix and the JSON of a node, real or simulated."""

import json
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.places import read_rail_table
from exporter.config.mistake import ConfigError
from exporter.model.rail_table import TABLE_SIZE_BYTES
from exporter.model.rails import Stated
from exporter.simulator.archive import File, unpack
from exporter.sources.node_places import NODES
from tests.sources.imitated_topology import matrix_of
from tests.sources.small_pci import switch_pair


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """gpu0 and mlx5_0 behind one switch, as real files."""
    unpack([*switch_pair(), File(f"{NODES}/node0/cpulist", b"0-55,112-167\n")], tmp_path / "sys")
    return f"--sysfs-root={tmp_path / 'sys'}"


def test_it_prints_the_matrix_of_this_machine(pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Relations, CPUs, and which NIC serves which GPU."""
    status = main(["topology", pair, f"--state-dir={tmp_path}"])

    streams = capsys.readouterr()
    shown = matrix_of(streams.out)
    assert (status, streams.err) == (Exit.OK, "")
    assert shown.cells == {("GPU0", "GPU0"): "X", ("GPU0", "NIC0"): "PIX", ("NIC0", "GPU0"): "PIX", ("NIC0", "NIC0"): "X"}
    assert shown.cpus == {"GPU0": "0-55,112-167"}
    assert "mlx5_0  0000:14:00.0  NUMA 0  rail 0  gpu0  compute" in streams.out


def test_json_is_for_programs(pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, by our own names."""
    status = main(["topology", "--json", pair, f"--state-dir={tmp_path}"])

    page = json.loads(capsys.readouterr().out)
    assert status == Exit.OK
    assert page["relations"] == {"gpu0": {"mlx5_0": "PIX"}, "mlx5_0": {"gpu0": "PIX"}}
    assert page["nics"][0]["rail"] == "0"
    assert not page["simulated"]
    assert [fault["subject"] for fault in page["faults"] if fault["subject"] != "driver"] == []


def test_a_simulated_node_has_its_eight_rails_and_says_that_it_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    """Two storage ports have none."""
    status = main(["topology", "--simulate=hgx-h100"])

    streams = capsys.readouterr()
    assert status == Exit.OK
    assert [line.split()[6:9] for line in streams.out.splitlines() if " rail " in line and "no rail" not in line] == [
        [str(n), f"gpu{n}", "compute"] for n in range(8)
    ]
    assert streams.out.count("no rail") == 2
    assert "simulated node hgx-h100" in streams.err


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_tables_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """From eighty columns on, with nothing lost."""
    main(["topology", "--simulate=hgx-h100"])
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", str(columns))
    main(["topology", "--simulate=hgx-h100"])
    fitted = capsys.readouterr().out

    assert max(map(len, fitted.splitlines())) <= columns
    assert matrix_of(fitted) == matrix_of(whole)


def test_no_hardware_is_exit_4_and_says_what_it_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty matrix would look like an answer."""
    status = main(["topology", f"--sysfs-root={tmp_path}", f"--state-dir={tmp_path}"])

    streams = capsys.readouterr()
    assert (status, streams.out) == (Exit.NO_HARDWARE, "")
    assert f"{tmp_path}/bus/pci/devices" in streams.err
    assert len(streams.err.splitlines()) == 1


def test_what_could_not_be_read_is_exit_5_and_one_line(pair: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is printed."""
    (tmp_path / f"sys/{NODES}/node0/cpulist").write_text("some\n")

    status = main(["topology", pair, f"--state-dir={tmp_path}"])

    streams = capsys.readouterr()
    assert status == Exit.PARTIAL
    assert streams.err.splitlines() == [f"{NODES}/node0/cpulist: says 'some'"]
    assert "rail 0" in streams.out


def test_an_unknown_profile_is_a_mistake_of_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    assert main(["topology", "--simulate=dgx-1"]) == Exit.CONFIGURATION
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_nvml_says_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Links into switches between all GPUs, places on the board, and how many links there should be."""
    status = main(["topology", "--simulate=hgx-h100"])

    out = capsys.readouterr().out
    cells = matrix_of(out).cells
    assert status == Exit.OK
    assert (cells["GPU0", "GPU7"], cells["GPU5", "GPU0"], cells["GPU0", "NIC0"]) == ("NV18", "NV18", "PIX")
    assert out.count("18 of 18 NVLinks") == 8


def test_bridged_pairs_and_nothing_else_are_joined(capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve links within a pair, PCI between pairs."""
    main(["topology", "--simulate=h100-pcie"])

    cells = matrix_of(capsys.readouterr().out).cells
    assert cells["GPU0", "GPU1"] == cells["GPU1", "GPU0"] == "NV12"
    assert not cells["GPU0", "GPU2"].startswith("NV")


def test_with_nvlink_switched_off_only_pci_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And no driver is asked."""
    config = tmp_path / "config.yaml"
    config.write_text("sources: {nvlink: {enabled: false}}\n")

    status = main(["topology", "--simulate=hgx-h100", f"--config={config}"])

    assert status == Exit.OK
    assert "NV18" not in capsys.readouterr().out


def test_a_rail_table_is_read_with_its_name_on_each_complaint(tmp_path: Path) -> None:
    """Also where bytes are no text."""
    path = tmp_path / "rails.csv"
    path.write_bytes(b"mlx5_0,0\nmlx5_1,\xff\n")

    table = read_rail_table(str(path))

    assert table.stated == {"mlx5_0": Stated("0")}
    assert [complaint.startswith(f"{path}, line 2: expected a number or a word") for complaint in table.complaints] == [True]


@pytest.mark.parametrize(("size", "why"), [(None, "No such file"), (TABLE_SIZE_BYTES + 1, "longer than 256 KiB")])
def test_a_rail_table_that_is_none_is_a_mistake_of_the_configuration(tmp_path: Path, size: int | None, why: str) -> None:
    """The option, the file and the reason in one line."""
    path = tmp_path / "rails.csv"
    if size is not None:
        path.write_bytes(b"\n" * size)

    with pytest.raises(ConfigError) as caught:
        read_rail_table(str(path))

    assert str(caught.value).startswith("topology.rails: ")
    assert (str(path) in str(caught.value), why in str(caught.value)) == (True, True)
