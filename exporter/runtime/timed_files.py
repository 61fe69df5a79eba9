"""A tree of files whose every call is timed: what each read costs on this machine. Wraps any Files; knows no file's meaning."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from exporter.runtime.clock import Clock
from exporter.sources.sysfs import Files


@dataclass(slots=True)
class Cost:
    """Durations of one kind of call on one path, in seconds, in order."""

    seconds: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """The middle one; 0 if there was none."""
        return sorted(self.seconds)[len(self.seconds) // 2] if self.seconds else 0.0


class TimedFiles:
    """Files with a ledger of costs by (call, path): `read` is the pread of a kept handle, `open`, `list` and `resolve` the rest.

    Threads may share it: each path belongs to one device, and a device is read by one thread at a time.
    """

    def __init__(self, files: Files, clock: Clock) -> None:
        self.costs: dict[tuple[str, str], Cost] = {}
        self._files = files
        self._clock = clock
        self._paths: dict[int, str] = {}

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """The timed read."""
        return self._pread

    def open(self, path: str) -> int:
        """The timed open. Raises OSError."""
        with self._timed("open", path):
            handle = self._files.open(path)
        self._paths[handle] = path
        return handle

    def close(self, handle: int) -> None:
        """Give a handle back; not timed."""
        self._paths.pop(handle, None)
        self._files.close(handle)

    def listdir(self, path: str) -> list[str]:
        """The timed listing. Raises OSError."""
        with self._timed("list", path):
            return self._files.listdir(path)

    def resolve(self, path: str) -> str:
        """The timed resolution of links. Raises OSError."""
        with self._timed("resolve", path):
            return self._files.resolve(path)

    def _pread(self, handle: int, size: int, offset: int, /) -> bytes:
        with self._timed("read", self._paths.get(handle, "?")):
            return self._files.pread(handle, size, offset)

    @contextmanager
    def _timed(self, call: str, path: str) -> Iterator[None]:
        started_s = self._clock.monotonic_s()
        try:
            yield
        finally:
            self.costs.setdefault((call, path), Cost()).seconds.append(self._clock.monotonic_s() - started_s)
