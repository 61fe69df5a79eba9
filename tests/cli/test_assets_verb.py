"""`fabric-exporter assets export` writes what ships, from a clone and from an installed wheel alike."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from exporter.cli.assets import FOLDERS, KINDS, shipped
from exporter.cli.exits import Exit
from exporter.cli.main import main

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "dashboards/generated"


def test_boards_are_written_as_they_lie_in_the_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte by byte, into a folder that is made; each path is said."""
    assert main(["assets", "export", "--dir", str(tmp_path / "new"), "--only", "dashboards"]) == Exit.OK

    committed = {path.name: path.read_bytes() for path in (GENERATED / "dashboards").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "new/dashboards").iterdir()} == committed
    assert len(capsys.readouterr().out.splitlines()) == len(committed)


def test_without_a_kind_everything_is_written(tmp_path: Path) -> None:
    """Each kind in its own folder; kinds that this version does not have are left out."""
    assert main(["assets", "export", "--dir", str(tmp_path)]) == Exit.OK

    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(shipped())
    assert {path.parts[0] for path in written} <= {folder for folders in KINDS.values() for folder in folders}


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "taken").write_text("", encoding="utf-8")

    assert main(["assets", "export", "--dir", str(tmp_path / "taken")]) == Exit.CONFIGURATION
    assert capsys.readouterr().err.count("\n") == 1


def test_the_wheel_puts_the_files_where_the_command_looks() -> None:
    """The folder named in pyproject.toml is the first that the command tries."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    place = build["force-include"]["dashboards/generated"]

    assert ROOT / place == FOLDERS[0]


def _installed(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command run on a package that lies alone in that folder, as a wheel's does."""
    argv = [sys.executable, "-m", "exporter", "assets", "export", "--dir", "out"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_an_installed_package_needs_no_clone(tmp_path: Path) -> None:
    """Laid out as the wheel lays it out, with nothing beside it."""
    shutil.copytree(ROOT / "exporter", tmp_path / "exporter", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(GENERATED, tmp_path / "exporter/generated")

    assert _installed(tmp_path).returncode == Exit.OK
    assert (tmp_path / "out/dashboards/fabric-fleet.json").is_file()


def test_an_installation_without_files_says_so(tmp_path: Path) -> None:
    """In one line that names where it looked."""
    shutil.copytree(ROOT / "exporter", tmp_path / "exporter", ignore=shutil.ignore_patterns("__pycache__"))

    done = _installed(tmp_path)

    assert done.returncode == Exit.CONFIGURATION
    assert "this installation has no boards and rules" in done.stderr
    assert done.stderr.count("\n") == 1
