"""One daemon for one state directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.runtime.state_dir import LOCK, StateInUseError, lock_state_dir

HOLD = "import sys; from exporter.runtime.state_dir import lock_state_dir; lock_state_dir(sys.argv[1]); print('held', flush=True); input()"
FORK = """
import os, sys, time
from exporter.runtime.state_dir import lock_state_dir
lock_state_dir(sys.argv[1])
child = os.fork()
if child == 0:
    time.sleep(60)
print(child, flush=True)
input()
"""


def other(folder: Path, program: str) -> "subprocess.Popen[str]":
    """Another process that holds the directory, once it has said so."""
    return subprocess.Popen([sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_second_process_is_told_whose_it_is(tmp_path: Path) -> None:
    """And gets it once the first is gone, however it ended."""
    with other(tmp_path, HOLD) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(StateInUseError, match=f"{tmp_path} is in use by process {first.pid}: stop that daemon"):
            lock_state_dir(str(tmp_path))
        first.kill()
    lock = lock_state_dir(str(tmp_path))

    assert lock is not None
    assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"

    lock.release()


def test_a_child_that_outlives_the_daemon_keeps_nobody_out(tmp_path: Path) -> None:
    """The NVML child may be held by the kernel for ever."""
    with other(tmp_path, FORK) as first:
        assert first.stdout is not None
        child = int(first.stdout.readline())
        first.kill()
        first.wait()
        try:
            lock = lock_state_dir(str(tmp_path))
        finally:
            os.kill(child, 9)

    assert lock is not None

    lock.release()


def test_where_nothing_can_be_written_nobody_is_kept_out(tmp_path: Path) -> None:
    """There is nothing to fight over."""
    assert lock_state_dir(str(tmp_path / "nowhere")) is None
    assert lock_state_dir("/proc") is None
