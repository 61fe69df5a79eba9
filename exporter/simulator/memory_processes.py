"""Processes in memory, of the shape of `exporter.sources.psutil_processes.PsutilProcesses`, that a test or simulator starts and ends.

Knows no GPU and no job.
"""

import errno
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemoryProcess:
    """One process. `refusals` maps what may not be asked (`cgroup`, `environ`, `username`) to the errno with which it fails."""

    start_s: float = 0.0
    cgroup: str = "0::/\n"
    environ: Mapping[str, str] = field(default_factory=dict)
    username: str = "root"
    refusals: Mapping[str, int] = field(default_factory=dict)


class MemoryProcesses:
    """Processes by number; `asked` counts the questions by kind, failed ones included. Change `running` to start and end them."""

    def __init__(self, running: Mapping[int, MemoryProcess] | None = None) -> None:
        self.running: dict[int, MemoryProcess] = dict(running or {})
        self.asked: Counter[str] = Counter()

    def identity(self, pid: int) -> object:
        """Number and start time. Raises OSError ESRCH if there is no such process."""
        return pid, self._ask("identity", pid).start_s

    def cgroup(self, pid: int) -> str:
        """As above; or the process's refusal."""
        return self._ask("cgroup", pid).cgroup

    def environ(self, pid: int) -> Mapping[str, str]:
        """As above."""
        return self._ask("environ", pid).environ

    def username(self, pid: int) -> str:
        """As above."""
        return self._ask("username", pid).username

    def _ask(self, what: str, pid: int) -> MemoryProcess:
        self.asked[what] += 1
        process = self.running.get(pid)
        code = errno.ESRCH if process is None else process.refusals.get(what)
        if process is None or code is not None:
            raise OSError(code, os.strerror(code or errno.ESRCH), pid)
        return process
