"""The catalogue as a whole: names that are unique, valid and say their unit."""

import re
from dataclasses import replace

import pytest

from exporter.catalog import CATALOGUE, catalogue
from exporter.catalog.infiniband import CLAMPS, CLAMPS_32, PORT_COUNTERS, RATE, STATE
from exporter.model.metric import BUCKET, ENTITY_LABELS, RESERVED_LABELS, Kind, Metric, Unit

ROWS = list(CATALOGUE.values())
row_of = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)


def _unit_said(name: str) -> Unit:
    """The unit whose suffix a public name carries; the longest wins (`bytes_per_second` over `seconds`)."""
    stem = name.removesuffix("_total")
    said = [unit for unit in Unit if unit.value and stem.endswith("_" + unit.value)]
    return max(said, key=lambda unit: len(unit.value), default=Unit.COUNT)


def test_keys_names_and_help_texts_are_unique() -> None:
    """Two rows that look alike to a reader would be one too many."""
    assert len({row.key for row in ROWS}) == len({row.name for row in ROWS}) == len({row.help for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("column", ["key", "name", "help"])
def test_a_second_row_with_the_same_column_is_refused(column: str) -> None:
    """Each of key, name and help must differ."""
    first, second = RATE, replace(RATE, key="other", name="fabric_other_bytes_per_second", help="Another help.")
    twin = replace(second, **{column: getattr(first, column)})

    with pytest.raises(ValueError, match=f"share the {column}"):
        catalogue([first, twin])


@row_of
def test_the_suffix_of_a_name_is_its_unit(row: Metric) -> None:
    """Both ways: a name carries its row's unit, and no name carries a unit that its row does not have."""
    assert _unit_said(row.name) is row.unit


@row_of
def test_names_and_labels_are_valid_for_prometheus(row: Metric) -> None:
    """Only what every scraper of text format 0.0.4 reads without quoting."""
    valid = re.compile(r"[a-z][a-z0-9_]*")

    assert all(valid.fullmatch(word) for word in (row.name, *row.labels))


@row_of
def test_no_label_belongs_to_the_scrape_configuration(row: Metric) -> None:
    """`job`, `instance`, `node`, `pod` … would come out as `exported_*` (NVIDIA/gpu-operator#2938)."""
    assert not set(row.labels) & RESERVED_LABELS


@row_of
def test_entity_labels_come_first(row: Metric) -> None:
    """Device and port stand before a row's own labels, so that pages read alike."""
    entity = tuple(label for label in row.labels if label in ENTITY_LABELS and "device" in row.labels)

    assert row.labels[: len(entity)] == entity
    part = (BUCKET,) if row.kind is Kind.HISTOGRAM else ()
    assert (*row.labels[len(entity) :], *part) == row.own_labels


@row_of
def test_help_is_one_sentence_or_more(row: Metric) -> None:
    """Ends with a full stop and begins like a sentence."""
    assert row.help.endswith(".")
    assert not row.help[0].islower()


@row_of
def test_scale_turns_the_raw_number_into_a_positive_base_unit(row: Metric) -> None:
    """A counter in other than base units must still be exact: its scale is a whole number."""
    assert row.scale > 0
    assert row.kind is not Kind.COUNTER or row.scale == int(row.scale)


def test_every_clamp_belongs_to_a_counter_file() -> None:
    """A clamp under a misspelt file name would never bite."""
    files = {row.raw.removeprefix("counters/") for row in PORT_COUNTERS}

    assert set(CLAMPS) | set(CLAMPS_32) <= files


def test_clamps_are_all_ones() -> None:
    """IBTA PMA counters stop at 2^n - 1."""
    assert [clamp for clamp in (*CLAMPS.values(), *CLAMPS_32.values()) if clamp & (clamp + 1)] == []


def test_state_rows_say_in_their_help_what_each_number_means() -> None:
    """A state is a number on the page; its reader needs the words beside it."""
    assert "4 active" in STATE.help
