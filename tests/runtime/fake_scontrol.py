"""A `scontrol` on the PATH: a real program that does what a test tells it, and notes how it was called."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

DRAINED = "NodeName=gpu-1 Arch=x86_64\n   State=IDLE+DRAIN ThreadsPerCore=2\n   Reason=swap optics [root@2026-03-01T09:00:00]\n"
IDLE = "NodeName=gpu-1 Arch=x86_64\n   State=IDLE ThreadsPerCore=2\n"
DRAINED_JSON = '{"nodes": [{"name": "gpu-1", "state": ["IDLE", "DRAIN"], "reason": "swap optics"}]}\n'
REFUSES_JSON = 'case "$*" in *--json*) echo "scontrol: unrecognized option \'--json\'" >&2; exit 1;; esac\n'
"""The beginning of a scontrol before 23.02."""


class FakeScontrol:
    """It prints a text until it is told otherwise. `calls` are the words of each call so far."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / "scontrol"
        self._calls = folder / "calls"
        self._calls.touch()

    def does(self, script: str) -> None:
        """A shell script of its own for the calls from now on."""
        self._program.write_text(f'#!/bin/sh\necho "$*" >> {self._calls}\n{script}')
        self._program.chmod(0o755)

    def prints(self, text: str, before: str = "") -> None:
        """Just that, after running `before`."""
        self.does(f"{before}cat <<'END'\n{text}END\n")

    @property
    def calls(self) -> Sequence[str]:
        """One line for each."""
        return self._calls.read_text().splitlines()


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScontrol:
    """First on the PATH of this process and of what it starts."""
    (folder / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return FakeScontrol(folder / "bin")


def is_running(number: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
