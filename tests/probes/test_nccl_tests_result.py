"""What a run of nccl-tests means: wrong data before all else, then what the exit code says, then what could not be read."""

import pytest

from exporter.probes.nccl_tests.result import NcclTestsResult, Problem, Row, Timing, Trouble, exit_meaning, failure_of
from exporter.probes.reasons import Failure

ROW = Row(1 << 20, "float", Timing(61e-6, 17e9, 30e9, 0, 0.001), None)
BAD = Row(1 << 20, "float", Timing(61e-6, 17e9, 30e9, 3, 0.001), None)


def result(rows: tuple[Row, ...] = (ROW,), *troubles: Trouble, checks: int | None = 0) -> NcclTestsResult:
    """An output with these rows and kinds of problems."""
    return NcclTestsResult("all_reduce_perf", None, 8, rows, tuple(Problem(trouble, 1, "") for trouble in troubles), wrong_checks=checks)


@pytest.mark.parametrize(
    ("found", "code", "failure"),
    [
        (result(), 0, None),
        (result(), 7, None),
        (result((BAD,)), 0, Failure.DATA_MISMATCH),
        (result((BAD,), Trouble.TRUNCATED), 4, Failure.DATA_MISMATCH),
        (result((ROW,), checks=2), 7, Failure.DATA_MISMATCH),
        (result((), Trouble.NO_TABLE), 2, Failure.INIT_ERROR),
        (result((), Trouble.NO_TABLE), 3, Failure.INIT_ERROR),
        (result((ROW,), Trouble.TRUNCATED), 4, Failure.ITER_TIMEOUT),
        (result((), Trouble.NOT_MPI_BUILD), 0, Failure.PARSE_ERROR),
        (result((ROW,), Trouble.DISAGREES), 0, Failure.PARSE_ERROR),
        (result((ROW,), Trouble.UNMEASURED), 0, None),
        (result(()), 0, Failure.PARSE_ERROR),
        (result((ROW,)), -11, Failure.WORKER_CRASH),
    ],
)
def test_failure_of_a_run(found: NcclTestsResult, code: int, failure: Failure | None) -> None:
    """One reason for each run, None for a good one; code 7 without wrong data is a limit of somebody else (NCCL_TESTS_MIN_BW)."""
    assert failure_of(found, code) is failure


@pytest.mark.parametrize(("code", "words"), [(0, "done"), (3, "NCCL refused"), (-9, "signal 9"), (137, "signal 9"), (42, "exit code 42")])
def test_exit_codes_are_told_in_words(code: int, words: str) -> None:
    """Codes of src/common.h, signals of a process and of a shell, and whatever a launcher puts in place."""
    assert words in exit_meaning(code)
