"""Moments as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.moment import MOMENT_MAX_S, format_moment, parse_moment

NOW_S = 1_772_388_000.0


@pytest.mark.parametrize(("text", "moment_s"), [
    ("2026-03-01T18:00:00Z", 1_772_388_000.0), ("2026-03-01T19:00:00+01:00", 1_772_388_000.0), ("2026-03-01 18:00:00.5Z", 1_772_388_000.5),
    ("1772388000", 1_772_388_000.0), ("1772388000.25", 1_772_388_000.25), ("0", 0.0), ("-2h", NOW_S - 7200), ("-1d2h30m", NOW_S - 95_400),
    ("-0s", NOW_S), ("now", NOW_S),
])  # fmt: skip
def test_a_moment_is_read_as_unix_seconds(text: str, moment_s: float) -> None:
    """RFC 3339, Unix seconds, or so long ago."""
    assert parse_moment(text, NOW_S) == moment_s


@pytest.mark.parametrize("text", [
    "", "-", "2h", "-2", "-2x", "-1h2d", "yesterday", "2026-13-01T00:00:00Z", "1e9", "999999999999", "-1700000000", "-١h",
    "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z",
])  # fmt: skip
def test_what_is_no_moment_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match=r"expected a time such as 2026-03-01T02:14:07Z, -2h or Unix seconds, got"):
        parse_moment(text, NOW_S)


@pytest.mark.parametrize("text", ["2026-03-01T18:00:00", "2026-03-01"])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    """A recording is read in another time zone than it was made in."""
    with pytest.raises(ValueError, match="names no time zone: write"):
        parse_moment(text, NOW_S)


@given(st.integers(0, int(MOMENT_MAX_S) * 1000))
def test_what_is_written_is_read_back(moment_ms: int) -> None:
    """To the millisecond."""
    assert parse_moment(format_moment(moment_ms / 1000), NOW_S) == pytest.approx(moment_ms / 1000, abs=1e-3)


def test_what_is_no_time_is_shown_as_a_number() -> None:
    """A recording may hold anything."""
    assert format_moment(-5.0) == "-5"
    assert format_moment(float("nan")) == "nan"
