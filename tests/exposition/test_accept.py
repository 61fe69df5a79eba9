"""Content negotiation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.exposition.accept import accepts_gzip, wants_openmetrics

PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize("accept", ["", PROMETHEUS, "*/*", "text/plain", "text/*;q=0.1, application/openmetrics-text", "text/html",
                                    "application/json", "*/*;q=0.1, application/openmetrics-text", "application/openmetrics-text;q=0",
                                    "TEXT/Plain", ",,;;,=", "application/*;q=0"])  # fmt: skip
def test_text_format_goes_to_whoever_can_take_it(accept: str) -> None:
    """Also to a client that says nothing or asks for what we do not have."""
    assert not wants_openmetrics(accept)


@pytest.mark.parametrize("accept", ["application/openmetrics-text", "application/openmetrics-text; version=1.0.0; charset=utf-8",
                                    "Application/OpenMetrics-Text;q=0.1", "application/openmetrics-text, text/plain;q=0", "application/*",
                                    "text/plain;q=0, */*", "application/openmetrics-text, */*;q=0"])  # fmt: skip
def test_openmetrics_goes_to_a_client_that_takes_nothing_else(accept: str) -> None:
    """The most specific range decides (RFC 9110 section 12.5.1)."""
    assert wants_openmetrics(accept)


@pytest.mark.parametrize("header", ["gzip", "GZIP", "deflate, gzip;q=0.5", "*", "gzip;q=1.0, *;q=0", "br, *;q=0.1", "gzip;q=0.001",
                                    "gzip;q=x"])  # fmt: skip
def test_gzip_is_used_where_it_is_accepted(header: str) -> None:
    """By name or by the star; a weight that is no number counts as 1."""
    assert accepts_gzip(header)


@pytest.mark.parametrize("header", ["", "identity", "deflate, br", "gzip;q=0", "gzip; q=0.000", "gzip;q=0, *", "*;q=0", "gzip;q=nan",
                                    "gzip;q=-1"])  # fmt: skip
def test_gzip_is_not_used_where_it_is_not_accepted(header: str) -> None:
    """A weight of 0 means never."""
    assert not accepts_gzip(header)


@given(st.text(max_size=200) | st.text(st.sampled_from(list('gzip*;q=0.1, "/')), max_size=60))
def test_any_header_is_answered(header: str) -> None:
    """Never an exception."""
    assert accepts_gzip(header) in (True, False)
    assert wants_openmetrics(header) in (True, False)
