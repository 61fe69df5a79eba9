"""Processes in memory answer and fail as real ones do."""

import errno

import pytest

from exporter.simulator.memory_processes import MemoryProcess, MemoryProcesses

ANN = MemoryProcess(5.0, "0::/a\n", {"HOME": "/home/ann"}, "ann")


def test_a_process_answers_what_it_was_made_with() -> None:
    """All four questions, each counted."""
    processes = MemoryProcesses({7: ANN})

    assert (processes.cgroup(7), processes.environ(7), processes.username(7)) == ("0::/a\n", {"HOME": "/home/ann"}, "ann")
    assert processes.identity(7) == processes.identity(7)
    assert processes.asked == {"cgroup": 1, "environ": 1, "username": 1, "identity": 2}


def test_a_process_that_is_not_there_is_esrch() -> None:
    """For each question, as psutil's."""
    processes = MemoryProcesses()

    for ask in (processes.identity, processes.cgroup, processes.environ, processes.username):
        with pytest.raises(ProcessLookupError):
            ask(7)


def test_a_refusal_is_the_errno_it_names() -> None:
    """Of that question only."""
    processes = MemoryProcesses({7: MemoryProcess(refusals={"environ": errno.EACCES})})

    with pytest.raises(PermissionError):
        processes.environ(7)
    assert processes.cgroup(7) == "0::/\n"


def test_a_number_used_again_has_another_identity() -> None:
    """Same number, later start."""
    processes = MemoryProcesses({7: MemoryProcess(1.0)})
    before = processes.identity(7)
    processes.running[7] = MemoryProcess(2.0)

    assert processes.identity(7) != before
