"""Trees of files that misbehave for a benchmark: slow, stuck or counted. Each wraps another Files and has its shape."""

import threading
import time
from collections import Counter
from collections.abc import Callable

from exporter.sources.sysfs import Files


class SlowFiles:
    """Every read takes `delay_s` more, without CPU: firmware that takes its time."""

    def __init__(self, files: Files, delay_s: float) -> None:
        self._delay_s = delay_s
        self._files = files
        self.open, self.close, self.listdir, self.resolve = files.open, files.close, files.listdir, files.resolve

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """A read that waits first."""
        read, delay_s = self._files.pread, self._delay_s

        def slowly(handle: int, size: int, offset: int) -> bytes:
            time.sleep(delay_s)
            return read(handle, size, offset)

        return slowly


class StuckFiles:
    """Once `hang` is called, a read of any file whose path holds `part` does not return before `let_go`. `stuck` counts threads inside,
    `stuck_since_s` is when the first got there (monotonic seconds)."""

    def __init__(self, files: Files, part: str) -> None:
        self._files = files
        self._part = part
        self._stuck_handles: set[int] = set()
        self._hanging = False
        self._released = threading.Event()
        self.stuck = 0
        self.stuck_since_s = float("inf")
        self.close, self.listdir, self.resolve = files.close, files.listdir, files.resolve

    def hang(self) -> None:
        """From now on reads of these files do not return."""
        self._hanging = True

    def let_go(self) -> None:
        """The kernel lets go."""
        self._hanging = False
        self._released.set()

    def open(self, path: str) -> int:
        """A handle; remembered if its file is one of those that get stuck."""
        handle = self._files.open(path)
        if self._part in path:
            self._stuck_handles.add(handle)
        return handle

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """A read that may never return."""
        return self._read

    def _read(self, handle: int, size: int, offset: int) -> bytes:
        if self._hanging and handle in self._stuck_handles:
            self.stuck_since_s = min(self.stuck_since_s, time.monotonic())
            self.stuck += 1
            self._released.wait()
            self.stuck -= 1
        return self._files.pread(handle, size, offset)


class CountedFiles:
    """Counts each call by name in `calls`."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.calls: Counter[str] = Counter()

    def open(self, path: str) -> int:
        """A handle."""
        self.calls["open"] += 1
        return self._files.open(path)

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """A read that is counted."""
        return self._read

    def close(self, handle: int) -> None:
        """Give a handle back."""
        self.calls["close"] += 1
        self._files.close(handle)

    def listdir(self, path: str) -> list[str]:
        """Names in a folder."""
        self.calls["listdir"] += 1
        return self._files.listdir(path)

    def resolve(self, path: str) -> str:
        """Links followed."""
        self.calls["resolve"] += 1
        return self._files.resolve(path)

    def _read(self, handle: int, size: int, offset: int) -> bytes:
        self.calls["pread"] += 1
        return self._files.pread(handle, size, offset)
