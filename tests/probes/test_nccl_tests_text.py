"""The text of nccl-tests: every layout says what was measured, and whatever does not agree with itself is not used."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probes.collectives import Collective
from exporter.probes.nccl_tests.result import NcclTestsResult, Row, Timing, Trouble
from exporter.probes.nccl_tests.text_layouts import LINE_MAX_BYTES, LINES_MAX, OUTPUT_MAX_BYTES, NcclTestsText, read_text
from tests.probes.nccl_tests_printer import FOLDER, LADDER, PLAIN, SMALL, WIDE, WRONG, Measured, Style, text
from tests.probes.nccl_tests_wrapping import LOG, WRAPPERS, files, two_at_once
from tests.requires import need_data

PROGRAMS = {"reduce-scatter": "reduce_scatter_perf", "all-gather": "all_gather_perf", "alltoall": "alltoall_perf",
            "broadcast": "broadcast_perf", "sendrecv": "sendrecv_perf", "stamps-memory": "all_gather_perf",
            "v2.19.2": "alltoall_perf"}  # fmt: skip
RELEASES = ((1, 0), (2, 0), (2, 11), (2, 13), (2, 17, 2), (2, 17, 6), (2, 19, 6))
PLAIN_TEXTS = sorted(path for path in FOLDER.glob("v*.txt"))


def program(path: Path) -> str:
    """The program of a file, by its name."""
    return next((name for part, name in PROGRAMS.items() if part in path.name), "all_reduce_perf")


def read(name: str) -> NcclTestsResult:
    """The result of one of our files, for the ranks that it was written for."""
    path = FOLDER / name
    return read_text(path.read_bytes(), program(path), 2 if "wide" in name else 8)


def troubles(result: NcclTestsResult) -> set[Trouble]:
    """Kinds of problems, as a set that a failed test shows in full."""
    return {problem.trouble for problem in result.problems}


def assert_measured(rows: tuple[Row, ...], ladder: tuple[Measured, ...]) -> None:
    """Each row says what was measured, to the places that were printed."""
    assert [row.size_bytes for row in rows] == [one.size_bytes for one in ladder]
    for row, one in zip(rows, ladder, strict=True):
        for timing, us in ((row.out_of_place, one.time_us), (row.in_place, one.in_place_us)):
            if timing is not None and timing.time_s is not None:
                assert timing.time_s == pytest.approx(us / 1e6, rel=1e-3, abs=5e-7 if us < 1e6 else 0.5)  # from 10 s on two digits
                assert timing.algbw == pytest.approx(one.size_bytes / us * 1e6, rel=1e-3, abs=6e6)


@pytest.mark.parametrize("path", PLAIN_TEXTS, ids=lambda path: path.name)
def test_each_layout_says_what_was_measured(path: Path) -> None:
    """From v1.0.0 (milliseconds, no unit line) to v2.19.6 (21 columns): the header's words tell the columns, and no row is lost."""
    ladder = next(
        rows for word, rows in (("wide", WIDE), ("wrong", WRONG), ("root", SMALL), ("unchecked.", SMALL), ("eight", SMALL),
                                ("iterations-", SMALL), ("", LADDER)) if word in path.name
    )  # fmt: skip
    ladder = LADDER if path.name.startswith("v1.0") else ladder

    result = read(path.name)

    assert_measured(tuple(result.rows), ladder)
    assert not result.problems
    assert result.ranks == (2 if "wide" in path.name else 8)
    assert result.wrong_checks == (2 if "wrong" in path.name else 0)


def test_our_files_are_what_the_printer_prints() -> None:
    """The files are for eyes and diffs; who changes the printer or a wrapper writes them anew."""
    expected = {name: printed().encode() for name, printed in PLAIN.items()} | {name: content.encode() for name, content in files().items()}

    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == expected


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda wrapper: wrapper.__name__)
@pytest.mark.parametrize("name", ["v2.13-reduce-scatter.txt", "v2.19.2-iterations.txt"])
def test_wrapping_changes_nothing(name: str, wrapper: object) -> None:
    """Prefixes, colours, line ends, and NCCL's log between and within rows leave the same result."""
    assert callable(wrapper)
    plain = read_text(PLAIN[name](), program(Path(name)), 8)

    wrapped = read_text(wrapper(PLAIN[name]()), program(Path(name)), 8)

    assert wrapped.rows == plain.rows
    assert wrapped.problems == plain.problems == ()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_printed_values_are_read_back(data: st.DataObject) -> None:
    """Any ladder of times, in any release and program that had it, comes back to the printed places."""
    release = data.draw(st.sampled_from(RELEASES))
    name = data.draw(st.sampled_from(["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf"]))
    ranks = data.draw(st.sampled_from([2, 4, 8, 16]))
    steps = data.draw(st.integers(1, 5))
    unit = data.draw(st.sampled_from([1024, 65536, 1 << 20, 64 << 20])) * ranks
    times = data.draw(st.lists(st.floats(1000 if release < (2,) else 5, 2e6), min_size=2 * steps, max_size=2 * steps))
    rows = tuple(Measured(unit * (step + 1), times[2 * step], times[2 * step + 1]) for step in range(steps))

    result = read_text(text(Style(release), name, ranks, rows), name, ranks)

    assert not result.problems
    assert [row.size_bytes for row in result.rows] == [row.size_bytes for row in rows]
    for row, measured in zip(result.rows, rows, strict=True):
        assert row.out_of_place is not None
        assert row.out_of_place.time_s == pytest.approx(measured.time_us / 1e6, rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 2000))
def test_pieces_of_any_size_make_no_difference(size: int) -> None:
    """A pipe cuts anywhere."""
    output = PLAIN["v2.17.6-stamps-memory.txt"]().encode()
    reader = NcclTestsText("all_gather_perf", 8)
    for at in range(0, len(output), size):
        reader.feed(output[at : at + size])

    assert reader.finish() == read_text(output, "all_gather_perf", 8)


def test_wrong_elements_are_counted_and_never_averaged_away() -> None:
    """Rows of normal speed with wrong elements (NVIDIA/nccl#1184); 1,048,577 of them is printed as 1.04858e+06."""
    result = read("v2.17.2-all-reduce-wrong.txt")

    assert [timing.wrong for row in result.rows for timing in row.timings] == [0, 0, 17, 1_048_580, 0, 0, 0, 0]
    assert result.wrong == 1_048_597


def test_unchecked_is_not_zero_wrong() -> None:
    """N/A in the #wrong column: nobody looked."""
    assert {timing.wrong for row in read("v2.13-sendrecv-unchecked.txt").rows for timing in row.timings} == {None}


def test_old_error_column_is_no_count() -> None:
    """Before 2.13 the last column of a block is a difference of floats: 2e-07 is not a wrong element (NVIDIA/nccl-tests#176)."""
    output = PLAIN["v2.0-all-reduce-error.txt"]().replace("  0e+00", "  2e-07")

    result = read_text(output, "all_reduce_perf", 8)

    assert len(result.rows) == 4
    assert result.wrong == 0
    assert not result.problems


def test_share_of_the_wire_is_made_whole() -> None:
    """v2.0 printed all-gather's bus bandwidth in both columns; algorithm bandwidth is size by time in every release."""
    timing = read("v2.0-all-gather-share-of-the-wire.txt").rows[0].out_of_place

    assert timing is not None
    assert timing.algbw == pytest.approx((1 << 20) / 61.37e-6, rel=1e-3)
    assert timing.busbw == pytest.approx((1 << 20) / 61.37e-6 * 7 / 8, rel=1e-3)


def test_cpu_time_is_no_time_of_the_collective() -> None:
    """With -C the time column is what launching took; bandwidths still come from the real time."""
    timings = [timing for row in read("v2.18.5-cputime.txt").rows for timing in row.timings]

    assert {timing.time_s for timing in timings} == {None}
    assert timings[0].algbw == pytest.approx((1 << 20) / 61.37e-6, rel=1e-3)


def test_single_rank_has_no_bus_bandwidth() -> None:
    """A busbw of 0.00 of one rank is no bandwidth of 0 (NVIDIA/nccl-tests#294)."""
    result = read_text(text(Style((2, 17, 6)), "all_reduce_perf", 1, LADDER), "all_reduce_perf", 1)

    assert {timing.busbw for row in result.rows for timing in row.timings} == {None}
    assert not result.problems


def test_build_without_mpi_gives_no_rows() -> None:
    """Every process runs alone and prints its own table: p = 1 rows are no answer to what was asked (NVIDIA/nccl-tests#294, #213)."""
    result = read_text(two_at_once(PLAIN["v2.13-reduce-scatter.txt"]()), "reduce_scatter_perf", 16)

    assert result.rows == ()
    assert Trouble.NOT_MPI_BUILD in troubles(result)


def test_one_process_of_several_is_a_build_without_mpi() -> None:
    """Where only one process's output arrives, fewer ranks than asked, all in one process, tell it."""
    result = read_text(PLAIN["v2.13-reduce-scatter.txt"](), "reduce_scatter_perf", 16)

    assert (result.rows, troubles(result)) == ((), {Trouble.NOT_MPI_BUILD})


def test_fewer_ranks_than_asked_is_told() -> None:
    """An MPI run that lost a node is no run of the asked size."""
    result = read_text(PLAIN["v2.17.2-all-reduce-eight-processes.txt"](), "all_reduce_perf", 16)

    assert (result.rows, troubles(result)) == ((), {Trouble.RANKS})


def test_missing_rank_line_leaves_nothing_to_check_rows_with() -> None:
    """Without knowing the ranks no bus bandwidth can be checked, so no row is used."""
    output = re.sub(r"#   Rank  3 .*\n", "", PLAIN["v2.13-reduce-scatter.txt"]())

    result = read_text(output, "reduce_scatter_perf")

    assert (result.rows, result.ranks, troubles(result)) == ((), None, {Trouble.RANKS})


@pytest.mark.parametrize("share", [0.2, 0.55, 0.7, 0.75, 0.8, 0.9, 0.97])
def test_cut_output_is_told_and_its_rows_are_right(share: float) -> None:
    """A run that was killed: rows up to there stand, the cut one is not used, and the missing end is told."""
    output = PLAIN["v2.13-reduce-scatter.txt"]()
    whole = read_text(output, "reduce_scatter_perf", 8)

    cut = read_text(output[: int(len(output) * share)], "reduce_scatter_perf", 8)

    assert cut.rows == whole.rows[: len(cut.rows)]
    assert troubles(cut) & {Trouble.TRUNCATED, Trouble.NO_TABLE}


def test_lost_row_is_told() -> None:
    """The banner says how many sizes there must be."""
    output = re.sub(r" +2097152 .*\n", "", PLAIN["v2.13-reduce-scatter.txt"]())

    assert Trouble.TRUNCATED in troubles(read_text(output, "reduce_scatter_perf", 8))


@pytest.mark.parametrize(
    ("was", "becomes", "trouble"),
    [
        ("    61.37", "    16.37", Trouble.DISAGREES),
        ("   17.09", "   71.09", Trouble.DISAGREES),
        ("   14.95", "   15.95", Trouble.DISAGREES),
        ("     1048576  ", "     1048676  ", Trouble.DISAGREES),
        ("        32768  ", "        32769  ", Trouble.DISAGREES),
        ("   float", "  double", Trouble.DISAGREES),
        ("   float", "  flo@t ", Trouble.UNREADABLE),
        ("    61.37", "   61.379", Trouble.UNREADABLE),
        ("    61.37", "     61.3", Trouble.UNREADABLE),
        ("    61.37", "    6l.37", Trouble.UNREADABLE),
        ("    61.37", "    61 37", Trouble.UNREADABLE),
        ("    61.37", "   -61.37", Trouble.UNREADABLE),
        ("    -1    61.37", "     9    61.37", Trouble.UNREADABLE),
        ("    61.37", "      nan", Trouble.UNMEASURED),
        ("   17.09", "     inf", Trouble.UNMEASURED),
        ("    61.37", "   061.37", Trouble.UNREADABLE),
        ("    61.37", "    61.\u0663\u0667", Trouble.UNREADABLE),
    ],
)
def test_row_that_disagrees_is_told_with_its_line(was: str, becomes: str, trouble: Trouble) -> None:
    """A swapped digit, a shifted column, a letter for a digit: the row is not used, and the problem names its line."""
    output = PLAIN["v2.13-reduce-scatter.txt"]()
    number = next(index for index, line in enumerate(output.splitlines(), 1) if was in line and "1048576" in line)
    assert output.count(was) >= 1
    lines = output.splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(was, becomes, 1)

    result = read_text("".join(lines), "reduce_scatter_perf", 8)

    assert [(problem.trouble, problem.line) for problem in result.problems] == [(trouble, number)]
    assert len(result.rows) == (4 if trouble is Trouble.UNMEASURED else 3)


def test_small_message_with_lost_digit_shows_by_its_place() -> None:
    """0.00 GB/s cannot show that 34.73 us lost its first digit; the column's place can."""
    output = text(Style((2, 17, 6)), "all_reduce_perf", 8, (Measured(8, 34.73, 34.5), Measured(4 << 20, 118.4, 119.0)))

    result = read_text(output.replace("  34.73  ", "  4.73  "), "all_reduce_perf", 8)

    assert [problem.trouble for problem in result.problems] == [Trouble.UNREADABLE]
    assert [row.size_bytes for row in result.rows] == [4 << 20]


def test_time_that_nothing_vouches_for_says_so() -> None:
    """8 bytes at 0.00 GB/s: the time has only itself as evidence, and the value says that; 4 MiB vouch for theirs within a percent."""
    small = Measured(8, 34.73, 34.5)
    result = read_text(text(Style((2, 17, 6)), "all_reduce_perf", 8, (small, Measured(4 << 20, 118.4, 119.0))), "all_reduce_perf", 8)
    uncertainties = [row.out_of_place.uncertainty for row in result.rows if row.out_of_place]

    assert uncertainties[0] is None
    assert uncertainties[1] is not None
    assert uncertainties[1] < 0.01


def test_footer_and_rows_must_agree_on_wrong_data() -> None:
    """A footer of 0 above a row with wrong elements: one of both is damaged."""
    output = PLAIN["v2.17.2-all-reduce-wrong.txt"]().replace(": 2 FAILED", ": 0 OK")

    assert Trouble.CONTRADICTION in troubles(read_text(output, "all_reduce_perf", 8))


def test_other_program_than_called_is_refused() -> None:
    """The bus factor would be another's."""
    result = read_text(PLAIN["v2.18.5-cputime.txt"](), "all_gather_perf", 8)

    assert result.rows == ()
    assert Trouble.CONTRADICTION in troubles(result)


def test_unknown_columns_after_a_block_do_not_shift_it() -> None:
    """A release may add columns: a block begins at its time, whatever ends the one before."""
    output = PLAIN["v2.13-reduce-scatter.txt"]()
    lines = [line + "  #iters" if "algbw" in line else line + "      20" if re.match(r" +\d+ +\d+ +float", line) else line
             for line in output.splitlines()]  # fmt: skip

    result = read_text("\n".join(lines) + "\n", "reduce_scatter_perf", 8)

    assert_measured(tuple(result.rows), LADDER)


def test_in_place_alone_is_not_taken_for_out_of_place() -> None:
    """A row whose first block is blank has as many numbers as one whose second was cut off: the place tells which it is."""
    output = PLAIN["v2.17.6-stamps-memory.txt"]()
    header = next(line for line in output.splitlines() if "algbw" in line)
    first, second = header.index("time") - 5, header.index("time", header.index("time") + 4) - 5
    lines = [line[:first] + " " * (second - first) + line[second:] if line[:1] == " " else line for line in output.splitlines()]

    result = read_text("\n".join(lines) + "\n", "all_gather_perf", 8)

    assert [row.out_of_place for row in result.rows] == [None] * 4
    assert [row.in_place is not None for row in result.rows] == [True] * 4


def test_versions_and_json_path_are_told() -> None:
    """The program's own lines about itself."""
    output = "# Writing JSON output to /run/probe/out.json.0\n" + PLAIN["v2.17.6-stamps-memory.txt"]()

    result = read_text(output, "all_gather_perf", 8)

    assert (result.tests_version, result.nccl_version, result.json_path) == ("2.17.6", "2.27.3+cuda12.9", "/run/probe/out.json.0")
    assert result.collective is Collective.ALL_GATHER


def test_log_lines_go_to_who_reads_them() -> None:
    """NCCL's log on the same pipe is handed on whole, also where it broke into a row."""
    heard: list[str] = []
    reader = NcclTestsText("reduce_scatter_perf", 8, heard.append)
    reader.feed(next(wrapper for wrapper in WRAPPERS if wrapper.__name__ == "log_within")(PLAIN["v2.13-reduce-scatter.txt"]()).encode())
    reader.finish()

    assert heard.count(LOG) == 8
    assert sum("NCCL WARN" in line for line in heard) == 4


def test_gigabytes_are_not_read() -> None:
    """A program that prints for ever: the bound is told once and nothing more is held."""
    reader = NcclTestsText("all_reduce_perf", 8)
    piece = b"x" * (1 << 20)
    for _ in range(OUTPUT_MAX_BYTES // len(piece) + 5):
        reader.feed(piece)
    result = reader.finish()

    assert sum(problem.trouble is Trouble.BOUNDS for problem in result.problems) == 1
    assert reader._held == b""


def test_lines_without_end_are_not_read() -> None:
    """The same in short lines, each of which costs time."""
    reader = NcclTestsText("all_reduce_perf", 8)
    for _ in range(3):
        reader.feed(b"\n" * LINES_MAX)
    result = reader.finish()

    assert [problem.trouble for problem in result.problems] == [Trouble.BOUNDS, Trouble.NO_TABLE]


def test_overlong_line_is_skipped() -> None:
    """A line without end does not hide what follows it."""
    result = read_text("y" * (LINE_MAX_BYTES + 1) + "\n" + PLAIN["v2.13-reduce-scatter.txt"](), "reduce_scatter_perf", 8)

    assert_measured(tuple(result.rows), LADDER)
    assert [(problem.trouble, problem.line) for problem in result.problems] == [(Trouble.BOUNDS, 1)]


@pytest.mark.parametrize("output", [b"", b"\n\n", b"\x00\xff\xfe" * 50, b"1 2 float 3 4 5\n", b"#\n", b"# Rank", b"\r\n\r"])
def test_nothing_readable_is_no_table(output: bytes) -> None:
    """Nothing, noise, or a row without a header: no result, and no 0 GB/s."""
    result = read_text(output, "all_reduce_perf", 8)

    assert result.rows == ()
    assert Trouble.NO_TABLE in troubles(result)


class TestRealOutputs:
    """Outputs of other projects' test data (FABRIC_TEST_DATA): what they really contain."""

    @pytest.mark.parametrize(
        ("name", "called", "peak_gb"),
        [
            ("allreduce", "all_reduce_perf", 235.26),
            ("allgather", "all_gather_perf", 230.07),
            ("alltoall", "alltoall_perf", 226.16),
            ("broadcast", "broadcast_perf", 234.70),
            ("reduce", "reduce_perf", 231.28),
            ("reducescatter", "reduce_scatter_perf", 231.52),
        ],
    )
    def test_superbench(self, name: str, called: str, peak_gb: float) -> None:
        """Eight A100: 34 sizes from 1 B to 8 GiB, five headers, a log line in the table, sizes of 0, an alltoall whose redop is blank."""
        result = read_text((need_data() / f"nccl-tests/superbench-{name}.log").read_bytes(), called, 8)
        peak = max(timing.busbw or 0 for row in result.rows for timing in row.timings)

        assert (len(result.rows), result.ranks, result.problems) == (34, 8, ())
        assert peak == pytest.approx(peak_gb * 1e9)
        assert {timing.wrong for row in result.rows for timing in row.timings} == {None}

    @pytest.mark.parametrize(("name", "ranks", "last_gb"), [("single", 8, 231.72), ("pairwise", 16, 182.80)])
    def test_gcm(self, name: str, ranks: int, last_gb: float) -> None:
        """Eight processes on a node, sixteen on two."""
        result = read_text((need_data() / f"nccl-tests/gcm-{name}-success-output.log").read_bytes(), "all_reduce_perf", ranks)
        last = result.rows[-1].out_of_place

        assert (len(result.rows), result.problems, result.wrong) == (6, (), 0)
        assert last is not None
        assert last.busbw == pytest.approx(last_gb * 1e9)

    def test_refusal_of_mpi(self) -> None:
        """Too few slots: no table, so no result, and what MPI said is kept for a person."""
        result = read_text((need_data() / "nccl-tests/gcm-failure-output.log").read_bytes(), "all_reduce_perf", 16)

        assert result.rows == ()
        assert troubles(result) == {Trouble.NO_TABLE, Trouble.PROGRAM}
        assert "There are not enough slots available" in result.said[1]

    @pytest.mark.parametrize(("name", "wrong"), [("pass", 0), ("fail-bw", 0), ("fail-oob", 2)])
    def test_dcgm_mock(self, name: str, wrong: int) -> None:
        """One GPU, a column that no release has (#iters), bandwidths of six digits; FAILED behind the average is no wrong data."""
        result = read_text((need_data() / f"nccl-tests/dcgm-mock-{name}.log").read_bytes(), "all_reduce_perf", 1)

        assert [(row.size_bytes, len(row.timings)) for row in result.rows] == [(33_554_432, 2)]
        assert {timing.busbw for timing in result.rows[0].timings} == {None}
        assert (result.wrong, result.problems) == (wrong, ())

    def test_two_nodes_short_of_sizes(self) -> None:
        """Sixteen H100 on two nodes: its banner promises 28 sizes, the table has 6, and that is told."""
        result = read_text((need_data() / "rewritten/nccl-tests/two-nodes-h100-2.17.log").read_bytes(), "all_reduce_perf", 16)
        timing = result.rows[-1].out_of_place

        assert isinstance(timing, Timing)
        assert timing.busbw == pytest.approx(457.40e9)
        assert (len(result.rows), troubles(result)) == (6, {Trouble.TRUNCATED})
