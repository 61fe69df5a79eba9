"""Damages outputs of nccl-tests and sees that no wrong number passes for a right one.

`python -m tests.probes.mutations 100000` prints how many of so many damaged outputs were read, and stops at the first that was not judged
rightly. A row that is used must be a row of what was damaged: same size and type, time and bandwidths within what the row itself says that
its numbers vouch for, and wrong elements found where they were, unless a problem tells of the damage.
"""

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from exporter.probes.nccl_tests.json_layouts import read_json
from exporter.probes.nccl_tests.programs import PROGRAMS
from exporter.probes.nccl_tests.result import NcclTestsResult, Row, Timing
from exporter.probes.nccl_tests.text_layouts import read_text
from tests.probes.nccl_tests_printer import PLAIN
from tests.probes.nccl_tests_wrapping import WRAPPERS

PRINTED_GB = 0.011e9
"""Two bandwidths that print as neighbours differ by no more than one last place."""


class Original(NamedTuple):
    """An output before it is damaged."""

    name: str
    content: bytes
    program: str
    ranks: int

    def read(self, content: bytes) -> NcclTestsResult:
        """What a damaged form of it says."""
        reader = read_json if self.name.endswith(".json") else read_text
        return reader(content, self.program, self.ranks)


def originals() -> list[Original]:
    """Every layout, plain and wrapped, and JSON of every version."""
    parts = {"all-gather": "all_gather_perf", "alltoall": "alltoall_perf", "broadcast": "broadcast_perf", "scatter": "reduce_scatter_perf",
             "sendrecv": "sendrecv_perf", "stamps-memory": "all_gather_perf", "2-version": "all_gather_perf",
             "v2.19.2-iterations": "alltoall_perf"}  # fmt: skip
    found = []
    for name, printed in PLAIN.items():
        program = next((program for part, program in parts.items() if part in name), "all_reduce_perf")
        ranks = 2 if "wide" in name else 16 if "two-processes" in name else 8
        found.append(Original(name, printed().encode(), program, ranks))
    plain = PLAIN["v2.13-reduce-scatter.txt"]()
    found += [Original(f"{wrap.__name__}.txt", wrap(plain).encode(), "reduce_scatter_perf", 8) for wrap in WRAPPERS]
    return found


def real_outputs(folder: Path) -> list[Original]:
    """Outputs of other projects' test data, if there are any."""
    programs = {"allreduce": "all_reduce_perf", "allgather": "all_gather_perf", "alltoall": "alltoall_perf", "broadcast": "broadcast_perf",
                "reduce": "reduce_perf", "reducescatter": "reduce_scatter_perf"}  # fmt: skip
    return [Original(path.name, path.read_bytes(), programs[path.stem.removeprefix("superbench-")], 8)
            for path in sorted(folder.glob("nccl-tests/superbench-*.log"))]  # fmt: skip


def flip(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """One byte becomes another."""
    at = chance.randrange(len(content))
    return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]


def digit(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """One digit becomes another: the hardest to see."""
    places = [index for index, byte in enumerate(content) if 48 <= byte <= 57]
    at = chance.choice(places or [0])
    return content[:at] + bytes([48 + chance.randrange(10)]) + content[at + 1 :]


def cut(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """The output ends early."""
    return content[: chance.randrange(len(content))]


def lose(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """Some bytes are lost in the middle."""
    at = chance.randrange(len(content))
    return content[:at] + content[at + chance.choice((1, 1, 2, 8, 60, 300)) :]


def insert(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """A piece of another output lands in the middle."""
    other, at = chance.choice(others), chance.randrange(len(content))
    start = chance.randrange(len(other))
    return content[:at] + other[start : start + chance.choice((1, 2, 9, 40, 200))] + content[at:]


def swap(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """Two lines change places."""
    lines = content.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def double(content: bytes, chance: random.Random, _: Sequence[bytes]) -> bytes:
    """A line comes twice."""
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[: at + 1], *lines[at:]])


def interleave(content: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Two outputs arrive in turn, piece by piece."""
    other, step = chance.choice(others), chance.choice((7, 40, 81, 300, 1000))
    pieces = []
    for at in range(0, max(len(content), len(other)), step):
        pieces += [content[at : at + step], other[at : at + step]]
    return b"".join(pieces)


KINDS: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    flip,
    flip,
    digit,
    digit,
    cut,
    lose,
    insert,
    swap,
    double,
    interleave,
)


MIXING = (insert, interleave)
"""After these a row may be that of another output whose rows look alike."""


def damaged(original: Original, chance: random.Random, others: Sequence[bytes]) -> tuple[bytes, bool]:
    """The output with one to three damages, and whether another output was mixed in."""
    content, is_mixed = original.content, False
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        kind = chance.choice(KINDS)
        content, is_mixed = kind(content, chance, others) or b"\n", is_mixed or kind in MIXING
    return content, is_mixed


def _close(one: Timing, other: Timing) -> bool:
    """Whether a block says what another said, to what it says that its numbers vouch for."""
    room = 2.5 * (one.uncertainty or 0) + 1e-6
    gb = max(PRINTED_GB, room * other.algbw, 0.51 * 10**9 if other.algbw >= 1e12 else 0)
    if abs(one.algbw - other.algbw) > gb:
        return False
    if one.busbw is not None and other.busbw is not None and abs(one.busbw - other.busbw) > max(PRINTED_GB, room * other.busbw):
        return False
    if one.time_s is None or other.time_s is None or one.uncertainty is None:
        return True  # the row itself says that nothing vouches for its time
    return abs(one.time_s - other.time_s) <= room * other.time_s + 1e-8


def _is_of(row: Row, source: Row, *, is_told: bool) -> bool:
    if (row.size_bytes, row.element) != (source.size_bytes, source.element):
        return False
    for block, was in ((row.out_of_place, source.out_of_place), (row.in_place, source.in_place)):
        if block is not None and was is None:
            return False
        if block is not None and was is not None:
            same_wrong = block.wrong is None or was.wrong is None or (block.wrong > 0) == (was.wrong > 0)
            if not _close(block, was) or not (same_wrong or is_told):
                return False
    return True


def wrong_rows(result: NcclTestsResult, sources: Sequence[Row]) -> list[Row]:
    """Rows that were used and are no row of the sources."""
    is_told = bool(result.problems)
    return [row for row in result.rows if not any(_is_of(row, source, is_told=is_told) for source in sources)]


def _is_unvouched(row: Row, sources: Sequence[Row]) -> bool:
    """Whether a row has another time than every source, and says that nothing vouches for it."""
    times = {(source.size_bytes, tuple(timing.time_s for timing in source.timings)) for source in sources}
    return (row.size_bytes, tuple(timing.time_s for timing in row.timings)) not in times and any(
        timing.uncertainty is None for timing in row.timings
    )


class Tally(NamedTuple):
    """Damaged outputs, those of which a problem was told, rows that were used, and those of them whose time was changed in a way that no
    text can show, so that the row itself says that nothing vouches for it (`uncertainty` None)."""

    outputs: int
    told: int
    rows: int
    unvouched: int


def _look(original: Original) -> tuple[object, ...]:
    """All that a row can show of its program: all-gather and alltoall look alike."""
    program = PROGRAMS[original.program]
    return (program.is_blockwise, program.has_root, "sum" in program.operations, original.ranks)


def run(count: int, seed: int, corpus: Sequence[Original]) -> Tally:
    """Damage and read so many outputs. Raises AssertionError with the seed, the output and the row at the first wrong number."""
    contents = [original.content for original in corpus]
    own = {original.name: original.read(original.content).rows for original in corpus}
    every = [row for rows in own.values() for row in rows]
    kin = {original.name: [row for other in corpus if _look(other) == _look(original) for row in own[other.name]] for original in corpus}
    told = used = unvouched = 0
    for number in range(count):
        chance = random.Random(seed * 1_000_003 + number)  # noqa: S311  (repeatable)
        original = chance.choice(corpus)
        content, is_mixed = damaged(original, chance, contents)
        result = original.read(content)
        strangers = wrong_rows(result, kin[original.name] if is_mixed else own[original.name])
        if strangers:
            raise AssertionError(f"number {number} of seed {seed}, {original.name}: {strangers[0]}\n{content.decode('utf-8', 'replace')}")
        told += bool(result.problems)
        used += len(result.rows)
        unvouched += sum(_is_unvouched(row, every) for row in result.rows)
    return Tally(count, told, used, unvouched)


def main(arguments: Sequence[str]) -> None:
    """Count, seed, and a folder of real outputs: all but the count may be left out."""
    corpus = originals() + (real_outputs(Path(arguments[2])) if len(arguments) > 2 else [])
    tally = run(int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1, corpus)
    print(f"{tally.outputs} damaged outputs of {len(corpus)}: no crash, no wrong number among {tally.rows} rows that were used "
          f"({tally.unvouched} with a changed time say that nothing vouches for it); problems were told of {tally.told}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
