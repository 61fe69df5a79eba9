"""A worker process of a probe: `python -m exporter.runtime.probe_worker PARENT NICE CORES` obeys the orders on its standard input, a line
each, and answers on its standard output. CORES is "0,1", or "-" for all.

The only process that loads libcuda and libnccl. It ends when it is told to, when its input ends, and with the thread that started it: the
kernel kills it then, in whatever call it is. A first order says whether it is a rank or copies between GPUs.
"""

import ctypes
import os
import queue
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

from exporter.probes.messages import LINE_MAX_BYTES, Abort, Answer, Failed, Join, Order, StartCopies, StartRank, line_of, order_of
from exporter.probes.trouble import EndAskedError, ProbeError, while_running
from exporter.probes.worker.copier import Copier
from exporter.probes.worker.rank import Rank
from exporter.probes.worker.waiting import Waiter
from exporter.runtime.clock import SystemClock

PR_SET_PDEATHSIG = 1
IOPRIO_WHO_PROCESS, IOPRIO_IDLE, SYS_IOPRIO_SET = 1, 3 << 13, {"x86_64": 251, "aarch64": 30}
ALONE_S = 2.0
"""Once nobody gives orders any more, this long to abort in order; then the process ends in the middle of whatever it does."""
FAILED_STATUS, BUG_STATUS = 3, 1


class Orders:
    """Orders in turn, read by a thread of its own, so that Abort is heard while another order is carried out."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._queue: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._end_asked = threading.Event()
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def end_asked(self) -> bool:
        """Whether to drop everything."""
        return self._end_asked.is_set()

    def __iter__(self) -> Iterator[Order]:
        """Until Abort or the end of input."""
        while (order := self._queue.get()) is not None and not self._end_asked.is_set():
            yield order

    def _listen(self) -> None:
        try:
            while line := self._source.readline(LINE_MAX_BYTES):
                order = order_of(line)
                if isinstance(order, Abort):
                    self._end_asked.set()
                    self._queue.put(None)
                else:
                    self._queue.put(order)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"cannot read orders: {error}\n")
        self._end_asked.set()
        self._queue.put(None)
        time.sleep(ALONE_S)
        os._exit(FAILED_STATUS)  # a call of a library holds the main thread


def serve(orders: Orders, tell: Callable[[Answer], None]) -> int:
    """Obey until the end; the exit status."""
    waiter = Waiter(SystemClock(), time.sleep, orders.end_asked)
    worker: Rank | Copier | None = None
    order: Order = Abort()
    try:
        for order in orders:
            if worker is None:
                worker = _begun(order, waiter, tell)
            elif not worker.obey(order):
                return 0
    except EndAskedError:
        pass
    except ProbeError as error:
        reason = error.reason if isinstance(order, StartRank | StartCopies | Join) else while_running(error)
        tell(Failed(reason, error.words))
    if worker is not None:
        worker.abort()
    return FAILED_STATUS


def _begun(order: Order, waiter: Waiter, tell: Callable[[Answer], None]) -> Rank | Copier:
    if isinstance(order, StartRank):
        return Rank(order, waiter, tell)
    if isinstance(order, StartCopies):
        return Copier(order, waiter, tell)
    raise TypeError(f"the first order must be a start, not {type(order).__name__}")


def _be_modest(nice: int, cores: str) -> None:
    """Leave CPUs and disk to others, and no core file. What is refused is done without: a worker may run all the same."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    with suppress(OSError, ValueError):
        if cores != "-":
            os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    number = SYS_IOPRIO_SET.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE)


def main() -> None:
    """Serve standard input and output. What libraries print goes to standard error: output is for answers alone."""
    parent, nice, cores = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED_STATUS)  # it ended before the kernel knew
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is the supervisor's
    _be_modest(nice, cores)
    answers = os.dup(1)
    os.dup2(2, 1)

    def tell(answer: Answer) -> None:
        line = line_of(answer)
        while line:
            line = line[os.write(answers, line) :]

    try:
        status = serve(Orders(sys.stdin.buffer), tell)
    except BrokenPipeError:
        status = FAILED_STATUS
    except Exception:  # noqa: BLE001  # a bug of ours: its last line is what the supervisor tells
        traceback.print_exc()
        status = BUG_STATUS
    sys.stderr.flush()
    os._exit(status)  # no clean-up: the reading thread holds standard input, and libraries have hung after an abort


if __name__ == "__main__":
    main()
