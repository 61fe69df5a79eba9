"""The NVML child as a process: how it is started, ended and waited for. Knows no message and no driver."""

import os
import signal
import subprocess
import sys
from typing import Protocol

MODULE = "exporter.runtime.nvml_child"


class ChildProcess(Protocol):
    """What is asked of a started child (subprocess.Popen)."""

    pid: int

    def poll(self) -> int | None:
        """Its exit status once it has ended."""
        ...

    def wait(self, timeout: float) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        ...

    def send_signal(self, number: int) -> None:
        """Signal it."""
        ...


def launch_child(descriptor: int) -> ChildProcess:
    """A child on that end of a socket, in a session of its own: Ctrl-C in a terminal must not interrupt it within a call. It looks for
    modules where we do, never in the folder that we happen to be in (-P). Raises OSError."""
    return subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
        [sys.executable, "-P", "-m", MODULE, str(descriptor)], pass_fds=(descriptor,), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip


def ended(process: ChildProcess, number: int, wait_s: float) -> bool:
    """Signal it (0: only wait) and tell whether it is gone in time."""
    try:
        if number:
            process.send_signal(number)
        process.wait(timeout=wait_s)
    except subprocess.TimeoutExpired:
        return False
    except ProcessLookupError:
        return process.poll() is not None
    return True


def how_it_ended(status: int | None) -> str:
    """How it ended, in words."""
    if status is None:
        return "it does not speak any more"
    return f"signal {-status}, {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
