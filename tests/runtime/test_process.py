"""State directory, limit of open files, clocks, waiting."""

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.runtime.clock import ManualClock, SystemClock
from exporter.runtime.open_files import SPARE, WANTED, raise_limit
from exporter.runtime.pause import pause
from exporter.runtime.state_dir import open_state_dir


def test_state_directory_is_made_and_left_empty(tmp_path: Path) -> None:
    """With its parents; the attempt to write leaves nothing behind."""
    state = open_state_dir(str(tmp_path / "a" / "b"))

    assert (state.writable, state.problem) == (True, None)
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_state_directory_that_is_there_keeps_its_files(tmp_path: Path) -> None:
    """A restart finds what was learned."""
    (tmp_path / "links.json").write_text("{}")

    assert open_state_dir(str(tmp_path)).writable
    assert [path.name for path in tmp_path.iterdir()] == ["links.json"]


@pytest.mark.parametrize("name", ["file", "file/below", "loop/below", "x" * 300, "nul\0byte", "lone\ud800surrogate", "/proc/fabric"])
def test_state_directory_that_cannot_be_written_is_a_line_and_no_exception(tmp_path: Path, name: str) -> None:
    """It says which directory, why, and what to do. (Root may write where a mode forbids it, so no mode is tried here.)"""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    state = open_state_dir(os.path.join(tmp_path, name))

    assert not state.writable
    assert state.problem is not None
    assert state.problem.startswith(f"state directory {state.path}: ")
    assert state.problem.endswith("Set state.dir or make it writable")


def test_state_directory_without_a_name_is_refused() -> None:
    """Not the working directory by mistake."""
    assert not open_state_dir("").writable


@pytest.fixture
def low_limit() -> Iterator[tuple[int, int]]:
    """The soft limit of open files lowered for the test; (soft, hard)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = max(256, 64 + len(os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    yield low, hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_limit_of_open_files_is_raised_as_far_as_it_goes(low_limit: tuple[int, int]) -> None:
    """To what is wanted or to the hard limit; some handles are left for connections."""
    hard = low_limit[1]
    reachable = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)

    assert raise_limit() == (reachable - SPARE) * 4 // 5  # the rest is for their folders
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (reachable, hard)


def test_handles_for_connections_are_left_free(low_limit: tuple[int, int]) -> None:
    """As many as the caller names; never less than none for files."""
    without = raise_limit()

    assert raise_limit(1000) == without - 800
    assert raise_limit(10**9) == 0


def test_raising_twice_changes_nothing(low_limit: tuple[int, int]) -> None:
    """The limit is never lowered."""
    first = raise_limit()

    assert raise_limit() == first


def test_refusal_to_raise_is_logged_and_survived(low_limit: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A seccomp filter or a container runtime may forbid it: files beyond the limit are opened at each read."""

    def refuse(kind: int, limits: tuple[int, int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(resource, "setrlimit", refuse)

        assert raise_limit() == (low_limit[0] - SPARE) * 4 // 5


def test_virtual_time_stands_still_until_it_is_advanced() -> None:
    """Wall time runs beside it."""
    clock = ManualClock(1000.0)
    before = clock.monotonic_s(), clock.wall_s()
    clock.advance(2.5)

    assert before == (0.0, 1000.0)
    assert (clock.monotonic_s(), clock.wall_s()) == (2.5, 1002.5)


def test_machine_time_never_goes_back() -> None:
    """Monotonic time and CPU time of the thread."""
    clock = SystemClock()
    readings = [(clock.monotonic_s(), clock.thread_cpu_s()) for _ in range(100)]

    assert readings == sorted(readings)


def test_cpu_time_is_that_of_the_thread() -> None:
    """A new thread has used next to none of what this one has."""
    clock = SystemClock()
    used = [clock.thread_cpu_s()]
    while clock.thread_cpu_s() < 0.02:
        pass
    thread = threading.Thread(target=lambda: used.append(clock.thread_cpu_s()))
    thread.start()
    thread.join(30)

    assert used[1] < clock.thread_cpu_s()


def test_pause_of_no_time_returns() -> None:
    """Nothing to wait for."""
    pause(0.0)
