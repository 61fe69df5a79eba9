"""The house stands as drawn: layers, bans, sizes, docstrings, and nothing of the place where it was built."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requires import lacking, need

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "exporter"
BIN = Path(sys.executable).parent
MAX_LINES = 300
EMPTY_WORDS = re.compile(r"^(utils?|helpers?|common|managers?|handlers?|data|base_.*)$")
PLACES = re.compile(r"(?<![\w.~-])/wor[k]/|/simpl[e]/?(?=[\s\"'#]|$)|//registr[y][.-]|index[-_]ur[l]|extra[-_]inde[x]", re.MULTILINE)
"""Absolute paths of one machine, and addresses of package registries (lock files carry them). Spelt so as not to match itself."""


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def tracked_files() -> list[Path]:
    """Files of the repository as git sees them, those not yet added included."""
    argv = [need("git", "apt-get install git"), "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=False)
    if listed.returncode:
        lacking("this is not a git clone: git clone the repository to check what it holds")
    return [path for name in sorted(set(listed.stdout.split("\0"))) if name and (path := ROOT / name).is_file()]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the package in that folder, by the contracts of its pyproject.toml."""
    argv = [str(BIN / "lint-imports"), "--no-logo", "--no-cache"]
    wide = {**os.environ, "COLUMNS": "500"}  # it folds its lines to the terminal otherwise
    return subprocess.run(argv, cwd=folder, env=wide, capture_output=True, text=True, timeout=100, check=False)


def ruff_says(path: str, text: str) -> str:
    """What ruff's banned names have to say about a text that would stand at that path."""
    argv = [str(BIN / "ruff"), "check", "--no-cache", "--select", "TID251", "--output-format", "concise", "--stdin-filename", path, "-"]
    return subprocess.run(argv, cwd=ROOT, input=text, capture_output=True, text=True, timeout=100, check=False).stdout


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to plant mistakes in."""
    shutil.copytree(PACKAGE, tmp_path / "exporter", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_of_the_house_is_kept() -> None:
    """Layers point downwards and each special import stays in its place."""
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("model/metric.py", "import exporter.catalog", "An arrow may only point downwards"),
        ("sources/sysfs.py", "import exporter.exposition", "An arrow may only point downwards"),
        ("sources/sysfs.py", "import exporter.runtime.clock", "An arrow may only point downwards"),
        ("runtime/clock.py", "import prometheus_client", "prometheus_client only in exposition/"),
        ("sources/sysfs.py", "import pynvml", "pynvml only in sources/nvml_calls.py"),
        ("web/guard.py", "import bcrypt", "bcrypt only in web/passwords.py"),
        ("sources/sysfs.py", "import subprocess", "Subprocesses only in probes/ and runtime/"),
        ("sources/sysfs.py", "import exporter.config", "config is read by cli and runtime only"),
        ("recorder/rows.py", "import exporter.signals", "The recorder knows no rule"),
        ("runtime/clock.py", "import grafanalib", "The daemon never imports drawing"),
        ("cli/assets.py", "import dashboards", "The daemon never imports drawing"),
    ],
)
def test_a_misplaced_import_breaks_its_contract(house: Path, module: str, line: str, contract: str) -> None:
    """Planted in a copy of the house, the import is reported under the contract's name: the contracts are not idle."""
    path = house / "exporter" / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")

    done = lint_imports(house)

    assert done.returncode == 1
    assert re.search(rf"^{re.escape(contract)}.* BROKEN", done.stdout, re.MULTILINE), done.stdout


def test_a_folder_that_no_layer_names_is_reported(house: Path) -> None:
    """A new package must take its place in the drawing before it can import anything."""
    (house / "exporter/attic").mkdir()
    (house / "exporter/attic/__init__.py").write_text('"""Attic."""\n', encoding="utf-8")

    done = lint_imports(house)

    assert done.returncode == 1
    assert "attic" in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "import time; time.time()",
        "from time import monotonic",
        "import time; time.sleep(1)",
        "from datetime import datetime; datetime.now()",
    ],
)
def test_a_clock_read_outside_runtime_is_reported_with_the_reason(line: str) -> None:
    """Sources, rules and edges get the time as a parameter, so that virtual time reaches them."""
    assert "TID251" in ruff_says("exporter/sources/planted.py", line + "\n")


def test_runtime_may_read_the_clock() -> None:
    """The one place."""
    assert "TID251" not in ruff_says("exporter/runtime/planted.py", "import time; time.time()\n")


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    """At most 300 lines; what grows past that knows two things."""
    too_long = {str(path): lines for path in modules() if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES}

    assert too_long == {}


def test_every_module_says_what_it_knows() -> None:
    """Each module of the package begins with a docstring."""
    silent = [str(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]

    assert silent == []


def test_no_module_has_a_name_without_meaning() -> None:
    """A module is named by what it knows: no utils, helpers, common, manager, handler."""
    nameless = [str(path) for path in modules() if EMPTY_WORDS.match(path.stem) or EMPTY_WORDS.match(path.parent.name)]

    assert nameless == []


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    """What is committed works anywhere: no index addresses, no absolute paths of the machine it was written on."""
    found = {str(path): match[0] for path in tracked_files() if (match := PLACES.search(path.read_text("utf-8", errors="replace")))}

    assert found == {}


@pytest.mark.parametrize(
    "text", ["see /wor" + "k/main", "https://pypi.example/simpl" + "e/", "--index" + "-url=x", "https://registr" + "y.example"]
)
def test_the_search_for_places_finds_them(text: str) -> None:
    """The pattern is not idle."""
    assert PLACES.search(text)


def suite() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every test function of the suite with its file."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield path, node


def test_every_test_says_which_behaviour_it_holds() -> None:
    """A docstring on each test function."""
    silent = [f"{path}:{node.lineno} {node.name}" for path, node in suite() if not ast.get_docstring(node)]

    assert silent == []


def test_every_skip_goes_through_requires() -> None:
    """A bare skip would stay a skip under FABRIC_NO_SKIP=1, where nothing may be missing."""
    bare = re.compile(r"pytest\.ski[p]\(|importorski[p]|mark\.ski[p]")
    allowed = {ROOT / "tests/requires.py"}
    found = [str(path) for path in (ROOT / "tests").rglob("*.py") if path not in allowed and bare.search(path.read_text("utf-8"))]

    assert found == []


def test_every_decision_stands_in_the_index() -> None:
    """docs/decisions/README.md links each page beside it."""
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    missing = [path.name for path in folder.glob("[0-9]*.md") if f"({path.name})" not in index]

    assert missing == []
