"""The reference names every series of the catalogue."""

import pytest

from exporter.catalog import CATALOGUE
from exporter.catalog.ethernet_events import ETHERNET_EVENTS
from exporter.catalog.ethtool_names import LEFT_OUT
from exporter.catalog.hw_events import HW_EVENTS_KNOWN
from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.metrics import areas


@pytest.fixture(params=[["metrics"], ["metrics", "--markdown"]], ids=["plain", "markdown"])
def reference(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(request.param) == Exit.OK
    return capsys.readouterr().out


def test_every_row_is_named(reference: str) -> None:
    """Both forms are complete."""
    assert [row.name for row in CATALOGUE.values() if row.name not in reference] == []


def test_every_known_driver_event_is_explained(reference: str) -> None:
    """The label `event` needs its table, for either metric that has it."""
    events = {**HW_EVENTS_KNOWN, **ETHERNET_EVENTS}

    assert [name for name, event in events.items() if name not in reference or event.help not in reference] == []


def test_every_statistic_left_out_has_its_reason(reference: str) -> None:
    """Who misses a counter of `ethtool -S` finds out why."""
    shown = reference.replace("\\|", "|")

    assert [pattern for left in LEFT_OUT.values() for pattern, why in left.items() if pattern not in shown or why not in shown] == []


def test_series_of_the_client_library_are_mentioned(reference: str) -> None:
    """Nobody should wonder where process_* comes from."""
    assert "process_*" in reference
    assert "python_info" in reference


def test_markdown_states_every_fact_of_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Type, unit, labels, tier, where it is found, what absence means."""
    main(["metrics", "--markdown"])

    entry = capsys.readouterr().out.split("### `fabric_infiniband_port_data_transmitted_bytes_total`")[1].split("###")[0]
    facts = [line.partition(":")[0] for line in entry.splitlines() if line.startswith("- ")]
    assert facts == ["- type", "- unit", "- labels", "- tier", "- found in", "- no series"]


def test_every_table_of_the_page_keeps_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """A bar within a pattern would open a column of its own."""
    main(["metrics", "--markdown"])

    tables = [block.splitlines() for block in capsys.readouterr().out.split("\n\n") if block.startswith("|")]
    assert len(tables) == 6
    assert [len({row.replace("\\|", "").count("|") for row in table}) for table in tables] == [1] * 6


def test_every_row_stands_under_a_heading_of_its_own() -> None:
    """A new prefix wants a new heading, not `Other`."""
    assert "Other" not in areas()


def test_every_row_stands_in_one_area_only() -> None:
    """Grouping loses and doubles nothing."""
    assert sorted(row.key for rows in areas().values() for row in rows) == sorted(CATALOGUE)
