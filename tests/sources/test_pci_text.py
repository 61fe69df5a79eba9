"""The grammar of PCI attribute text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.pcie import AER_KINDS
from exporter.model.fault import Reason
from exporter.sources.pci_text import aer_of, lanes_of, speed_of

COUNTS = st.integers(0, 2**64 - 1)
KIND_NAMES = st.text("ABCDEFGHabcdefgh[]0123456789", min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("text", "gigatransfers"),
    [("2.5 GT/s PCIe", 2.5), ("5.0 GT/s PCIe", 5), ("8.0 GT/s PCIe", 8), ("16.0 GT/s PCIe", 16), ("32.0 GT/s PCIe", 32),
     ("64.0 GT/s PCIe", 64), ("128.0 GT/s PCIe", 128), ("2.5 GT/s", 2.5), ("8 GT/s", 8), ("16 GT/s", 16)],
)  # fmt: skip
def test_a_speed_is_transfers_per_second_exactly(text: str, gigatransfers: float) -> None:
    """Of today's kernels, and of those before 5.7, which print no PCIe behind it and no decimal."""
    assert speed_of(text.encode() + b"\n") == gigatransfers * 10**9


@pytest.mark.parametrize("text", ["Unknown", "Unknown speed"])
def test_an_unknown_speed_is_no_speed(text: str) -> None:
    """The kernel's words for a link that is not PCIe, not trained or not there."""
    assert speed_of(text.encode() + b"\n") is Reason.UNSUPPORTED


@pytest.mark.parametrize(
    "text",
    ["", "fast", "32.0", "-8.0 GT/s PCIe", "8.0 GT/s PCIe x16", "0 GT/s", "0.0 GT/s PCIe", "1000 GT/s", "66 MHz PCI-X", "1e3 GT/s"],
)
def test_other_text_is_no_speed(text: str) -> None:
    """PCI-X too: its bus is shared, there is no link."""
    assert speed_of(text.encode() + b"\n") is Reason.PARSE


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 12, 16, 32])
def test_a_width_is_its_number(lanes: int) -> None:
    """Every width PCIe has had."""
    assert lanes_of(b"%d\n" % lanes) == lanes


@pytest.mark.parametrize("text", ["0", "63", "255"])
def test_an_unknown_width_is_no_width(text: str) -> None:
    """No link; all ones, as a GPU answers that fell off the bus; PCIE_LNK_WIDTH_UNKNOWN."""
    assert lanes_of(text.encode() + b"\n") is Reason.UNSUPPORTED


@pytest.mark.parametrize("text", ["", "x16", "-16", "+8", "1_6", "16.0", "33", "999", "٨", "16 lanes", "0016"])
def test_other_text_is_no_width(text: str) -> None:
    """Python's int() would take some of them."""
    assert lanes_of(text.encode() + b"\n") is Reason.PARSE


@given(st.binary(max_size=5000))
def test_no_bytes_make_a_reader_err(raw: bytes) -> None:
    """Whatever a file says: a number in range or a Reason."""
    speed, lanes = speed_of(raw), lanes_of(raw)

    assert isinstance(speed, Reason) or 0 < speed < 10**12
    assert isinstance(lanes, Reason) or 1 <= lanes <= 32


@given(st.binary(max_size=300), st.sampled_from(sorted(AER_KINDS)))
def test_no_bytes_make_aer_err(raw: bytes, severity: str) -> None:
    """Counts, or nothing."""
    counts = aer_of(raw, severity)

    assert counts is None or all(count >= 0 for count in counts.values())


@given(st.dictionaries(KIND_NAMES | st.sampled_from(["RxErr", "BadTLP", "Timeout", "HeaderOF"]), COUNTS, min_size=1))
def test_what_is_shown_adds_up_to_what_the_kernel_counted(counts: dict[str, int]) -> None:
    """No error is lost by summing the kinds that have no series of their own."""
    text = "".join(f"{kind} {count}\n" for kind, count in counts.items()) + f"TOTAL_ERR_COR {sum(counts.values()) % 2**64}\n"
    shown = aer_of(text.encode(), "correctable")

    assert shown is not None
    assert sum(shown.values()) == sum(counts.values())


def test_kinds_of_a_poor_link_stand_under_their_names() -> None:
    """The rest is `other`, an unnamed bit too; the kernel's total is not counted twice."""
    text = b"RxErr 1\nBadTLP 2\nBadDLLP 3\nRollover 4\nTimeout 5\nNonFatalErr 6\nCorrIntErr 7\nHeaderOF 8\nbit[9] 10\nTOTAL_ERR_COR 46\n"
    expected = {"RxErr": 1, "BadTLP": 2, "BadDLLP": 3, "Rollover": 4, "Timeout": 5, "other": 31}

    assert aer_of(text, "correctable") == expected


@pytest.mark.parametrize("raw", [b"", b"\n", b"RxErr\n", b"RxErr many\n", b"RxErr -1\n", b"RxErr 1 2\n", b"RxErr 18446744073709551616\n"])
def test_a_file_with_one_wrong_line_gives_nothing(raw: bytes) -> None:
    """A wrong sum is worse than none."""
    assert aer_of(raw, "correctable") is None
