"""The daemon's end of the NVML child: one process, one question at a time, a deadline for each, and never a second child beside a first.

A child that does not answer is asked to end (SIGTERM: the driver's call that it is in may finish), then killed, and if the kernel holds it
even then it is stuck: nothing is started until it is gone. Knows no metric and no driver.
"""

import logging
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from exporter.catalog import limits
from exporter.model.fault import Reason
from exporter.model.snapshot import Snapshot
from exporter.runtime.child_process import ChildProcess, ended, how_it_ended, launch_child
from exporter.runtime.clock import Clock
from exporter.runtime.snapshot_codec import Decoder
from exporter.runtime.worker_messages import ClosedError, Parting, Setup, receive, send_object

log = logging.getLogger("fabric_exporter.worker")
RELEASED = "the GPUs are released; `fabric-exporter resume` takes them back"
END_S = 3.0
"""At the daemon's own end a child may take so long to finish its call; after that it is left to end by itself, which it will."""


class WorkerError(Exception):
    """There is no answer: why, in the house's words and in one line for a person."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: for an answer, to end when asked to, to be gone when killed; and the pause before the next start, least and most."""

    answer_s: float = limits.CHILD_ANSWER_S
    term_s: float = limits.CHILD_TERM_S
    kill_s: float = limits.CHILD_KILL_S
    back_off_s: float = limits.CHILD_BACK_OFF_S
    back_off_max_s: float = limits.CHILD_BACK_OFF_MAX_S


class Worker:
    """Asks, from any thread. `setup` makes the first message for each new child, `launch` starts it on a descriptor."""

    def __init__(self, setup: Callable[[], Setup], clock: Clock, patience: Patience | None = None,
                 launch: Callable[[int], ChildProcess] | None = None) -> None:  # fmt: skip
        self._setup = setup
        self._launch = launch or launch_child
        self._clock = clock
        self._patience = patience or Patience()
        self._turn = threading.Lock()
        """Held by the thread whose question is being answered."""
        self._process: ChildProcess | None = None
        self._socket: socket.socket | None = None
        self._decoder = Decoder()
        self._failures = 0
        self._not_before_s = 0.0
        self._why: WorkerError | None = None
        self._released = False
        self._closed = False
        self._stuck = False
        self._dismissed: ChildProcess | None = None
        """Whom we told to end: its end is no failure."""
        self.unknown_since_s: float | None = None
        """Since when the driver has said nothing but Unknown Error; None if it does not."""
        self.generation = 0
        """Grows with each child that was started."""

    @property
    def is_released(self) -> bool:
        """True between release and resume."""
        return self._released

    def child(self) -> int | None:
        """Process id of the child there is, stuck or not; None without one."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def is_stuck(self) -> bool:
        """True while a child that was killed is still there: the kernel holds it in a call of the driver."""
        return self._stuck and self.child() is not None

    def ask(self, request: object) -> tuple[tuple[Snapshot, ...], object]:
        """Snapshots and `extra` of the child's answer; starts a child if there is none and its time has come. Raises WorkerError."""
        if not self._turn.acquire(timeout=self._patience.answer_s):
            raise WorkerError(Reason.TIMEOUT, "the driver has not answered an earlier question yet")
        try:
            return self._ask(request)
        finally:
            self._turn.release()

    def release(self) -> tuple[bool, str]:
        """End the child, so that no handle on a GPU is open; nothing is started until `resume`. Waits for a question under way, at most
        as long as that may take."""
        self._released, self.unknown_since_s = True, None
        if self.child() is None:
            return True, "the GPUs are free: no process of ours holds them"
        asked = self._end_now(self._patience.answer_s)
        if self.child() is None:
            return True, "the GPUs are free: the process that held them has ended"
        return False, f"process {asked} has not ended yet: it is in a call of the driver; it lets go as soon as that comes back"

    def resume(self) -> tuple[bool, str]:
        """Read the GPUs again, from the next pass on."""
        was = self._released
        self._released = False
        self._failures, self._not_before_s = 0, 0.0
        return True, "the GPUs are read again from the next pass on" if was else "the GPUs were not released; nothing to do"

    def restart(self) -> None:
        """Tell the child to end and wait for nothing; the next question sees it off and starts one that is told what is so by then."""
        self._end_now(0.0)
        self._failures, self._not_before_s = 0, 0.0

    def close(self) -> None:
        """The daemon ends: ask the child to end, and wait for it a little."""
        self._closed = True
        self._end_now(END_S)

    def _ask(self, request: object) -> tuple[tuple[Snapshot, ...], object]:
        sock = self._connected()
        try:
            sock.settimeout(self._patience.answer_s)
            send_object(sock, request)
            snapshots, extra = self._decoder.decode(receive(sock))
        except TimeoutError:
            raise self._give_up() from None
        except ClosedError:
            raise self._bury() from None
        if isinstance(extra, Parting):
            self._part(extra)
            extra = extra.last
        elif any(snapshot.readings for snapshot in snapshots):
            self._failures, self.unknown_since_s = 0, None
        return snapshots, extra

    def _connected(self) -> socket.socket:
        """The socket of a child that lives; a new one if it may be started now. Raises WorkerError if not."""
        if self._released or self._closed:
            raise WorkerError(Reason.RELEASED, RELEASED)
        if self._process is not None and self._socket is None and not self._see_off(self._process):
            raise _stuck_error(self._process.pid)
        if self._socket is not None:
            return self._socket
        if self._why is not None and self._clock.monotonic_s() < self._not_before_s:
            raise self._why
        return self._start()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            self._process = self._launch(theirs.fileno())
        except OSError as error:
            ours.close()
            raise self._postpone(WorkerError(Reason.EXHAUSTED, f"cannot start a process for the driver: {error.strerror}")) from None
        finally:
            theirs.close()
        self.generation += 1
        self._socket, self._decoder = ours, Decoder()
        if self._released or self._closed:  # since we looked, by another thread that saw no child; this one has opened nothing yet
            raise self._bury()
        try:
            ours.settimeout(self._patience.answer_s)
            send_object(ours, self._setup())
        except (TimeoutError, ClosedError):
            raise self._bury() from None
        return ours

    def _give_up(self) -> WorkerError:
        """The child did not answer in time: up the ladder. Returns what to say."""
        process = self._process
        assert process is not None  # noqa: S101  # a question was sent to it
        self._hang_up()
        log.warning("the driver does not answer; ending the process that asks it source=nvlink elapsed_s=%g", self._patience.answer_s)
        detail = f"a call of the driver has not come back for {self._patience.answer_s:g} s; its process was ended"
        why = WorkerError(Reason.TIMEOUT, detail)
        return self._postpone(why) if self._see_off(process) else _stuck_error(process.pid)

    def _see_off(self, process: ChildProcess) -> bool:
        """Up the ladder, once for each process that we have no use for any more; True if it is gone."""
        ladder = ((signal.SIGTERM, self._patience.term_s), (signal.SIGKILL, self._patience.kill_s))
        gone = process.poll() is not None if self._stuck else any(ended(process, number, wait_s) for number, wait_s in ladder)
        if gone and self._stuck:
            log.warning("the stuck process is gone source=nvlink")
        elif not gone and not self._stuck:
            log.error("process %d is stuck in the driver and cannot be killed source=nvlink; GPUs are not read until it is gone",
                      process.pid)  # fmt: skip
        self._stuck = not gone
        if gone:
            self._process = None
        return gone

    def _bury(self) -> WorkerError:
        """The child ended by itself. Returns what to say."""
        process = self._process
        self._hang_up()
        if process is None or self._released or self._closed:
            return WorkerError(Reason.RELEASED, RELEASED)
        if process is self._dismissed:
            return WorkerError(Reason.RELEASED, "the process that asks the driver was told to end; the next pass starts another")
        ended(process, 0, self._patience.kill_s)
        self._process = None if process.poll() is not None else process
        detail = f"the process that asks the driver ended ({how_it_ended(process.poll())}); it is started again"
        return self._postpone(WorkerError(Reason.DRIVER, detail))

    def _part(self, parting: Parting) -> None:
        """The child ends itself after this answer."""
        process = self._process
        self._hang_up()
        if process is not None and ended(process, 0, self._patience.kill_s):
            self._process = None
        self._postpone(WorkerError(parting.reason, parting.detail))

    def _postpone(self, why: WorkerError) -> WorkerError:
        """No new child for a while, longer each time."""
        wait_s = min(self._patience.back_off_s * 2.0**self._failures, self._patience.back_off_max_s)
        self._failures += 1
        now_s = self._clock.monotonic_s()
        self._not_before_s = now_s + wait_s
        self._why = why
        if why.reason is not Reason.UNKNOWN:
            self.unknown_since_s = None
        elif self.unknown_since_s is None:
            self.unknown_since_s = now_s
        return why

    def _hang_up(self) -> None:
        sock, self._socket = self._socket, None
        if sock is not None:
            sock.close()

    def _end_now(self, wait_s: float) -> int | None:
        """Ask the child to end, whoever waits for its answer; its id."""
        process = self._process
        if process is None:
            return None
        self._dismissed = process
        ended(process, signal.SIGTERM, wait_s)
        if self._turn.acquire(blocking=False):
            try:
                self._hang_up()
                if process.poll() is not None:
                    self._process = None
            finally:
                self._turn.release()
        return process.pid


def _stuck_error(pid: int) -> WorkerError:
    return WorkerError(Reason.TIMEOUT, f"process {pid} is stuck in the driver and cannot be ended; no other is started beside it")
