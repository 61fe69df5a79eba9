"""Problems of an output, counted but not hoarded, and what must hold of an output as a whole: text and JSON are judged alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from exporter.probes.nccl_tests.preamble import Preamble
from exporter.probes.nccl_tests.programs import program_of
from exporter.probes.nccl_tests.result import Problem, Row, Trouble

PROBLEMS_MAX = 50


@dataclass(slots=True)
class ProblemList:
    """The first problems, and how many more there were."""

    kept: list[Problem] = field(default_factory=list)
    more: int = 0

    def add(self, trouble: Trouble, line: int, text: str) -> None:
        """One problem more."""
        if len(self.kept) < PROBLEMS_MAX:
            self.kept.append(Problem(trouble, line, text))
        else:
            self.more += 1

    def add_once(self, trouble: Trouble, line: int, text: str) -> None:
        """One problem, unless the same was told before."""
        if not any(problem.trouble is trouble and problem.text == text for problem in self.kept):
            self.add(trouble, line, text)


def verdict_on_whole(problems: ProblemList, preamble: Preamble, program: str, asked: int | None, headers: int, attempts: int,
                     rows: Sequence[Row]) -> bool:  # fmt: skip
    """Add what is wrong with the output as a whole; True if none of its rows may be used. `headers` are tables that began, `attempts` lines
    that were taken for rows, `asked` the ranks that were called for."""
    if not headers:
        problems.add(Trouble.NO_TABLE, 0, "there is no table: the program did not come to measuring")
        return True
    ranks = preamble.ranks_in_all()
    per_process = preamble.call.gpus_per_process if preamble.call else None
    is_alone = asked is not None and ranks is not None and ranks < asked and ranks == per_process
    if headers > 1 or preamble.calls > 1 or preamble.twice or is_alone:
        problems.add(Trouble.NOT_MPI_BUILD, 0, "every process ran a test of its own: use a build of nccl-tests with MPI (make MPI=1)")
        return True
    if ranks is None:
        problems.add(Trouble.RANKS, 0, "rows cannot be checked: the lines that name the ranks are missing or incomplete")
        return True
    if asked is not None and ranks != asked:
        problems.add(Trouble.RANKS, 0, f"{asked} ranks were called for, {ranks} took part")
        return True
    _check_end(problems, preamble, attempts)
    _check_wrong(problems, preamble, rows)
    named = program_of(preamble.program)
    if preamble.program and (named is None or named.name != program):
        problems.add(Trouble.CONTRADICTION, 0, f"{program} was called, the output is of {preamble.program}")
        return True
    return False


def _check_end(problems: ProblemList, preamble: Preamble, attempts: int) -> None:
    if preamble.wrong_checks is None:
        problems.add(Trouble.TRUNCATED, 0, "the table has no end (Out of bounds values): the program was ended or failed")
        return
    sizes = preamble.call.sizes() if preamble.call else None
    if sizes and (attempts == 0 or attempts % sizes):
        problems.add(Trouble.TRUNCATED, 0, f"{sizes} sizes were called for, the table has {attempts} rows")


def _check_wrong(problems: ProblemList, preamble: Preamble, rows: Sequence[Row]) -> None:
    """Rows count elements; the footer counts checks that failed, one or more (for each process) for each block that counts any."""
    checks = preamble.wrong_checks
    if checks is None:
        return
    if (checks > 0) != (preamble.wrong_verdict == "FAILED"):
        problems.add(Trouble.CONTRADICTION, 0, f"the footer says {checks} {preamble.wrong_verdict}")
        return
    counts = [timing.wrong for row in rows for timing in row.timings if timing.wrong is not None]
    found = sum(count > 0 for count in counts)
    if found > checks:
        problems.add(Trouble.CONTRADICTION, 0, f"{found} blocks count wrong elements, the footer says {checks}")
    if checks > 0 and counts and not found:
        problems.add(Trouble.CONTRADICTION, 0, f"the footer says {checks} wrong, no row that could be used counts any")
