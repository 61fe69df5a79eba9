"""The maintenance file: an administrator, a playbook or `fabric-exporter maintenance on` puts it there while somebody works on the node."""

import logging
import os
import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from exporter.config.duration import format_duration
from exporter.model.maintenance import FILE, UNTIL, Claim, Maintenance, merged, of_file
from exporter.runtime.whole_file import write_whole

NAME = "maintenance"
"""In the state directory, unless configured."""
SIZE_MAX_BYTES = 4096
log = logging.getLogger("fabric_exporter.health")


class MaintenanceFile:
    """Looked at once a tick; read only when it changed. `problem` is None, or a line on what is wrong with it, logged once. `others` are
    claims of whoever else may say that somebody works on the node, from memory: all are told together."""

    def __init__(self, path: str, others: Callable[[], Iterable[Claim]] = tuple) -> None:
        self.path = path
        self._others = others
        self.problem: str | None = None
        self._mark: tuple[int, int, int] | None = None
        self._claim: Claim | None = None

    def at(self, wall_s: float) -> Maintenance:
        """Whether somebody works on the node at that time. A file that cannot be read counts: whoever made it meant something by it."""
        try:
            about = os.stat(self.path)
        except OSError:
            self._mark = self._claim = self.problem = None
            return merged(self._others(), wall_s)
        mark = about.st_ctime_ns, about.st_size, about.st_ino  # not mtime: a file that may be read from now on changed
        if mark != self._mark:
            self._mark = mark
            self._claim, self.problem = self._read() if stat.S_ISREG(about.st_mode) else self._unreadable("is no regular file")
            if self.problem is not None:
                log.warning(self.problem)
        return merged((self._claim, *self._others()), wall_s)

    def begin(self, wall_s: float, for_s: float | None, reason: str) -> str:
        """Say that maintenance begins, for that long if told. Returns the line for who asked. Raises OSError."""
        until = "" if for_s is None else f"{UNTIL} {datetime.fromtimestamp(wall_s + for_s, UTC).isoformat(timespec='seconds')}\n"
        write_whole(self.path, until + (f"{' '.join(reason.split())}\n" if reason else ""))  # the first `until:` counts, and it is ours
        return "maintenance is on" + (f" for {format_duration(for_s)}" if for_s is not None else " until it is switched off")

    def end(self) -> str:
        """Say that it is over. Returns the line for who asked. Raises OSError."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            return "maintenance was not on; nothing to do"
        return "maintenance is off"

    def _read(self) -> tuple[Claim, str | None]:
        try:
            with open(self.path, "rb") as file:
                claim, problem = of_file(file.read(SIZE_MAX_BYTES))
        except OSError as error:
            return self._unreadable(error.strerror or "cannot be read")
        return claim, f"{self.path}: {problem}" if problem else None

    def _unreadable(self, why: str) -> tuple[Claim, str]:
        return Claim(FILE), f"{self.path}: {why}; the node counts as in maintenance until it is removed"
