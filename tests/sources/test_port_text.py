"""The grammar of attribute text: what is understood, and that nothing else is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.model.fault import Reason
from exporter.model.quantity import UINT64_MAX
from exporter.sources.port_text import LOGICAL_STATES, PHYSICAL_STATES, Rate, number_of, numbers_of, rate_of, state_of

KERNEL_LANE_DECIGBIT = {"SDR": 25, "DDR": 50, "QDR": 100, "FDR10": 100, "FDR": 140, "EDR": 250, "HDR": 500, "NDR": 1000, "XDR": 2000}
"""Tenths of Gb/s a lane as torvalds/linux drivers/infiniband/core/sysfs.c (rate_show) has them."""

WIDTHS = (1, 2, 4, 8, 12)


def _kernel_rate(decigbit: int, width: int, generation: str | None) -> bytes:
    """The text that rate_show prints; without a generation as kernels before 4.x do for SDR."""
    half = ".5" if decigbit % 10 else ""
    word = "" if generation is None else f" {generation}"
    return f"{decigbit // 10}{half} Gb/sec ({width}X{word})\n".encode()


@given(st.integers(0, UINT64_MAX))
def test_a_number_reads_back_as_it_was_printed(number: int) -> None:
    """parse∘format is the identity for every unsigned 64-bit number."""
    assert number_of(b"%d\n" % number) == number


@given(st.lists(st.integers(0, UINT64_MAX), min_size=1))
def test_numbers_read_together_as_they_were_printed(numbers: list[int]) -> None:
    """The quick way over a whole folder agrees with the slow one."""
    assert numbers_of([b"%d\n" % number for number in numbers]) == numbers


@given(st.lists(st.one_of(st.binary(max_size=30), st.integers(0, 2**70).map(b"%d\n".__mod__)), min_size=1, max_size=5))
@example([b"12\n13"])
@example([b""])
@example([b"\n"])
def test_the_quick_way_accepts_only_what_the_slow_way_accepts(raws: list[bytes]) -> None:
    """Where numbers_of gives values, they are number_of's."""
    together = numbers_of(raws)

    assert together is None or together == [number_of(raw) for raw in raws]


@given(st.binary(max_size=128))
@example("٣٤".encode())
@example("٤: ACTIVE".encode())
@example(b"4:")
@example(b"\xff: \xfe")
def test_no_bytes_make_a_parser_raise(raw: bytes) -> None:
    """A driver may print anything: each parser answers with a value or says that it is none."""
    number, state, rate = number_of(raw), state_of(raw, LOGICAL_STATES), rate_of(raw)

    assert number in (Reason.PARSE, Reason.UNSUPPORTED) or 0 <= number <= UINT64_MAX
    assert state is None or 0 <= state <= 999
    assert rate is None or rate.bytes_per_s >= 0


@pytest.mark.parametrize(
    "text",
    ["", "\n", "abc", "-3", "-0", "+5", "1_000", "3.0", "0x1f", "12\n13", "1 2", "٣٤", "²", "18446744073709551616", "nan", "7" * 128],
)
def test_text_that_is_no_unsigned_64_bit_number_is_refused(text: str) -> None:
    """Python's int() would take some of these."""
    assert number_of(text.encode()) is Reason.PARSE
    assert numbers_of([b"1\n", text.encode()]) is None


@pytest.mark.parametrize(("text", "number"), [("0\n", 0), ("42", 42), ("42  \n", 42), ("007\n", 7), ("18446744073709551615\n", UINT64_MAX)])
def test_plain_numbers_are_taken(text: str, number: int) -> None:
    """Blanks around and zeros before do no harm."""
    assert number_of(text.encode()) == number


@pytest.mark.parametrize("text", ["N/A (no PMA)\n", "N/A\n"])
def test_not_available_is_unsupported_and_no_parse_error(text: str) -> None:
    """Kernels before about 4.20 print it where later ones answer EINVAL (prometheus/node_exporter#966)."""
    assert number_of(text.encode()) is Reason.UNSUPPORTED


@pytest.mark.parametrize("words", [LOGICAL_STATES, PHYSICAL_STATES], ids=["state", "phys_state"])
@given(number=st.integers(0, 99), word=st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), max_size=20))
def test_a_state_with_a_number_is_that_number_whatever_its_word(words: dict[str, int], number: int, word: str) -> None:
    """The fixture of procfs has `4: ACTIVE` as a physical state; the kernel prints `<unknown>` for what it has no word for."""
    assert state_of(f"{number}: {word}\n".encode(), words) == number


@pytest.mark.parametrize(
    ("text", "words", "number"),
    [
        ("4: ACTIVE", LOGICAL_STATES, 4),
        ("1: DOWN", LOGICAL_STATES, 1),
        ("5: ACTIVE_DEFER", LOGICAL_STATES, 5),
        ("4: ACTIVE ()", LOGICAL_STATES, 4),
        ("11: UNKNOWN", LOGICAL_STATES, 11),
        ("DOWN", LOGICAL_STATES, 1),
        ("Disabled", PHYSICAL_STATES, 3),
        ("5: LinkUp", PHYSICAL_STATES, 5),
        ("5: LINK_UP", PHYSICAL_STATES, 5),
        ("LINK_UP", PHYSICAL_STATES, 5),
        ("7: Phy Test", PHYSICAL_STATES, 7),
        ("Phy Test", PHYSICAL_STATES, 7),
        ("9: <unknown>", PHYSICAL_STATES, 9),
    ],
)
def test_state_texts_seen_in_the_field_are_understood(text: str, words: dict[str, int], number: int) -> None:
    """The kernel's, and those of drivers and trees that leave out number or word."""
    assert state_of(f"{text}\n".encode(), words) == number


@pytest.mark.parametrize("text", ["", "ready", "<unknown>", "-1: DOWN", "1234: DOWN", "٤: ACTIVE", "4: ACTIVE\n4: ACTIVE"])
def test_state_texts_that_name_no_state_are_none(text: str) -> None:
    """Absent, never guessed."""
    assert state_of(text.encode(), LOGICAL_STATES) is None


@given(st.sampled_from(sorted(KERNEL_LANE_DECIGBIT)), st.sampled_from(WIDTHS))
def test_a_rate_reads_back_as_the_kernel_printed_it(generation: str, width: int) -> None:
    """parse∘format is the identity for all the kernel can print: value to the byte, width and generation."""
    decigbit = KERNEL_LANE_DECIGBIT[generation] * width

    assert rate_of(_kernel_rate(decigbit, width, generation)) == Rate(decigbit * 12_500_000, width, generation)


@given(st.integers(0, 10**7 - 1), st.integers(0, 10**6 - 1))
def test_a_rate_with_decimals_is_exact_to_the_byte(whole: int, millionths: int) -> None:
    """No byte is lost to binary fractions (`0.3 Gb/sec` is 37500000 bytes a second, not 37499999)."""
    rate = rate_of(f"{whole}.{millionths:06} Gb/sec\n".encode())

    assert rate is not None
    assert rate.bytes_per_s == whole * 125_000_000 + millionths * 125


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("2.5 Gb/sec (1X SDR)", Rate(312_500_000, 1, "SDR")),
        ("10 Gb/sec (4X)", Rate(1_250_000_000, 4, "SDR")),
        ("40 Gb/sec (4X)", Rate(5_000_000_000, 4, None)),
        ("400 Gb/sec (8X HDR)", Rate(50_000_000_000, 8, "HDR")),
        ("1600 Gb/sec (8X XDR)", Rate(200_000_000_000, 8, "XDR")),
        ("400 Gb/sec", Rate(50_000_000_000, None, None)),
        ("0 Gb/sec", Rate(0, None, None)),
        ("100 Gb/sec (0X EDR)", Rate(12_500_000_000, None, "EDR")),
    ],
)
def test_rate_texts_seen_in_the_field_are_understood(text: str, rate: Rate) -> None:
    """What the text does not say is None; a naive pattern reads 2.5 as 5 (MrBr-github/lshca#79)."""
    assert rate_of(f"{text}\n".encode()) == rate


@pytest.mark.parametrize(
    "text", ["", "fast (very)", "400", "-400 Gb/sec", "400 Gb/sec (4X NDR) extra", "9" * 40 + " Gb/sec", "٤ Gb/sec", "nan Gb/sec"]
)
def test_texts_that_are_no_rate_are_none(text: str) -> None:
    """Absent, never guessed."""
    assert rate_of(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "gbit"),
    [
        ("2.5 Gb/sec (1X SDR)", 2),
        ("20 Gb/sec (4X DDR)", 16),
        ("40 Gb/sec (4X QDR)", 32),
        ("40 Gb/sec (4X FDR10)", 40),
        ("56 Gb/sec (4X FDR)", 56 * 64 / 66),
        ("100 Gb/sec (4X EDR)", 100),
        ("400 Gb/sec (4X NDR)", 400),
        ("800 Gb/sec (4X XDR)", 800),
    ],
)
def test_line_coding_is_taken_off_on_infiniband(text: str, gbit: float) -> None:
    """8b/10b up to QDR, 64b/66b at FDR; from EDR on the kernel prints the data rate (IBTA volume 1)."""
    rate = rate_of(text.encode())

    assert rate is not None
    assert rate.data_bytes_per_s(coded=True) == pytest.approx(gbit * 125_000_000)


def test_line_coding_is_not_taken_off_on_ethernet() -> None:
    """A 10GbE NIC prints `10 Gb/sec (1X QDR)`, and that is 10 Gb/s of data."""
    rate = rate_of(b"10 Gb/sec (1X QDR)")

    assert rate is not None
    assert rate.data_bytes_per_s(coded=False) == 1_250_000_000


def test_the_rate_of_one_lane_needs_a_width() -> None:
    """Unknown, not the whole."""
    known, unknown = rate_of(b"400 Gb/sec (4X NDR)"), rate_of(b"400 Gb/sec")

    assert known is not None
    assert unknown is not None
    assert (known.lane_bytes_per_s, unknown.lane_bytes_per_s) == (12_500_000_000, None)
