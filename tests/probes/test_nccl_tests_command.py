"""How nccl-tests is called: only with what the program at hand knows, and without settings of others."""

import pytest

from exporter.probes.nccl_tests.command import BANDWIDTH, LATENCY, command, supported_options, without_settings

LETTERS = {
    "v1.0.0": "tgbeifnwspcodrzh",
    "v2.0.0": "tgbeifnmwpcodrzyklh",
    "v2.10.0": "tgbeifnmwpcodrzGah",
    "v2.13.4": "tgbeifnmwpcodrzyTGCah",
    "v2.17.3": "tgbeifnmwNpcodrzyTGCJaRxDVh",
    "v2.19.6": "tgbeifnmwNpcodrzyTGCSJaRxDVMuIKh",
}
"""Options of releases, from their usage texts."""


def usage(letters: str) -> str:
    """A usage text in the form that every release prints."""
    return "USAGE: all_reduce_perf \n\t" + "".join(f"[-{letter},--option_{letter.lower()} <value>] \n\t" for letter in letters)


@pytest.mark.parametrize("release", LETTERS)
def test_every_option_of_a_call_is_known_to_the_program(release: str) -> None:
    """Old programs end with `invalid option` and no table on one that they do not know (-T came in 2.13.4, -J in 2.17.3, -I in 2.19.2)."""
    options = supported_options(usage(LETTERS[release]))
    assert options is not None

    called = command("/opt/all_reduce_perf", options, BANDWIDTH, 8, processes=2, json_path="/run/x.json")

    assert {word[1] for word in called[1:] if word[0] == "-"} <= set(LETTERS[release])


def test_newest_program_is_asked_for_all_that_it_can_tell() -> None:
    """One process on eight GPUs: JSON, single iterations, its own deadline, and the data check."""
    options = supported_options(usage(LETTERS["v2.19.6"]))
    assert options is not None

    assert command("all_reduce_perf", options, BANDWIDTH, 8, wait_s=15, json_path="/run/x.json") == (
        "all_reduce_perf", "-b", "1048576", "-e", "268435456", "-f", "4", "-g", "8", "-w", "20", "-n", "50", "-c", "1",
        "-T", "15", "-I", "1", "-J", "/run/x.json",
    )  # fmt: skip


def test_slowest_process_is_asked_for_where_there_are_several() -> None:
    """The time of a collective is its slowest rank's; by default nccl-tests averages over processes (-a 1)."""
    called = command("all_reduce_perf", frozenset(LETTERS["v2.13.4"]), LATENCY, 1, processes=16)

    assert called[called.index("-a") + 1] == "3"


@pytest.mark.parametrize("text", ["", "ls: unrecognized option '--help'", "USAGE: ib_write_bw [-g,--gid <n>]", "\x00" * 100])
def test_other_programs_are_not_taken_for_nccl_tests(text: str) -> None:
    """A path that leads to something else must not be called with -g."""
    assert supported_options(text) is None


def test_settings_of_nccl_tests_are_unset() -> None:
    """NCCL_TESTS_MIN_BW would change the exit code, NCCL_TESTS_SPLIT the ranks; everything else is left alone."""
    environment = {"NCCL_TESTS_MIN_BW": "400", "NCCL_TESTS_SPLIT_MASK": "0x7", "NCCL_DEBUG": "INFO", "PATH": "/usr/bin"}

    assert without_settings(environment) == {"NCCL_DEBUG": "INFO", "PATH": "/usr/bin"}
