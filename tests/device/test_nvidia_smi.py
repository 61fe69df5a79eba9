"""What nvidia-smi prints is read as it stands, and compared number by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.beside_tool import ERRORS, THROUGHPUT, compare_counts, compare_matrices
from tests.device.findings import Finding, Report, Verdict
from tests.device.nvidia_smi import ListedGpu, Rate, counts, listed_gpus, rates
from tests.requires import need_data
from tests.sources.imitated_topology import matrix_of

UUID = "GPU-00000004-0000-0000-0000-000000000004"
HEAD = f"GPU 3: NVIDIA B200 (UUID: {UUID})\n"
STATUS = HEAD + "\t Link 0: 53.125 GB/s\n\t Link 1: <inactive>\n\t Link 2: 25 GB/s\n"
BYTES = HEAD + "\t Link 0: Data Tx: 700 KiB\n\t Link 0: Data Rx: 9 KiB\n\t Link 1: Data Tx: N/A\n"
ERROR_LINES = HEAD + (
    "\t Link 0: Replay Errors: 7\n\t Link 0: CRC Errors: 0\n\n\t Link 11: Rx General Errors: 65535\n\t Link 11: Effective BER: 15e-255\n"
)
MATRIX = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV12\tPIX\nGPU1\tNV12\t X \tSYS\nNIC0\tPIX\tSYS\t X \n"


def test_the_list_has_index_name_and_uuid() -> None:
    """Lines below a GPU, as of MIG instances, are passed by."""
    assert listed_gpus(HEAD + "  MIG 1g.10gb Device 0: (UUID: MIG-1)\n") == [ListedGpu(3, "NVIDIA B200", UUID)]


def test_a_rate_is_as_exact_as_it_is_shown() -> None:
    """Older drivers cut 25.781 to 25; an inactive link has none."""
    assert rates(STATUS) == {3: {0: Rate(53_125, 1), 1: None, 2: Rate(25_000, 1_000)}}


@pytest.mark.parametrize(("shown", "true", "other"), [(Rate(25_000, 1_000), 25_781, 26_562), (Rate(26_562, 1), 26_562, 26_563)])
def test_a_rate_fits_what_it_was_cut_from(shown: Rate, true: int, other: int) -> None:
    """And no other generation's."""
    assert shown.fits(true)
    assert not shown.fits(other)


def test_counters_are_read_by_their_names() -> None:
    """With or without a unit; what is no whole number is missing."""
    assert counts(BYTES) == {3: {0: {"data tx": 700, "data rx": 9}}}
    assert counts(ERROR_LINES) == {3: {0: {"replay errors": 7, "crc errors": 0}, 11: {"rx general errors": 65_535}}}


@given(st.text(alphabet="GPULink 0123:()UD-<>inactive.GB/s\nKiB", max_size=300))
def test_junk_is_passed_by(text: str) -> None:
    """Whatever is printed, nothing is raised."""
    for parse in (listed_gpus, rates, counts):
        parse(text)


def _findings(shown: str, meaning: dict[str, tuple[tuple[int, int], ...]], before: int, after: int, field: int) -> list[Finding]:
    report = Report()
    compare_counts("it", counts(shown), meaning, ({(3, 0, field): before}, {(3, 0, field): after}), report)
    return list(report.findings)


def test_a_counter_that_moves_must_lie_between() -> None:
    """700 KiB by the tool, bytes of field 202 before and after; the receive side is not in our fields here and is told."""
    passed = Finding(Verdict.PASS, "it", "1 numbers lie between ours before and after")
    unknown = Finding(Verdict.TOLD, "it: names without a field of ours", "data rx")

    assert _findings(BYTES, dict(THROUGHPUT), 699 * 1024, 701 * 1024, 202) == [passed, unknown]
    assert _findings(BYTES, dict(THROUGHPUT), 701 * 1024, 702 * 1024, 202)[0].verdict is Verdict.DIFFERS


def test_counters_without_a_field_of_ours_cannot_be_compared() -> None:
    """Nothing to compare is no agreement."""
    assert [finding.verdict for finding in _findings(ERROR_LINES, dict(ERRORS), 7, 7, 999)] == [Verdict.CANNOT]


def test_matrices_are_compared_cell_by_cell() -> None:
    """A device that only one of them shows is told."""
    report = Report()
    compare_matrices(matrix_of(MATRIX.replace("PIX", "PXB")), matrix_of(MATRIX), report)

    differences = "GPU0–NIC0: PIX for the tool, ours PXB; NIC0–GPU0: PIX for the tool, ours PXB"
    assert report.findings == (Finding(Verdict.DIFFERS, "topology", differences),)


@pytest.mark.parametrize(("name", "gpus", "active"), [("nvidia-smi/nvlink-s-a100x8", 8, 96), ("nvidia-smi/nvlink-s-a10-empty", 0, 0),
                                                      ("rewritten/nvlink/nvlink-s-gb200-one-inactive", 4, 71)])  # fmt: skip
def test_captures_of_real_machines_are_understood(name: str, gpus: int, active: int) -> None:
    """All GPUs and links of them."""
    found = rates((need_data() / f"{name}.txt").read_text(encoding="utf-8"))

    assert len(found) == gpus
    assert sum(rate is not None for links in found.values() for rate in links.values()) == active


def test_error_counters_of_a_capture_are_understood() -> None:
    """18 links and three names each, where it is whole."""
    found = counts((need_data() / "rewritten/nvlink/nvlink-e-h100-replay-and-saturated-crc.txt").read_text(encoding="utf-8"))

    assert found[0][3]["replay errors"] == 2353
    assert {frozenset(numbers) for links in found.values() for numbers in links.values()} <= {frozenset(list(ERRORS)[:3])}
