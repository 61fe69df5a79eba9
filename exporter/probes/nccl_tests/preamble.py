"""What an output of nccl-tests says around its table: versions, the call, which ranks take part, how it ended. One line at a time."""

import re
from dataclasses import dataclass, field

_RANK = re.compile(r"# +Rank +(\d{1,6}) +(?:Group +(-?\d{1,10}) +)?(?:Pid +\d+ +)?on +(\S{1,255}) +device +\d+ +\[", re.ASCII)
_CALL = re.compile(
    r"(?:# )?nThread (\d{1,6}) nGpus (\d{1,6}) minBytes (\d{1,18}) maxBytes (\d{1,18}) step: (\d{1,18})\((factor|bytes)\)", re.ASCII
)
_REDUCED = re.compile(r"# Reducing maxBytes to (\d{1,18}) ", re.ASCII)
_STARTING = re.compile(r"# Collective test starting: (\S{1,255})$", re.ASCII)
_TESTS = re.compile(r"# nccl-tests version (\S{1,40}) nccl-headers=\d+ nccl-library=(\d{1,7})$", re.ASCII)
_COMPILED = re.compile(r"# NCCL Tests compiled with NCCL (\d{1,3}\.\d{1,3})$", re.ASCII)
_JSON = re.compile(r"# Writing JSON output to (.{1,4096})$")
_WRONG = re.compile(r"(?:# )? ?Out of bounds values +: (\d{1,18}) (OK|FAILED)$", re.ASCII)
_NCCL = re.compile(r"NCCL version (\d{1,3}(?:\.\d{1,3}){1,2}\S{0,40})", re.ASCII)
RANKS_MAX = 65_536
SIZES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Call:
    """The line that repeats the options: GPUs of one process, and the sizes."""

    gpus_per_process: int
    min_bytes: int
    max_bytes: int
    step: int
    is_factor: bool

    def sizes(self) -> int | None:
        """How many sizes one pass has; None if the step says nothing or there are too many to count."""
        if self.step < 1 or (self.is_factor and (self.step < 2 or self.min_bytes < 1)) or self.min_bytes > self.max_bytes:
            return None
        if not self.is_factor:
            return (self.max_bytes - self.min_bytes) // self.step + 1
        size, count = self.min_bytes, 0
        while size <= self.max_bytes:
            size, count = size * self.step, count + 1
        return count


@dataclass(slots=True)
class Preamble:
    """Everything but rows and headers, as read so far. `calls` counts the lines that repeat the options: each process of a build without
    MPI prints its own. `groups` maps ranks to their group (NCCL_TESTS_SPLIT), `twice` is set if a rank was named again."""

    program: str = ""
    calls: int = 0
    call: Call | None = None
    groups: dict[int, int] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    twice: bool = False
    tests_version: str = ""
    nccl_version: str = ""
    json_path: str = ""
    wrong_checks: int | None = None
    wrong_verdict: str = ""

    def take(self, text: str) -> bool:
        """Learn from a line; False if it says nothing that is known here."""
        if (rank := _RANK.match(text)) is not None:
            self._add_rank(int(rank[1]), int(rank[2] or 0), rank[3])
        elif (call := _CALL.match(text)) is not None:
            self.calls += 1
            threads, gpus, low, high, step = map(int, call.groups()[:5])
            self.call = Call(threads * gpus, low, high, step, call[6] == "factor")
        elif (wrong := _WRONG.match(text)) is not None:
            self.wrong_checks, self.wrong_verdict = int(wrong[1]), wrong[2]
        elif (reduced := _REDUCED.match(text)) is not None and self.call is not None:
            was = self.call
            self.call = Call(was.gpus_per_process, was.min_bytes, int(reduced[1]), was.step, was.is_factor)
        elif (nccl := _NCCL.match(text)) is not None:
            self.nccl_version = nccl[1]
        else:
            return self._take_banner(text)
        return True

    def _take_banner(self, text: str) -> bool:
        if (tests := _TESTS.match(text)) is not None:
            self.tests_version, self.nccl_version = tests[1], self.nccl_version or version_text(int(tests[2]))
        elif (compiled := _COMPILED.match(text)) is not None:
            self.nccl_version = self.nccl_version or compiled[1]
        elif (starting := _STARTING.match(text)) is not None:
            self.program = starting[1]
        elif (path := _JSON.match(text)) is not None:
            self.json_path = path[1]
        else:
            return False
        return True

    def _add_rank(self, rank: int, group: int, host: str) -> None:
        self.twice = self.twice or rank in self.groups
        if len(self.groups) < RANKS_MAX:
            self.groups[rank] = group
            self.hosts.add(host)

    def ranks_in_all(self) -> int | None:
        """How many ranks were named; None if they are not 0, 1, 2 …, or no whole number of processes: then a line of them is missing."""
        count = len(self.groups)
        is_whole = self.call is None or (self.call.gpus_per_process > 0 and count % self.call.gpus_per_process == 0)
        return count if count and set(self.groups) == set(range(count)) and is_whole and not self.twice else None

    def ranks_of_table(self) -> int | None:
        """How many ranks the collective of the table has: those of rank 0's group. None if the ranks are not known."""
        if self.ranks_in_all() is None:
            return None
        return sum(1 for group in self.groups.values() if group == self.groups[0])


def version_text(code: int) -> str:
    """NCCL's version number as text: 22703 is 2.27.3, and 2708 is 2.7.8 (nccl.h, NCCL_VERSION)."""
    major_unit, minor_unit = (10_000, 100) if code >= 10_000 else (1000, 100)
    return f"{code // major_unit}.{code % major_unit // minor_unit}.{code % minor_unit}"
