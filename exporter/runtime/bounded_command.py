"""One command of somebody else's, bounded in time and in what it may print: no shell, no input, and when its time is up it is killed with
all that it started. Knows no command; for a thread that may wait."""

import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from exporter.model.fault import Reason
from exporter.runtime.child_process import ended
from exporter.runtime.clock import Clock
from exporter.runtime.origin import OriginError

PRINTED_MAX_BYTES = 4 << 20
"""A thousand nodes as JSON; the one that is asked for has some 3 kB."""
COMPLAINT_MAX_BYTES = 4096
GONE_S = 1.0
"""A killed process has gone by now, or the kernel holds it, as on a file server that does not answer."""


class Finished(NamedTuple):
    """How it ended (an exit status, or a signal below 0), and what it printed; of its complaints the beginning."""

    status: int
    printed: bytes
    complaint: bytes


class BoundedCommand:
    """Runs one command at a time, for one thread; `close` may be called by any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def run(self, argv: Sequence[str], timeout_s: float) -> Finished:
        """What came of it. Raises OriginError if it cannot be started, does not end in time or prints too much; never starts one beside
        another that cannot be killed."""
        until_s = self._clock.monotonic_s() + timeout_s
        process = self._started(argv)
        try:
            self._refuse_if_closed(argv)  # while it was being started, when nobody could kill it
            printed, complaint = self._gather(process, until_s)
            status = process.wait(max(0.0, until_s - self._clock.monotonic_s()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise OriginError(Reason.TIMEOUT, f"{argv[0]} has not ended within {timeout_s:.3g} s and was killed") from None
        finally:
            self._see_off(process)
        return Finished(status, printed, complaint)

    def close(self) -> None:
        """Kill what runs, and wait for nothing; the next `run` fails."""
        self._closed = True
        process = self._process
        if process is not None:
            _kill(process)

    def _refuse_if_closed(self, argv: Sequence[str]) -> None:
        if self._closed:
            raise OriginError(Reason.RELEASED, f"{argv[0]} is not waited for: nobody wants to know any more")

    def _started(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        held = self._process
        if held is not None and held.poll() is None:
            raise OriginError(Reason.TIMEOUT, f"process {held.pid} of an earlier try cannot be ended; no other is started beside it")
        self._refuse_if_closed(argv)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # a list of words that the configuration gives; no shell reads them
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except FileNotFoundError:
            raise OriginError(Reason.ABSENT, f"there is no command {argv[0]} on this daemon's PATH") from None
        except PermissionError:
            raise OriginError(Reason.DENIED, f"this user may not run {argv[0]}") from None
        except (OSError, ValueError) as error:
            raise OriginError(Reason.EXHAUSTED, f"cannot start {argv[0]}: {error}") from None
        return self._process

    def _gather(self, process: "subprocess.Popen[bytes]", until_s: float) -> tuple[bytes, bytes]:
        """All that it prints until it has closed both streams. Raises TimeoutError."""
        assert process.stdout is not None  # noqa: S101  # asked for above
        assert process.stderr is not None  # noqa: S101
        printed, complaint = bytearray(), bytearray()
        with selectors.DefaultSelector() as streams:
            streams.register(process.stdout, selectors.EVENT_READ, printed)
            streams.register(process.stderr, selectors.EVENT_READ, complaint)
            while streams.get_map():
                ready = streams.select(max(0.0, until_s - self._clock.monotonic_s()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    piece = os.read(key.fd, 65_536)
                    if not piece:
                        streams.unregister(key.fileobj)
                    key.data.extend(piece)
                del complaint[COMPLAINT_MAX_BYTES:]
                if len(printed) > PRINTED_MAX_BYTES:
                    raise OriginError(Reason.LIMIT, f"it prints more than {PRINTED_MAX_BYTES >> 20} MiB and was killed")
                if self._clock.monotonic_s() >= until_s:
                    raise TimeoutError
        return bytes(printed), bytes(complaint)

    def _see_off(self, process: "subprocess.Popen[bytes]") -> None:
        """Nothing of it is left, unless the kernel holds it: then it stays in mind."""
        _kill(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if process.poll() is not None or ended(process, 0, GONE_S):
            self._process = None


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """It and all of its session, unless it has ended and been seen off."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # gone meanwhile, or another user's by set-user-id
            os.killpg(process.pid, signal.SIGKILL)
