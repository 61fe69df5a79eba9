"""What a run of an nccl-tests program found: values, whatever layout they came in. Data, and the two questions asked of it.

The average line of the programs is in none of these: it averages over sizes, and is 0 where a build without MPI ran each rank alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from exporter.probes.collectives import Collective
from exporter.probes.reasons import Failure


class Trouble(Enum):
    """What kind of problem a line or a whole output has."""

    __hash__ = object.__hash__

    UNREADABLE = "unreadable"
    """A row that fits no layout, or is cut."""
    DISAGREES = "disagrees"
    """A row whose numbers contradict each other: at least one of them is wrong, so none is used."""
    UNMEASURED = "unmeasured"
    """A block of a row says inf, nan or N/A for a time or a bandwidth; the other block of that row is used."""
    TRUNCATED = "truncated"
    """The table has no end, or fewer rows than sizes that were asked for."""
    NO_TABLE = "no_table"
    """There is no table at all: the program did not come to measuring."""
    NOT_MPI_BUILD = "not_mpi_build"
    """Every process ran a test of its own: the binary was built without MPI (NVIDIA/nccl-tests#294, #213). No row is used."""
    RANKS = "ranks"
    """The ranks that took part are unknown, or not those that were asked for. Without them no row can be checked."""
    CONTRADICTION = "contradiction"
    """The end of the output and its rows say different things."""
    BOUNDS = "bounds"
    """More output than is read: the rest was dropped."""
    PROGRAM = "program"
    """The program itself says that something failed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: `line` counts from 1, 0 for the output as a whole (and for JSON the number of the result); `text` is for a person."""

    trouble: Trouble
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Iterations:
    """Times of single iterations (option -I), each the slowest process's, less those that -K leaves out. Only JSON has them. `variation` is
    standard deviation by mean, a ratio."""

    min_s: float
    max_s: float
    p99_s: float
    variation: float
    times_s: Sequence[float]


@dataclass(frozen=True, slots=True)
class Timing:
    """One block of a row: out-of-place or in-place. Bandwidths are bytes per second.

    `time_s` is None where the program printed CPU time instead (-C). `busbw` is None for one rank, where nothing crosses a link.
    `wrong` counts wrong elements, None where they were not counted (check off, or a layout older than 2.13).
    `uncertainty` is the share by which one of the numbers could be wrong without the others showing it; None where they say nothing of
    each other, as `34.73 us, 0.00 GB/s` does for 8 bytes: then the time has only itself as evidence."""

    time_s: float | None
    algbw: float
    busbw: float | None
    wrong: int | None
    uncertainty: float | None
    iterations: Iterations | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One size of the table: bytes of the whole message, element type, and one or both blocks (None: not run or not measured)."""

    size_bytes: int
    element: str
    out_of_place: Timing | None
    in_place: Timing | None

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The blocks that were measured, out-of-place first."""
        return tuple(timing for timing in (self.out_of_place, self.in_place) if timing is not None)


@dataclass(frozen=True, slots=True)
class NcclTestsResult:
    """A whole output. `collective` is None for programs that our probes have no collective for; `ranks` is None if it was not told.

    `rows` are those that agree with themselves, in order; a size occurs more than once with -N, and for sizes that round to the same.
    `wrong_checks` is the footer's number of checks that found wrong elements, None if the footer is missing.
    `problems` are the first few, `problems_more` counts the rest. `said` are lines that belong to no layout, for a person to read.
    Versions are "" if not told; `json_path` is where the program said that it writes JSON, "" if it did not."""

    program: str
    collective: Collective | None
    ranks: int | None
    rows: Sequence[Row]
    problems: Sequence[Problem] = ()
    problems_more: int = 0
    wrong_checks: int | None = None
    tests_version: str = ""
    nccl_version: str = ""
    json_path: str = ""
    said: Sequence[str] = ()

    @property
    def wrong(self) -> int:
        """Wrong elements of all rows; where the rows do not count them, the footer's number of failed checks."""
        counted = sum(timing.wrong or 0 for row in self.rows for timing in row.timings)
        return counted or self.wrong_checks or 0

    def troubles(self) -> frozenset[Trouble]:
        """Which kinds of problems there are."""
        return frozenset(problem.trouble for problem in self.problems)


UNRELIABLE = frozenset(Trouble) - {Trouble.UNMEASURED, Trouble.PROGRAM}
"""Troubles that make an output one that could not be read (parse_error), even if some rows of it are sound."""

EXIT_MEANINGS = {
    0: "done",
    1: "an internal error of the program",
    2: "CUDA refused: no driver, no GPU, or no memory",
    3: "NCCL refused",
    4: "a collective did not end in time (-T)",
    5: "not possible here: more GPUs asked for than there are, or a feature that this NCCL lacks",
    6: "called with wrong options",
    7: "wrong elements, or less bandwidth than NCCL_TESTS_MIN_BW asks for",
    255: "called with wrong options",
}
"""What the exit codes mean (src/common.h, 2.19.6). `mpirun` and `srun` may put their own in place."""

_EXIT_FAILURES = {1: Failure.WORKER_CRASH, 2: Failure.INIT_ERROR, 3: Failure.INIT_ERROR, 4: Failure.ITER_TIMEOUT, 5: Failure.INIT_ERROR,
                  6: Failure.INIT_ERROR, 255: Failure.INIT_ERROR}  # fmt: skip


def exit_meaning(code: int) -> str:
    """What an exit code says, for a person; negative codes are signals, as subprocess has them, and codes over 128 those of a shell."""
    if code < 0 or 128 < code < 255:
        return f"ended by signal {-code if code < 0 else code - 128}"
    return EXIT_MEANINGS.get(code, f"exit code {code}, which nccl-tests has not: from the launcher, or from a newer release")


def failure_of(result: NcclTestsResult, exit_code: int) -> Failure | None:
    """Why the run did not end well, None if it did. Wrong data counts before all else; then what the program says by its exit code, which
    explains a missing table; then an output that cannot be trusted. Code 7 without wrong elements is a bandwidth below a limit that is not
    ours: no failure."""
    if result.wrong:
        return Failure.DATA_MISMATCH
    if exit_code in _EXIT_FAILURES:
        return _EXIT_FAILURES[exit_code]
    if result.troubles() & UNRELIABLE or result.problems_more or not result.rows:
        return Failure.PARSE_ERROR
    return None if exit_code in (0, 7) else Failure.WORKER_CRASH
