"""One command, bounded in time and in what it may print."""

import sys
import threading
import time
from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.runtime.bounded_command import COMPLAINT_MAX_BYTES, BoundedCommand, Finished
from exporter.runtime.clock import SystemClock
from exporter.runtime.origin import OriginError
from tests.runtime.fake_scontrol import is_running
from tests.runtime.fakes import PATIENCE_S


@pytest.fixture
def command() -> BoundedCommand:
    """By the machine's clock."""
    return BoundedCommand(SystemClock())


def failure(command: BoundedCommand, *argv: str, timeout_s: float = PATIENCE_S) -> OriginError:
    """Why it gives nothing."""
    with pytest.raises(OriginError) as caught:
        command.run(argv, timeout_s)
    return caught.value


def test_it_tells_what_was_printed_and_how_it_ended(command: BoundedCommand) -> None:
    """Both streams; a failing command is no error of ours."""
    assert command.run(["sh", "-c", "echo yes; echo why >&2; exit 3"], PATIENCE_S) == Finished(3, b"yes\n", b"why\n")


def test_no_shell_reads_its_words(command: BoundedCommand) -> None:
    """Nor is there any input."""
    assert command.run(["echo", "$HOME; reboot"], PATIENCE_S).printed == b"$HOME; reboot\n"
    assert command.run(["cat"], PATIENCE_S) == Finished(0, b"", b"")


@pytest.mark.parametrize(("words", "reason"), [(["no-such-command"], Reason.ABSENT), (["/etc/passwd"], Reason.DENIED)])
def test_a_command_that_cannot_be_started_is_named(words: list[str], reason: Reason, command: BoundedCommand) -> None:
    """Not there, not executable."""
    error = failure(command, *words)

    assert error.reason is reason
    assert words[0] in error.detail


def test_when_its_time_is_up_it_is_killed_with_what_it_started(command: BoundedCommand, tmp_path: Path) -> None:
    """Also a child that ignores SIGTERM and holds the streams open."""
    script = f"trap '' TERM; sleep 1000 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/self; wait"
    began_s = time.monotonic()
    error = failure(command, "sh", "-c", script, timeout_s=0.5)
    took_s = time.monotonic() - began_s
    numbers = [int((tmp_path / name).read_text()) for name in ("child", "self")]

    assert error.reason is Reason.TIMEOUT
    assert took_s < PATIENCE_S
    deadline_s = time.monotonic() + PATIENCE_S
    while any(map(is_running, numbers)) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not any(map(is_running, numbers))


def test_a_dripping_command_gains_no_time(command: BoundedCommand) -> None:
    """A byte now and then is no answer."""
    assert failure(command, "sh", "-c", "while echo x; do sleep 0.05; done", timeout_s=0.5).reason is Reason.TIMEOUT


def test_a_flood_is_cut_off(command: BoundedCommand) -> None:
    """Of complaints only the beginning is kept; the flood of an answer ends it."""
    assert failure(command, "yes").reason is Reason.LIMIT
    assert len(command.run(["sh", "-c", "yes | head -c 300000 >&2"], PATIENCE_S).complaint) == COMPLAINT_MAX_BYTES


def test_another_thread_may_give_it_up(command: BoundedCommand) -> None:
    """At once; afterwards nothing is started any more."""
    ended: list[object] = []
    thread = threading.Thread(target=lambda: ended.append(command.run([sys.executable, "-c", "import time; time.sleep(1000)"], 900.0)))
    thread.start()
    while command._process is None:
        time.sleep(0.01)
    began_s = time.monotonic()
    command.close()
    closed_s = time.monotonic() - began_s
    thread.join(PATIENCE_S)

    assert closed_s < 1.0
    assert not thread.is_alive()
    assert [finished.status for finished in ended if isinstance(finished, Finished)] == [-9]
    assert failure(command, "echo").reason is Reason.RELEASED
