"""The operator's table of rails: what it may say, and what a line that makes no sense costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.rail_table import COMPLAINTS_MAX, RailTable, parse_rail_line, parse_rail_table
from exporter.model.rails import ROLES, Stated


def test_a_table_states_rails_and_roles() -> None:
    """With a head line, comments, blanks, a byte order mark and the line ends of another system."""
    text = "\ufeffdevice,rail,role\r\n# pool a\r\nmlx5_0,0\r\n\r\nmlx5_1 , leaf-3/b , compute  # second\r\nmlx5_8,,storage\r\n"
    expected = {"mlx5_0": Stated("0"), "mlx5_1": Stated("leaf-3/b", "compute"), "mlx5_8": Stated("", "storage")}

    assert parse_rail_table(text) == RailTable(expected)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("mlx5_0", "expected device,rail or device,rail,role"),
        ("mlx5_0,1,compute,gpu0", "expected device,rail or device,rail,role"),
        (",3", "expected the name of a device first"),
        ("mlx5 0,3", "expected the name of a device first"),
        ("mlx5_0,rail 3", "expected a number or a word as the rail"),
        ("mlx5_0,3,gradients", "expected storage, management or compute as the role"),
        ("mlx5_0,", "expected a rail or a role for mlx5_0"),
        ("mlx5_0,,", "expected a rail or a role for mlx5_0"),
        (f"{'x' * 64},1", "expected the name of a device first"),
        ("mlx5_0,\x1b[31m3", "expected a number or a word as the rail"),
    ],
)
def test_a_line_that_makes_no_sense_costs_only_itself(line: str, complaint: str) -> None:
    """And is named by its number, what was expected, what it says, on one line without control characters."""
    table = parse_rail_table(f"mlx5_4,4\n{line}\nmlx5_5,5\n")

    assert table.stated == {"mlx5_4": Stated("4"), "mlx5_5": Stated("5")}
    assert len(table.complaints) == 1
    assert table.complaints[0].startswith(f"line 2: {complaint}")
    assert table.complaints[0].isprintable()


def test_a_device_that_is_named_twice_keeps_its_first_line() -> None:
    """A line that says the same again is no mistake."""
    table = parse_rail_table("mlx5_0,0\nmlx5_0,0\nmlx5_0,1\n")

    assert table.stated == {"mlx5_0": Stated("0")}
    assert table.complaints == ("line 3: mlx5_0 stands in an earlier line with something else; the line is left out",)


def test_a_file_of_junk_does_not_fill_the_log() -> None:
    """A bounded number of complaints, the last of which says how many more there are."""
    complaints = parse_rail_table("junk\n" * 1000).complaints

    assert len(complaints) == COMPLAINTS_MAX + 1
    assert complaints[-1].startswith("980 more lines")


words = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,20}", fullmatch=True)


@given(words, words, st.sampled_from(["", *ROLES]))
def test_a_line_says_what_was_written(device: str, rail: str, role: str) -> None:
    """Parsing what was formatted gives it back."""
    assert parse_rail_line(f"{device},{rail},{role}") == (device, Stated(rail, role))


@given(st.text())
def test_any_text_is_read_without_error(text: str) -> None:
    """Whatever somebody's spreadsheet made of it."""
    table = parse_rail_table(text)

    assert all(line.isprintable() for line in table.complaints)
