"""A probe's report crosses from one process to another whole, and nothing else is taken for one."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probes.report import Report
from exporter.probes.report_document import document_of, report_in
from tests.probes.reports import GOOD, reports

_scalar = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_json = st.recursive(
    _scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5
)


@given(reports())
def test_every_report_comes_out_as_it_went_in(report: Report) -> None:
    """Through JSON's text."""
    assert report_in(json.loads(json.dumps(document_of(report)))) == report


@given(st.lists(st.sampled_from(sorted(document_of(GOOD))), min_size=1, max_size=2), _json)
def test_a_document_with_anything_in_a_field_is_a_report_or_one_value_error(fields: list[str], anything: Any) -> None:
    """It may come from another version, or from somebody who may write to the socket."""
    document = document_of(GOOD) | dict.fromkeys(fields, anything)

    found: object = None
    with suppress(ValueError):
        found = report_in(json.loads(json.dumps(document)))
    assert found is None or isinstance(found, Report)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2), ("outcome", "fine"), ("reason", "gpu_busy"), ("kind", "moon"), ("started_wall_s", -1),
        ("started_wall_s", float("nan")),
        ("sent_bytes", 1.5), ("gpu_s", True), ("detail", "x" * 501), ("gpus", ["gpu0"] * 5000), ("phases_s", {"init": "2"}),
        ("suspects", [{"scope": "moon", "id": "1", "words": ""}]), ("transport", {"net": "IB"}), ("contended", 1),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_field_is_refused(field: str, value: object) -> None:
    """Never taken for something near it."""
    with pytest.raises(ValueError, match="no report of a probe"):
        report_in(document_of(GOOD) | {field: value})


@pytest.mark.parametrize("document", [None, [], "report", {}, {"version": 1}])
def test_what_is_no_document_at_all_is_refused(document: object) -> None:
    """In one line."""
    with pytest.raises(ValueError, match="no report of a probe"):
        report_in(document)
