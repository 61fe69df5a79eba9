"""A FileSet is a few files of one folder, opened once and read together with one call each.

Knows handles, failures and rests: a file that refuses is left alone for a while, so that a driver that answers EINVAL is not asked (and
the kernel log not written) at every pass. Knows no file's meaning.
"""

import errno
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

from exporter.catalog import limits
from exporter.model.fault import Reason
from exporter.sources.sysfs import Files, reason_of

_TRY_AGAIN = frozenset({errno.EAGAIN, errno.EINTR})
_OFFSETS = repeat(0)
_GONE = frozenset({errno.ENODEV, errno.ENXIO})


class FilePass(NamedTuple):
    """One pass over a FileSet: `raws[i]` belongs to `names[i]`. `names` is the same object from pass to pass while nothing changes."""

    names: tuple[str, ...]
    raws: Sequence[bytes]
    failures: tuple[tuple[str, OSError], ...] = ()


def read_all(pread: Callable[[int, int, int], bytes], handles: Iterable[int], size_bytes: int) -> list[bytes]:
    """One call for each handle. Raises the first OSError."""
    return list(map(pread, handles, repeat(size_bytes), _OFFSETS))


class FileSet:
    """Files `names` below `folder`, up to `size_bytes` of each. Not thread-safe: one device is read by one thread at a time.

    `changed` is called when the files that a quick read covers, or their handles, are no longer what they were.
    """

    def __init__(self, files: Files, folder: str, names: Iterable[str], size_bytes: int = limits.READ_SIZE_BYTES,
                 changed: Callable[[], object] = lambda: None) -> None:  # fmt: skip
        self.folder = folder
        self._changed = changed
        self._size_bytes = size_bytes
        self._files = files
        self._all = tuple(names)
        self._handles: dict[str, int] = {}
        self._rests: dict[str, tuple[float, float]] = {}
        self._active: tuple[str, ...] = ()
        self._active_handles: list[int] = []
        self._wake_s = float("-inf")
        self._pread = files.pread

    def read(self, now_s: float) -> FilePass:
        """Read every file that is not resting. Files that fail are in `failures`, once per attempt; the others are untouched."""
        if self._wake_s <= now_s:
            return self._read_each(now_s)
        try:
            return FilePass(self._active, read_all(self._pread, self._active_handles, self._size_bytes))
        except OSError:
            return self._read_each(now_s)

    @property
    def quiet(self) -> tuple[tuple[str, ...], Sequence[int], float]:
        """Names and handles of the quick read, and the monotonic time until which there is nothing else to do."""
        return self._active, self._active_handles, self._wake_s

    def rest(self, name: str, now_s: float) -> None:
        """Leave a file alone: what it says is of no use now (`N/A (no PMA)`)."""
        _, last_s = self._rests.get(name, (0.0, limits.FILE_REST_S / 2))
        rest_s = min(last_s * 2, limits.FILE_REST_MAX_S)
        self._rests[name] = (now_s + rest_s, rest_s)
        self._settle()

    def close(self) -> None:
        """Give all handles back; the next read opens anew."""
        for handle in self._handles.values():
            self._files.close(handle)
        self._handles.clear()
        self._active, self._active_handles, self._wake_s = (), [], float("-inf")
        self._changed()

    def _read_each(self, now_s: float) -> FilePass:
        """File by file, waking those whose rest is over. A stale handle means the device went: open anew once, it may be back."""
        try:
            return self._attempt(now_s)
        except _StaleHandleError:
            self.close()
        again = self._attempt(now_s, all_fresh=True)
        return again if again.raws else self._lost(FileNotFoundError(errno.ENOENT, "device went away", self.folder))

    def _lost(self, cause: OSError) -> FilePass:
        """Nothing is left: one failure for the whole folder, and no rests, since whatever returns is another device."""
        self.close()
        self._rests.clear()
        return FilePass((), (), ((self.folder, cause),))

    def _attempt(self, now_s: float, *, all_fresh: bool = False) -> FilePass:
        """One try at each file that is due. `all_fresh` says that no handle is kept from before: then ENODEV is the file's own answer and
        costs only the file, as long as another one of the folder can be read. Else raises _StaleHandleError."""
        due = [name for name in self._all if self._rests.get(name, (float("-inf"), 0))[0] <= now_s]
        patience = 1 if len(due) > 1 and all(name in self._rests for name in self._all) else limits.PROBE_FILES
        read: dict[str, bytes] = {}
        failures: list[tuple[str, OSError]] = []
        for position, name in enumerate(due):
            if not read and len(failures) >= patience and _all_refused(failures):
                for skipped in due[position:]:
                    self.rest(skipped, now_s)
                break
            try:
                read[name] = self._read_file(name)
            except _StaleHandleError as stale:
                if not all_fresh:
                    raise
                failures.append((name, stale.cause))
                self.rest(name, now_s)
            except OSError as error:
                failures.append((name, error))
                if reason_of(error) is not Reason.IO:
                    self.rest(name, now_s)
        for name in read:
            self._rests.pop(name, None)
        self._settle()
        return FilePass(tuple(read), list(read.values()), tuple(failures))

    def _read_file(self, name: str) -> bytes:
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = self._files.open(f"{self.folder}/{name}")
            self._pread = self._files.pread
        for last_try in (False, True):
            try:
                return self._pread(handle, self._size_bytes, 0)
            except OSError as error:
                if error.errno in _GONE:
                    raise _StaleHandleError(error) from error
                if last_try or error.errno not in _TRY_AGAIN:
                    raise
        raise AssertionError("unreachable")

    def _settle(self) -> None:
        """Recompute what the quick path reads, and when a rest is over or a file wants another try."""
        self._active = tuple(name for name in self._all if name not in self._rests and name in self._handles)
        self._active_handles = [self._handles[name] for name in self._active]
        self._changed()
        waiting = len(self._active) + len(self._rests) < len(self._all)
        self._wake_s = float("-inf") if waiting else min((until for until, _ in self._rests.values()), default=float("inf"))


class _StaleHandleError(Exception):
    """A kept handle answers ENODEV: on real sysfs it will do so for ever, even when a device of that name returns."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _all_refused(failures: Sequence[tuple[str, OSError]]) -> bool:
    return all(reason_of(error) is Reason.UNSUPPORTED for _, error in failures)
