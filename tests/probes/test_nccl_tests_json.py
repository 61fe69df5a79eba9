"""The JSON of nccl-tests, versions 1 to 3: what was measured, and nothing of the environment that the file carries."""

import json
from pathlib import Path

import pytest

from exporter.probes.nccl_tests.json_layouts import DOCUMENT_MAX_BYTES, read_json
from exporter.probes.nccl_tests.result import Trouble
from exporter.probes.nccl_tests.text_layouts import read_text
from tests.probes.nccl_tests_printer import LADDER, PLAIN, WRONG, Style, document, text
from tests.requires import need_data

V3 = "v2.19.6-version-3-two-processes.json"


def changed(original: str, was: str, becomes: str) -> bytes:
    """The document with its first such text replaced; it must be there."""
    assert was in original
    return original.replace(was, becomes, 1).encode()


@pytest.mark.parametrize(
    ("name", "program", "ranks", "wrong"),
    [
        ("v2.17.3-version-1.json", "all_reduce_perf", 8, 0),
        ("v2.19.2-version-2-iterations.json", "all_gather_perf", 8, 0),
        (V3, "all_reduce_perf", 16, 17 + 1_048_577),
    ],
)
def test_each_version_says_what_was_measured(name: str, program: str, ranks: int, wrong: int) -> None:
    """Ranks come from the processes' first GPUs and how many GPUs each has; wrong elements are exact here."""
    result = read_json(PLAIN[name]().encode(), program, ranks)

    assert [row.size_bytes for row in result.rows] == [one.size_bytes for one in LADDER]
    assert [row.out_of_place.time_s for row in result.rows if row.out_of_place] == pytest.approx([one.time_us / 1e6 for one in LADDER])
    assert (result.ranks, result.wrong, result.problems, result.nccl_version) == (ranks, wrong, (), "2.27.3")


def test_single_iterations_are_handed_on_in_order() -> None:
    """Version 2 and later: the times of each iteration, in seconds, and their summary."""
    result = read_json(PLAIN["v2.19.2-version-2-iterations.json"]().encode(), "all_gather_perf", 8)
    timing = result.rows[0].out_of_place

    assert timing is not None
    assert timing.iterations is not None
    assert timing.iterations.times_s[:3] == pytest.approx((61.37e-6, 61.9837e-6, 62.5974e-6))
    assert timing.iterations.min_s == pytest.approx(61.37e-6)
    assert timing.iterations.p99_s == timing.iterations.max_s == pytest.approx(61.37e-6 * 1.04)


def test_iterations_that_do_not_make_their_mean_are_dropped() -> None:
    """One time of twenty was damaged: the row stands, its single iterations do not."""
    result = read_json(changed(PLAIN["v2.19.2-version-2-iterations.json"](), "[61.37,61.9837,", "[61.37,61.0837,"), "all_gather_perf", 8)

    assert result.rows[0].out_of_place is not None
    assert result.rows[0].out_of_place.iterations is None
    assert result.problems == ()


def test_environment_leaves_nothing_behind() -> None:
    """The file holds every variable of the process, secrets included; no result and no problem repeats one."""
    assert "hunter2" in PLAIN[V3]()

    assert "hunter2" not in repr(read_json(PLAIN[V3]().encode(), "all_reduce_perf", 16))
    assert "hunter2" not in repr(read_json(PLAIN[V3]().encode()[:900], "all_reduce_perf", 16))


def test_bare_infinity_is_read_and_not_used() -> None:
    """C prints `inf` where JSON has no word for it; the same letters in a variable's text stay what they are."""
    timing = LADDER[0].time_us
    result = read_json(changed(document(3, "all_reduce_perf", 8, LADDER), f'"time":{timing},', '"time":inf,'), "all_reduce_perf", 8)

    assert result.rows[0].out_of_place is None
    assert result.rows[0].in_place is not None
    assert [(problem.trouble, problem.line) for problem in result.problems] == [(Trouble.UNMEASURED, 1)]


def test_null_blocks_and_unchecked_elements() -> None:
    """A block that was not run is null; so is nwrong with the check off."""
    found = json.loads(document(3, "all_reduce_perf", 8, LADDER))
    for entry in found["results"]:
        entry["out_of_place"] = None
        entry["in_place"]["nwrong"] = None

    result = read_json(json.dumps(found).encode(), "all_reduce_perf", 8)

    assert [(row.out_of_place, row.in_place.wrong if row.in_place else 0) for row in result.rows] == [(None, None)] * 4
    assert result.problems == ()


def test_cpu_time_is_no_time() -> None:
    """With -C the key is cpu_time: bandwidths are real, the time is not the collective's."""
    result = read_json(document(3, "all_reduce_perf", 8, LADDER).replace('"time":', '"cpu_time":').encode(), "all_reduce_perf", 8)

    assert {timing.time_s for row in result.rows for timing in row.timings} == {None}
    assert len(result.rows) == 4


@pytest.mark.parametrize(
    ("was", "becomes", "trouble"),
    [
        ('"time":61.37,', '"time":16.37,', Trouble.DISAGREES),
        ('"size":1048576,', '"size":1048577,', Trouble.DISAGREES),
        ('"type":"float"', '"type":"double"', Trouble.DISAGREES),
        ('"type":"float"', '"type":"flout"', Trouble.UNREADABLE),
        ('"size":1048576,', '"size":"1048576",', Trouble.UNREADABLE),
        ('"ngpus":8', '"ngpus":"8"', Trouble.RANKS),
        ('"count":0,"okay":"true"', '"count":0,"okay":"false"', Trouble.CONTRADICTION),
        ('"out_of_bounds"', '"out_of_hounds"', Trouble.TRUNCATED),
        ('"maximum_bytes":4194304', '"maximum_bytes":5242880', Trouble.TRUNCATED),
        ('"results"', '"resulte"', Trouble.NO_TABLE),
        ("all_reduce_perf", "all_gather_perf", Trouble.CONTRADICTION),
        ('"errors":[]', '"errors":["unhandled system error"]', Trouble.PROGRAM),
    ],
)
def test_what_does_not_agree_is_told(was: str, becomes: str, trouble: Trouble) -> None:
    """Damage anywhere is a problem of the result, never a number of it."""
    result = read_json(changed(document(3, "all_reduce_perf", 8, LADDER), was, becomes), "all_reduce_perf", 8)

    assert trouble in result.troubles()


def test_unknown_version_is_told_and_checked_alike() -> None:
    """A release to come: its rows must agree like all others."""
    result = read_json(document(4, "all_reduce_perf", 8, LADDER).encode(), "all_reduce_perf", 8)

    assert len(result.rows) == 4
    assert result.said == ("version 4 of the JSON is not known: 1 to 3 are",)


def test_process_of_a_build_without_mpi_is_told() -> None:
    """Each process wrote a file of its own (PATH, PATH.0, …): fewer ranks than asked, all in one process."""
    result = read_json(document(3, "all_reduce_perf", 8, LADDER).encode(), "all_reduce_perf", 16)

    assert (result.rows, result.troubles()) == ((), {Trouble.NOT_MPI_BUILD})


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b'{"version": 3', b"9" * 5000, b'{"results": 3}']
)
def test_anything_else_is_no_table(content: bytes) -> None:
    """Empty, foreign, nested without end, a number of five thousand digits: a problem, no exception."""
    assert Trouble.NO_TABLE in read_json(content, "all_reduce_perf", 8).troubles()


def test_document_beyond_bounds_is_not_parsed() -> None:
    """A file that grew without end."""
    result = read_json(b" " * (DOCUMENT_MAX_BYTES + 1), "all_reduce_perf", 8)

    assert result.troubles() == {Trouble.BOUNDS, Trouble.NO_TABLE}


class TestDocumentsOfUpstream:
    """Documents written after upstream's source (FABRIC_TEST_DATA)."""

    def path(self, name: str) -> Path:
        """One of them."""
        return need_data() / "rewritten/nccl-tests" / name

    def test_whole(self) -> None:
        """Four sizes of eight H100; the call it repeats would make three, which is told."""
        result = read_json(self.path("all-reduce-v3.json").read_bytes(), "all_reduce_perf", 8)
        last = result.rows[-1].out_of_place

        assert last is not None
        assert last.busbw == pytest.approx(458.662417e9)
        assert (len(result.rows), result.wrong, result.troubles()) == (4, 0, {Trouble.TRUNCATED})

    def test_nan_null_and_wrong(self) -> None:
        """Usable rows are kept, wrong data is reported, NaN is no number."""
        result = read_json(self.path("all-reduce-v3-nan-null-wrong.json").read_bytes(), "all_reduce_perf", 8)

        assert [len(row.timings) for row in result.rows] == [2, 1, 1, 2]
        assert result.wrong == 17
        assert {Trouble.UNMEASURED, Trouble.PROGRAM} <= result.troubles()

    def test_cut(self) -> None:
        """A killed run: no result, an error, no traceback."""
        result = read_json(self.path("all-reduce-v3-truncated.json").read_bytes(), "all_reduce_perf", 8)

        assert (result.rows, result.troubles()) == ((), {Trouble.TRUNCATED, Trouble.NO_TABLE})


def test_json_and_text_of_one_run_agree() -> None:
    """The same measurement in both forms: JSON has more places, and the same rows."""
    printed = read_text(text(Style((2, 19, 6)), "all_reduce_perf", 8, WRONG), "all_reduce_perf", 8)
    written = read_json(document(3, "all_reduce_perf", 8, WRONG).encode(), "all_reduce_perf", 8)

    for one, other in zip(printed.rows, written.rows, strict=True):
        assert one.size_bytes == other.size_bytes
        assert [timing.busbw for timing in one.timings] == pytest.approx([timing.busbw for timing in other.timings], rel=1e-3)
