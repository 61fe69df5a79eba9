"""The header of a table of nccl-tests: which columns it has, found by its words. Columns are never counted, nor told from the end.

Every release from v1.0.0 to v2.19.6, and headers with columns that no release has yet: what a block is begins at its time.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

_WORD = re.compile(r"\S+")
_SIZES, _COUNTS = {"size", "bytes"}, {"count", "N"}
_OPERATIONS, _ROOT, _STAMP = {"redop", "op"}, "root", "timestamp"
_TIMES, _WRONGS, _DELTAS = {"time", "cputime"}, {"#wrong"}, {"error", "res"}


class Column(NamedTuple):
    """A header word and the place where it ends, which is where the numbers below it end."""

    word: str
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a table. `lead` are the words before the first block (size, count, type, perhaps redop and root), `blocks` one or two
    runs of columns that begin with a time, `has_stamp` whether each row ends with a date and a time of day. `in_milliseconds` is v1."""

    lead: tuple[Column, ...]
    blocks: tuple[tuple[Column, ...], ...]
    has_stamp: bool
    in_milliseconds: bool

    @property
    def has_operation(self) -> bool:
        """Whether there is a redop column. Its field can be blank all the same (alltoall before 2.13)."""
        return any(column.word in _OPERATIONS for column in self.lead)

    @property
    def has_root(self) -> bool:
        """Whether there is a root column."""
        return any(column.word == _ROOT for column in self.lead)

    @property
    def counts_wrong(self) -> bool:
        """Whether a block counts wrong elements; before 2.13 it shows the largest difference of floats instead (NVIDIA/nccl-tests#176)."""
        return self.blocks[0][3].word in _WRONGS

    @property
    def is_cpu_time(self) -> bool:
        """Whether the time is what the CPU took to launch (-C)."""
        return self.blocks[0][0].word == "cputime"


def layout_of(text: str) -> Layout | None:
    """The layout that a line heads, None if it heads no table. `text` begins with `#`."""
    columns = [Column(match[0], match.end()) for match in _WORD.finditer(text)][1:]
    words = [column.word for column in columns]
    if len(words) < 7 or words[0] not in _SIZES or words[1] not in _COUNTS or words[2] != "type":
        return None
    has_stamp = words[-1] == _STAMP
    if has_stamp:
        columns.pop()
    starts = [index for index, column in enumerate(columns) if column.word in _TIMES]
    if not 1 <= len(starts) <= 2:
        return None
    lead = tuple(columns[: starts[0]])
    ends = [*starts[1:], len(columns)]
    blocks = tuple(tuple(columns[start:end]) for start, end in zip(starts, ends, strict=True))
    if not all(map(_is_block, blocks)) or not _is_lead([column.word for column in lead]):
        return None
    return Layout(lead, blocks, has_stamp, in_milliseconds=words[0] == "bytes")


def _is_lead(words: list[str]) -> bool:
    rest = words[3:]
    if rest and rest[0] in _OPERATIONS:
        rest = rest[1:]
    return rest in ([], [_ROOT])


def _is_block(columns: tuple[Column, ...]) -> bool:
    words = [column.word for column in columns[:4]]
    return len(words) == 4 and words[1:3] == ["algbw", "busbw"] and words[3] in _WRONGS | _DELTAS
