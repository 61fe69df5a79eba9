"""Reads the text of an nccl-tests program as it comes, in pieces of any size: what it holds is bounded, however much is printed.

Every layout from v1.0.0 (2018) to v2.19.6, wrapped, coloured, cut or with NCCL's log between and within its rows.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from exporter.probes.nccl_log_lines import SEAM_UNKNOWN, begins_at
from exporter.probes.nccl_tests.header import Layout, layout_of
from exporter.probes.nccl_tests.line_wrapping import unwrap, without_rank_tags
from exporter.probes.nccl_tests.preamble import Preamble
from exporter.probes.nccl_tests.problems import ProblemList, verdict_on_whole
from exporter.probes.nccl_tests.programs import PROGRAMS
from exporter.probes.nccl_tests.result import NcclTestsResult, Row, Trouble
from exporter.probes.nccl_tests.rows import Refusal, row_of, starts_like_row

OUTPUT_MAX_BYTES = 64 * 1024 * 1024
"""Beyond this nothing is read: a table of every type and operation is a few MB, and a program that prints gigabytes is broken."""
LINES_MAX = 1_000_000
"""A line costs five microseconds: NCCL's log of a thousand ranks has a tenth of these."""
LINE_MAX_BYTES = 16 * 1024
ROWS_MAX = 20_000
SAID_MAX, SAID_LENGTH = 4, 300
"""Lines of no layout that are kept for a person: so many first, so many last, so long."""
_FAILURES = ("Test CUDA failure", "Test NCCL failure", "Test timeout", "Invalid number of GPUs", "# error:", "There are not enough slots")


@dataclass(frozen=True, slots=True)
class _Begun:
    """A row that something else broke into: whose it is, its first line's number, and what of it came so far."""

    tag: str
    line: int
    text: str


class NcclTestsText:
    """One output. `program` is what was called, by its name in PROGRAMS; `ranks` how many were asked for, None to take what it says.
    `log` is given each line of NCCL's own log (nccl_words.py reads them)."""

    def __init__(self, program: str, ranks: int | None = None, log: Callable[[str], None] | None = None) -> None:
        self._program = PROGRAMS[program]
        self._asked = ranks
        self._log = log
        self._preamble = Preamble()
        self._problems = ProblemList()
        self._layout: Layout | None = None
        self._headers = 0
        self._ranks: int | None = None
        self._rows: list[Row] = []
        self._attempts = 0
        self._begun: _Begun | None = None
        self._said_first: list[str] = []
        self._said_last: deque[str] = deque(maxlen=SAID_MAX)
        self._held = b""
        self._is_overlong = False
        self._line = 0
        self._bytes = 0

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the output, cut anywhere."""
        room = OUTPUT_MAX_BYTES - self._bytes if self._line < LINES_MAX else 0
        if len(piece) > room:
            shown = f"more than {OUTPUT_MAX_BYTES} bytes or {LINES_MAX} lines of output: the rest was not read"
            self._problems.add_once(Trouble.BOUNDS, 0, shown)
            piece = piece[:room]
        self._bytes += len(piece)
        *lines, rest = piece.split(b"\n", LINES_MAX)
        for line in lines:
            self._end_line(line)
        self._hold(rest)

    def finish(self) -> NcclTestsResult:
        """The result; nothing may be fed after. A row without a line end is cut and not used."""
        if self._held or self._is_overlong:
            self._line += 1
            text = self._held.decode("utf-8", "replace")
            if not self._is_overlong and not starts_like_row(unwrap(text).text):
                self._take(text)
            else:
                self._problems.add(Trouble.TRUNCATED, self._line, "the output ends in the middle of a line")
        self._drop_begun()
        preamble = self._preamble
        rows = tuple(self._rows)
        if verdict_on_whole(self._problems, preamble, self._program.name, self._asked, self._headers, self._attempts, rows):
            rows = ()
        return NcclTestsResult(
            program=self._program.name,
            collective=self._program.collective,
            ranks=preamble.ranks_of_table(),
            rows=rows,
            problems=tuple(self._problems.kept),
            problems_more=self._problems.more,
            wrong_checks=preamble.wrong_checks if preamble.wrong_verdict == "FAILED" or not preamble.wrong_checks else None,
            tests_version=preamble.tests_version,
            nccl_version=preamble.nccl_version,
            json_path=preamble.json_path,
            said=(*self._said_first, *self._said_last),
        )

    def _hold(self, rest: bytes) -> None:
        if len(self._held) + len(rest) > LINE_MAX_BYTES:
            self._held, self._is_overlong = b"", True
        elif not self._is_overlong:
            self._held += rest

    def _end_line(self, end: bytes) -> None:
        self._hold(end)
        self._line += 1
        line, was_overlong = self._held, self._is_overlong
        self._held, self._is_overlong = b"", False
        if not line and not was_overlong:
            return
        if was_overlong:
            self._problems.add(Trouble.BOUNDS, self._line, f"a line of more than {LINE_MAX_BYTES} bytes was skipped")
            return
        for part in line.decode("utf-8", "replace").rstrip("\r").split("\r"):
            self._take(part)

    def _take(self, line: str) -> None:
        tag, text = unwrap(line)
        if not text.strip():
            return
        start = begins_at(text, self._preamble.hosts)
        if start is not None:
            self._take_log(tag, text, start)
        elif self._begun is not None and self._begun.tag == tag:
            self._take_end(text)
        else:
            self._take_whole(self._line, text)

    def _take_log(self, tag: str, text: str, start: int) -> None:
        """A line of NCCL's log, perhaps within a row that was begun: its first half is kept for the rest that follows."""
        before = text[:start] if start > 0 else ""
        if start == SEAM_UNKNOWN:
            self._drop_begun()
            if starts_like_row(text) or text[:1].isspace():
                self._problems.add(Trouble.UNREADABLE, self._line, f"a row and a line of NCCL's log run together: {text[:80]}")
        elif self._begun is not None and self._begun.tag == tag:
            self._begun = _Begun(tag, self._begun.line, (self._begun.text + before)[:LINE_MAX_BYTES])
        elif before.strip() and starts_like_row(before):
            self._drop_begun()
            self._begun = _Begun(tag, self._line, before)
        if start >= 0:
            self._preamble.take(text[start:])
            if self._log is not None:
                self._log(text[start:])

    def _take_end(self, text: str) -> None:
        """What follows a row that was broken into: its rest, or if that makes no row, a line of its own."""
        begun, self._begun = self._begun, None
        if begun is None or self._layout is None:
            self._take_whole(self._line, text)
        elif starts_like_row(text) or text.startswith("#"):
            self._begun = begun
            self._drop_begun()
            self._take_whole(self._line, text)
        else:
            self._take_row(begun.line, begun.text + text)

    def _drop_begun(self) -> None:
        if self._begun is not None:
            self._attempts += 1
            self._problems.add(Trouble.UNREADABLE, self._begun.line, "a row was broken into and its rest never came")
            self._begun = None

    def _take_whole(self, number: int, text: str) -> None:
        if text.startswith("#") and (layout := layout_of(text)) is not None:
            self._layout = layout
            self._headers += 1
            self._ranks = self._preamble.ranks_of_table()  # every release names the ranks before the table
        elif starts_like_row(text) and self._headers:
            self._take_row(number, text)
        elif not self._preamble.take(text):
            self._take_unknown(number, text)

    def _take_row(self, number: int, text: str) -> None:
        self._attempts += 1
        if self._layout is None or self._ranks is None or self._headers > 1:
            return  # what is wrong with all rows is told at the end, once
        if len(self._rows) >= ROWS_MAX:
            self._problems.add_once(Trouble.BOUNDS, number, f"more than {ROWS_MAX} rows: the rest was not used")
            return
        try:
            row, unmeasured = row_of(without_rank_tags(text), self._layout, self._program, self._ranks)
        except Refusal as refusal:
            self._problems.add(refusal.trouble, number, refusal.text)
            return
        if unmeasured:
            self._problems.add(Trouble.UNMEASURED, number, unmeasured)
        self._rows.append(row)

    def _take_unknown(self, number: int, text: str) -> None:
        shown = "".join(letter if letter.isprintable() else "?" for letter in text.strip()[:SAID_LENGTH])
        if any(failure in text for failure in _FAILURES):
            self._problems.add(Trouble.PROGRAM, number, shown)
        if not shown or text.startswith("#"):
            return
        if len(self._said_first) < SAID_MAX:
            self._said_first.append(shown)
        else:
            self._said_last.append(shown)


def read_text(text: str | bytes, program: str, ranks: int | None = None) -> NcclTestsResult:
    """A whole output at once; for parameters see NcclTestsText."""
    reader = NcclTestsText(program, ranks)
    reader.feed(text.encode() if isinstance(text, str) else text)
    return reader.finish()
