"""The NVML child: `python -m exporter.runtime.nvml_child FD` reads GPUs for the daemon at the other end of that socket, and nothing else.

The only process that loads the driver's library. It answers one request after the other; if a call never comes back, it is given up as a
whole. It ends by itself when the daemon is gone, and when the driver said that only a fresh process may get an answer. SIGTERM lets the
call that is under way finish: killing a process within one has wedged GPUs (NVIDIA/dcgm-exporter#84).
"""

import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from exporter.model.metric import Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.learned_nvlinks import LearnedNvlinks
from exporter.runtime.snapshot_codec import Encoder
from exporter.runtime.worker_messages import (
    ClosedError,
    NotScanned,
    Parting,
    ReadRequest,
    ScanAnswer,
    ScanRequest,
    Setup,
    receive_object,
    send,
)
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.gpu_reader import GpuReader
from exporter.sources.nvlink import NvlinkSource
from exporter.sources.nvml_session import Nvml


class _Names:
    """Names that the daemon gave, and addresses it has yet to name."""

    def __init__(self) -> None:
        self.known: Mapping[str, str] = {}
        self.unnamed: tuple[str, ...] = ()

    def __call__(self, present: Collection[str]) -> Mapping[str, str]:
        """Those known of these."""
        self.unnamed = tuple(address for address in present if address not in self.known)
        return {address: self.known[address] for address in present if address in self.known}


class Child:
    """Answers requests. `setup` as the daemon sent it."""

    def __init__(self, setup: Setup) -> None:
        self._names = _Names()
        self._learned = LearnedNvlinks(None)
        self._learned.merge(setup.learned)
        self.source = NvlinkSource(
            _opened(setup), DeviceFilter(setup.include, setup.exclude).wants, slots=self._names, learned=self._learned,
            configured=setup.configured, full=setup.full, xid_events=setup.xid_events,
            with_processes=setup.with_processes, with_device_ids=setup.with_device_ids,
        )  # fmt: skip
        self._readers: dict[str, GpuReader] | None = None
        """None until the first scan."""
        self._encoder = Encoder()

    def answer(self, request: object) -> bytes:
        """The message that answers a request. A request that is none of ours raises TypeError."""
        snapshots: tuple[Snapshot, ...] = ()
        extra: object = None
        if isinstance(request, ReadRequest):
            snapshots, extra = self._read(request)
        elif isinstance(request, ScanRequest):
            snapshots, extra = self._scan(request)
        else:
            raise TypeError(f"no request: {type(request).__name__}")
        if self.source.spent is not None:
            extra = Parting(extra, *self.source.spent)
        return self._encoder.encode(snapshots, extra)

    def _read(self, request: ReadRequest) -> tuple[tuple[Snapshot, ...], NotScanned | None]:
        """A Snapshot for each GPU and cadence; GPU by GPU, so that the times of one are close together."""
        readers = self._readers
        if readers is None:
            return (), NotScanned()
        return tuple(
            reader.read(Cadence(cadence), time.time(), time.monotonic())
            for subject in request.subjects
            if (reader := readers.get(subject)) is not None
            for cadence in request.cadences
        ), None

    def _scan(self, request: ScanRequest) -> tuple[tuple[Snapshot, ...], ScanAnswer]:
        self._names.known = request.names
        scan = self.source.scan(time.time(), time.monotonic())
        self._readers = {reader.subject: reader for reader in scan.readers}
        subjects = {name: tuple(reader.cadences) for name, reader in self._readers.items()}
        return (scan.snapshot,), ScanAnswer(subjects, self._names.unnamed, self._learned.everything, self.source.facts)


def _opened(setup: Setup) -> Nvml:
    module, _, function = setup.opener.partition(":")
    opener: Callable[..., Nvml] = getattr(import_module(module), function)
    return opener(time.monotonic, *setup.arguments)


def serve(sock: socket.socket) -> None:
    """Answer until the other end is gone or the driver is done with this process. Lets go of every GPU in the end."""
    try:
        setup = receive_object(sock)
    except ClosedError:
        return  # the daemon was gone, or had no use for us any more, before it said what to do
    if not isinstance(setup, Setup):
        raise TypeError("the first message must be a Setup")
    child = Child(setup)
    try:
        while child.source.spent is None:
            send(sock, child.answer(receive_object(sock)))
    except ClosedError:
        return
    finally:
        child.source.close()


def _end(_number: int, _frame: object) -> None:
    """Runs once the driver's call that was under way has come back. A second SIGTERM must not disturb letting go."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(0)


def main() -> None:
    """Serve the socket whose descriptor is the first argument."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group; the daemon decides when we end
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
