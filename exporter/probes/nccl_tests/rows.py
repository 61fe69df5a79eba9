"""One row of a table of nccl-tests: text into a value, or the reason why not. A row is used only if its numbers agree with each other."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from exporter.probes.nccl_tests.check import Block, bandwidth_is_well_formed, time_is_well_formed, timing
from exporter.probes.nccl_tests.header import Column, Layout
from exporter.probes.nccl_tests.printed_numbers import Printed, printed
from exporter.probes.nccl_tests.programs import ELEMENT_BYTES, Program, ratios_of
from exporter.probes.nccl_tests.result import Row, Timing, Trouble

_WORD = re.compile(r"\S+")
_INTEGER = re.compile(r"(?:0|[1-9]\d{0,17})", re.ASCII)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)
_DELTA = re.compile(r"\d(?:\.\d+)?e[+-]\d\d|-?nan|inf|\d+(?:\.\d+)?", re.ASCII)
_NOTHING = {"inf", "-inf", "nan", "-nan", "N/A"}
_ROW_START = re.compile(r"\s*\d+\s+\d+\s+[a-z]", re.ASCII)
FEW_DIGITS = 0.5
"""Where the numbers of a block vouch for each other no better than this, the place of the columns must be right as well."""


class Token(NamedTuple):
    """A word of a row, and where it stands in the line."""

    text: str
    start: int
    end: int


class Refusal(Exception):  # noqa: N818  (it is no error of ours: it says why a row is not used)
    """Why a row is not used: the kind of trouble, and what is wrong for a person."""

    def __init__(self, trouble: Trouble, text: str) -> None:
        super().__init__(text)
        self.trouble = trouble
        self.text = text


class ReadRow(NamedTuple):
    """A row, and what it says of blocks that were not measured ("" if both were)."""

    row: Row
    unmeasured: str


def starts_like_row(text: str) -> bool:
    """Whether a line begins as rows do: two numbers and a word."""
    return _ROW_START.match(text) is not None


def row_of(text: str, layout: Layout, program: Program, ranks: int) -> ReadRow:
    """The row that a line is. Raises Refusal if it is cut, fits no column, or its numbers contradict each other."""
    tokens = [Token(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
    lead, rest = _split_lead(tokens, layout, program, ranks)
    size_bytes, element = _size(lead, program, ranks)
    blocks = _split_blocks(rest, lead[0], layout)
    read = [None if block is None else _timing(block, layout, size_bytes, program, ranks) for block in blocks]
    unmeasured = [name for name, block, value in zip(("out-of-place", "in-place"), blocks, read, strict=False) if block and value is None]
    if any(value is not None and (value.uncertainty is None or value.uncertainty > FEW_DIGITS) for value in read):
        _check_places(lead, blocks, layout)
    in_place = read[1] if len(read) > 1 else None
    row = Row(size_bytes, element, read[0], in_place)
    if not row.timings and not unmeasured:
        raise Refusal(Trouble.UNREADABLE, "a row without numbers")
    return ReadRow(row, f"{' and '.join(unmeasured)} of size {size_bytes} was not measured: inf, nan or N/A" if unmeasured else "")


def _split_lead(tokens: Sequence[Token], layout: Layout, program: Program, ranks: int) -> tuple[list[Token], list[Token]]:
    """Tokens before the blocks, and those of the blocks. A blank redop is left out."""
    at = 3
    if layout.has_operation and len(tokens) > at:
        word = tokens[at].text
        if word in program.operations:
            at += 1
        elif "" not in program.operations or word.isalpha():
            raise Refusal(Trouble.UNREADABLE, f"{word[:20]} is no operation of {program.name}")
    if layout.has_root:
        if len(tokens) <= at or not _is_root(tokens[at].text, program, ranks):
            raise Refusal(Trouble.UNREADABLE, f"no root of {program.name} where the header has one")
        at += 1
    if len(tokens) <= at:
        raise Refusal(Trouble.UNREADABLE, "the row ends before its first time")
    return list(tokens[:at]), list(tokens[at:])


def _is_root(text: str, program: Program, ranks: int) -> bool:
    if not program.has_root:
        return text == "-1"
    return _INTEGER.fullmatch(text) is not None and int(text) < ranks


def _size(lead: Sequence[Token], program: Program, ranks: int) -> tuple[int, str]:
    size, count, element = (token.text for token in lead[:3])
    if not _INTEGER.fullmatch(size) or not _INTEGER.fullmatch(count) or element not in ELEMENT_BYTES:
        raise Refusal(Trouble.UNREADABLE, "size, count and type are not two whole numbers and a known type")
    expected = int(count) * ELEMENT_BYTES[element] * (ranks if program.is_blockwise else 1)
    if int(size) != expected:
        raise Refusal(Trouble.DISAGREES, f"size {size} is not what {count} elements of {element} on {ranks} ranks make: {expected}")
    return int(size), element


def _split_blocks(rest: list[Token], first: Token, layout: Layout) -> list[list[Token] | None]:
    """Tokens of each block; None for an out-of-place block that is blank, as when only the other was run."""
    if layout.has_stamp:
        if len(rest) < 2 or not _STAMP.fullmatch(f"{rest[-2].text} {rest[-1].text}"):
            raise Refusal(Trouble.UNREADABLE, "no timestamp where the header has one")
        rest = rest[:-2]
    lengths = [len(block) for block in layout.blocks]
    if len(rest) == sum(lengths):
        return [rest[: lengths[0]], *([rest[lengths[0] :]] if len(lengths) > 1 else [])]
    if len(lengths) > 1 and len(rest) == lengths[1]:
        place = layout.blocks[1][0].end - layout.lead[0].end
        if rest[0].end - first.end == place:
            return [None, rest]
    raise Refusal(Trouble.UNREADABLE, f"{len(rest)} numbers where the header has {sum(lengths)}")


def _timing(tokens: Sequence[Token], layout: Layout, size_bytes: int, program: Program, ranks: int) -> Timing | None:
    """The value of one block, None if it was not measured."""
    texts = [token.text for token in tokens]
    wrong = _wrong(texts[3], counts=layout.counts_wrong)
    if _NOTHING & set(texts[:3]):
        return None
    time, algbw, busbw = (_number(text) for text in texts[:3])
    if not time_is_well_formed(time, in_milliseconds=layout.in_milliseconds):
        raise Refusal(Trouble.UNREADABLE, f"no release prints a time as {texts[0]}: digits are missing or too many")
    if not bandwidth_is_well_formed(algbw) or not bandwidth_is_well_formed(busbw):
        raise Refusal(Trouble.UNREADABLE, f"no release prints bandwidths as {texts[1]} and {texts[2]}: digits are missing or too many")
    to_us = 1000.0 if layout.in_milliseconds else 1.0
    time_us = None if layout.is_cpu_time else Printed(time.value * to_us, time.error * to_us, time.decimals)
    value = timing(Block(time_us, algbw, busbw, wrong), size_bytes, ratios_of(program, ranks), ranks)
    if value is None:
        shown = f"{texts[0]} {'ms' if layout.in_milliseconds else 'us'}, algbw {texts[1]} and busbw {texts[2]} GB/s"
        raise Refusal(Trouble.DISAGREES, f"{shown} do not belong together for {size_bytes} bytes on {ranks} ranks")
    _check_iterations(tokens, layout)
    return value


def _number(text: str) -> Printed:
    number = printed(text)
    if number is None:
        raise Refusal(Trouble.UNREADABLE, f"{text[:20]} is no number")
    return number


def _wrong(text: str, *, counts: bool) -> int | None:
    """Wrong elements, None if unchecked or if the column is a difference of floats."""
    if text == "N/A":
        return None
    if not counts:
        if not _DELTA.fullmatch(text):
            raise Refusal(Trouble.UNREADABLE, f"{text[:20]} is no difference of numbers")
        return None
    number = _number(text)
    if number.decimals:
        raise Refusal(Trouble.UNREADABLE, f"{text} is no number of wrong elements")
    return round(number.value)


def _check_iterations(tokens: Sequence[Token], layout: Layout) -> None:
    """Refuse a summary of single iterations (-I) that is out of order. It is not handed on: nothing in a text could show that one of its
    numbers is wrong, and every release that prints it also writes JSON."""
    named = {column.word: token.text for column, token in zip(layout.blocks[0][4:], tokens[4:], strict=False)}
    if not {"i_min", "i_max", "i_p99", "i_cv%"} <= named.keys():
        return
    shortest, longest, p99, _ = (_number(named[word]) for word in ("i_min", "i_max", "i_p99", "i_cv%"))
    if not shortest.value <= p99.value <= longest.value:
        raise Refusal(Trouble.DISAGREES, f"iterations of {named['i_min']} to {named['i_max']} us cannot have a p99 of {named['i_p99']}")


def _check_places(lead: Sequence[Token], blocks: Sequence[Sequence[Token] | None], layout: Layout) -> None:
    """Refuse a row whose numbers do not end below their header words: small messages have bandwidths of 0.00, which cannot show that a
    time lost a digit. A number that is too wide for its column moves all that follow; so does N/A, which 2.17.4 prints too narrow.
    Rows whose blanks were squeezed on the way have no places."""
    columns = _columns(lead, layout)
    tokens = list(lead)
    for block, header in zip(blocks, layout.blocks, strict=True):
        if block is not None:
            tokens += block
            columns += header
    gaps = [after.start - before.end for before, after in pairwise(tokens)]
    if max(gaps, default=1) == 1:
        return
    drift = 0
    for token, column, gap in zip(tokens[1:], columns[1:], gaps, strict=True):
        off = (token.end - tokens[0].end) - (column.end - columns[0].end)
        is_excused = token.text in _NOTHING or (off > drift and gap <= 2)
        if off != drift and not is_excused:
            raise Refusal(Trouble.UNREADABLE, f"{token.text} does not stand below its header {column.word}")
        drift = off


def _columns(lead: Sequence[Token], layout: Layout) -> list[Column]:
    """Header columns of the lead, less a redop that is blank in this row."""
    if len(lead) == len(layout.lead):
        return list(layout.lead)
    return [column for column in layout.lead if column.word not in {"redop", "op"}]
