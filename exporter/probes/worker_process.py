"""One worker of a probe as a process: how it is started, spoken to, signalled and buried. Knows no order's meaning and no deadline.

It leads a session of its own: Ctrl-C in a terminal does not reach it, and a signal to its group reaches all that it starts. It is buried
(waited for) only at the very end: until then its number cannot become somebody else's.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from exporter.probes.messages import LINE_MAX_BYTES, Answer, Order, answer_of, line_of

MODULE = "exporter.runtime.probe_worker"
COMPLAINT_MAX_BYTES = 4096
"""Of what a worker prints to its standard error, the end."""


class WorkerProcess:
    """`rank` is how it is called towards people; None for the one that copies. Raises OSError if it cannot be started."""

    def __init__(self, rank: int | None, nice: int, cores: Sequence[int], environment: Mapping[str, str]) -> None:
        self.rank = rank
        words = [str(os.getpid()), str(nice), ",".join(map(str, cores)) or "-"]
        self._process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
            [sys.executable, "-P", "-m", MODULE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, start_new_session=True, env=dict(environment),
        )  # fmt: skip
        self.pid = self._process.pid
        self.stdin, self.answers, self.complaints = (
            _quiet(pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._unread = bytearray()
        self._complaint = bytearray()
        self.buried: int | None = None
        """Its exit status, a signal below 0, once it is buried."""

    @property
    def name(self) -> str:
        """For a person."""
        return "the process that copies" if self.rank is None else f"rank {self.rank}"

    def send(self, order: Order) -> None:
        """One order. Nothing happens if it is gone or does not read: then no answer comes, and a deadline ends that."""
        with suppress(OSError):  # BlockingIOError: its pipe is full
            os.write(self.stdin, line_of(order))

    def read(self) -> tuple[list[Answer], bool]:
        """Answers that have come, and whether it can give no more. Raises ValueError for what is no answer."""
        piece = _read(self.answers)
        if piece is None:
            return [], False
        self._unread += piece
        *lines, rest = self._unread.split(b"\n")
        self._unread = bytearray(rest)
        if len(rest) > LINE_MAX_BYTES:
            raise ValueError(f"a line of more than {LINE_MAX_BYTES} bytes")
        return [answer_of(bytes(line)) for line in lines], not piece

    def read_complaints(self) -> bool:
        """Keep the end of what it printed; False once it can print no more."""
        piece = _read(self.complaints)
        if piece:
            self._complaint = (self._complaint + piece)[-COMPLAINT_MAX_BYTES:]
        return piece != b""

    def last_words(self) -> str:
        """The last line that it printed to its standard error; "" if none."""
        lines = self._complaint.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def signal(self, number: signal.Signals) -> None:
        """To it and all that it started."""
        if self.buried is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def has_ended(self) -> bool:
        """Whether it has, buried or not."""
        if self.buried is not None:
            return True
        return _status(self.pid) is not None

    def how_it_ended(self) -> str:
        """In words; "it still runs" if so."""
        status = self.buried if self.buried is not None else _status(self.pid)
        if status is None:
            return "it still runs"
        known = {one.value: one.name for one in signal.Signals}
        return f"signal {-status}, {known.get(-status, 'unnamed')}" if status < 0 else f"exit status {status}"

    def close_input(self) -> None:
        """Nobody gives it orders any more."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def bury(self) -> None:
        """Once it has ended: what it started ends as well, and nothing of it is left here."""
        self.signal(signal.SIGKILL)
        self.buried = self._process.wait()
        self.close_pipes()

    def close_pipes(self) -> None:
        """Ours. Of a process that cannot be ended this is all that can be done."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def _status(pid: int) -> int | None:
    """The exit status of a child that has ended, a signal below 0, without burying it; None if it still runs."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0  # somebody else waited for it
    if found is None or found.si_code not in {os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED}:
        return None  # a debugger may have stopped it
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _quiet(pipe: object) -> int:
    """The descriptor of a pipe, which never keeps us waiting from now on."""
    descriptor: int = pipe.fileno()  # type: ignore[attr-defined]  # asked for as a pipe above
    os.set_blocking(descriptor, False)
    return descriptor


def _read(descriptor: int) -> bytes | None:
    """What is there, empty at the end, None if nothing is there now."""
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return None
    except OSError:
        return b""
