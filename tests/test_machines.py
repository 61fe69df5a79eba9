"""Golden pages: each machine fixture has one exact page, and together they show every row that a machine can show."""

import difflib
import re

import pytest

from exporter.catalog import CATALOGUE, internals
from tests.golden import golden_page
from tests.machine import MACHINES, machine_names, parsed
from tests.real.promtool import lint_metrics

NEEDS_DAEMON = frozenset(
    row.key
    for row in (
        internals.BUILD_INFO,
        internals.SIMULATED,
        internals.SERIES,
        internals.SERIES_DROPPED,
        internals.STATE_WRITABLE,
        internals.RELOAD_OK,
        internals.RELOAD_TIME,
        internals.GPUS_RELEASED,
        internals.GPU_PROCESS_STUCK,
    )
)
"""Rows about the process that serves the page: a machine fixture has none."""

SAMPLE = re.compile(r"[a-z0-9_]+(?:\{.*\})? \S+")


@pytest.mark.parametrize("name", machine_names())
def test_page_of_a_machine_is_its_golden_text(name: str) -> None:
    """Any change of a page is seen in a diff and made on purpose."""
    path = MACHINES / f"{name}.prom"
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    page = golden_page(name)

    diff = difflib.unified_diff(expected.splitlines(), page.splitlines(), path.name, "now", lineterm="", n=0)
    assert page == expected, "python -m tests.golden --update, if this is meant:\n" + "\n".join(diff)


def test_no_golden_text_is_left_without_its_machine() -> None:
    """A page whose machine was renamed would be compared with nothing."""
    pages = sorted(path.stem for path in MACHINES.glob("*.prom"))

    assert pages == machine_names()


@pytest.mark.parametrize("name", machine_names())
def test_every_line_of_a_golden_page_parses(name: str) -> None:
    """prometheus_client reads as many distinct samples as the page has sample lines; every other line is HELP or TYPE."""
    lines = (MACHINES / f"{name}.prom").read_text(encoding="utf-8").splitlines()
    samples = [line for line in lines if not line.startswith(("# HELP ", "# TYPE "))]

    assert all(SAMPLE.fullmatch(line) for line in samples)
    assert len(parsed("\n".join(lines) + "\n")) == len(samples)


@pytest.mark.parametrize("name", machine_names())
def test_promtool_has_nothing_to_say_about_a_golden_page(name: str) -> None:
    """`promtool check metrics` also lints names, units and help texts."""
    page = (MACHINES / f"{name}.prom").read_text(encoding="utf-8")

    assert lint_metrics(page) == []


@pytest.mark.parametrize("key", [row.key for row in CATALOGUE.values() if row.captured and row.key not in NEEDS_DAEMON])
def test_row_of_the_catalogue_is_shown_by_some_machine(key: str) -> None:
    """A row that no machine shows is either marked `captured=False` or untested."""
    head = f"# TYPE {CATALOGUE[key].name} "

    assert any(head in path.read_text(encoding="utf-8") for path in MACHINES.glob("*.prom"))


def test_no_machine_fixture_makes_the_program_err() -> None:
    """Trouble with hardware has a reason; `bug` is ours."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in MACHINES.glob("*.prom")}

    assert [name for name, page in pages.items() if 'reason="bug"} 0' not in page] == []
