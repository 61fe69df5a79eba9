"""A recorder that is killed at any point leaves a file that opens, and loses no more than its last row."""

import subprocess
import sys
from pathlib import Path

TIMES = 30
"""`make recorder-kills` does 200."""
ROOT = Path(__file__).parents[2]


def test_a_killed_recorder_leaves_a_whole_file(tmp_path: Path) -> None:
    """A real process and SIGKILL, at random points of opening, writing, and making room."""
    argv = [sys.executable, "-m", "tests.recorder.kills", str(tmp_path), "--times", str(TIMES)]

    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TIMES} kills" in done.stdout
