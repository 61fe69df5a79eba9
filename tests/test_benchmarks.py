"""The benchmarks' cheap parts, once: that they work, and the counts they stand on. Asserts no time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.compose import sources_of, this_machine
from exporter.cli.gpus import ChildGpus
from exporter.cli.memory import forgetful
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot
from exporter.runtime.clock import SystemClock
from tests.benchmarks.__main__ import TARGETS, main
from tests.benchmarks.driver import BOTH, FIELDS, GPUS, LINKS, scenario
from tests.benchmarks.driver_calls import by_family, of_one_pass
from tests.benchmarks.figure import Figure, table
from tests.benchmarks.files import CountedFiles, StuckFiles
from tests.benchmarks.meter import _unchunked, percentile
from tests.benchmarks.node import Node, real_files
from tests.benchmarks.node_process import Metered, config_of
from tests.benchmarks.rendering import check_same, scene_of
from tests.benchmarks.trees import counter_files, tree_of
from tests.benchmarks.whole_node import PACES, Library, _figures, check
from tests.nvml_library import FakeDriver
from tests.real.listener import poll

HCAS = 3
STATE_FILES = 3


@pytest.fixture
def root() -> Iterator[str]:
    """A small node's /sys."""
    with tree_of(HCAS) as folder:
        yield folder


@pytest.fixture
def files(root: str) -> CountedFiles:
    """That tree, with each call counted."""
    return CountedFiles(real_files(root))


@pytest.fixture
def node(files: CountedFiles) -> Iterator[Node]:
    """Our sampler on it, after its first pass."""
    node = Node(files, hw_counters=True)
    node.sampler.tick()
    yield node
    node.stop()


def test_a_pass_reads_each_file_once_and_calls_nothing_else(root: str, files: CountedFiles, node: Node) -> None:
    """targets.md P7: about one call a counter, where opening, reading and closing by name costs five."""
    counters = counter_files(root, hw_counters=True)
    files.calls.clear()
    node.sample()

    assert files.calls == {"pread": counters + STATE_FILES * HCAS}
    assert files.calls.total() <= 1.1 * counters


def test_a_scrape_touches_no_file(files: CountedFiles, node: Node) -> None:
    """targets.md P7: the page is made of memory, however many ask."""
    files.calls.clear()
    pages = [node.metrics({}, "text/plain", encoding) for encoding in ("gzip", "identity", "gzip")]

    assert not files.calls
    assert b"fabric_infiniband_port_data_transmitted_bytes_total" in pages[1].body


BOUND_S = 30.0


def test_a_file_that_never_answers_holds_one_thread(root: str) -> None:
    """targets.md P6: further passes leave the device alone and read all others."""
    stuck = StuckFiles(real_files(root), "/mlx5_1/ports/1/counters/symbol_error")
    node = Node(stuck, hw_counters=False, interval_s=0.2)
    node.sampler.start()
    poll(lambda: node.scene().snapshots or None, BOUND_S, "a first pass")
    stuck.hang()
    poll(lambda: True if node.scene().sources[0].hung else None, BOUND_S, "the hung device is flagged")
    seen = node.scene().generation
    poll(lambda: True if node.scene().generation > seen + 5 else None, BOUND_S, "passes go on")
    threads = stuck.stuck
    stuck.let_go()
    node.stop()

    assert threads == 1


@pytest.mark.parametrize("name", BOTH)
def test_a_pass_makes_one_field_call_a_gpu_and_family(tmp_path: Path, name: str) -> None:
    """targets.md P7, by the call log of the fake library: no family is split, none shares its call with another."""
    calls = of_one_pass(FakeDriver(tmp_path).write(scenario(name)))

    assert set(by_family(calls).values()) == {1}
    assert not [call for call in calls if call.changes_the_node]


def test_p2_reads_the_tree_and_the_driver_alone(root: str) -> None:
    """What this machine's own interfaces, log and processes do must not be in the figure."""
    config = config_of(root, 1.0, 15.0, 0.0, state_dir="")
    clock = SystemClock()
    gpus = ChildGpus(clock)
    machine = this_machine(config, real_files(root), gpus, clock.monotonic_s())
    intervals = {source.name: of.normal_s for source, of in sources_of(config, machine, forgetful())}
    gpus.close()

    assert intervals == {"infiniband": 1.0, "pcie": 15.0, "nvlink": 1.0}


TOLD = {"numbers": GPUS * LINKS * FIELDS, "links": 154, "oldest_s": 1.0, "ticks": 15, "faults": {"nvlink": 0}, "devices": {"nvlink": 8},
        "elapsed_s": 15.0, "daemon_s": 0.3, "child_s": 0.15, "rules_s": [0.004] * 15, "decode_fast_s": 0.001,
        "decode_both_s": 0.002}  # fmt: skip


@pytest.mark.parametrize(
    "lacking", [{"numbers": 1727}, {"links": 144}, {"oldest_s": 2.5}, {"ticks": 13}, {"faults": {"nvlink": 1}}, {"devices": {"nvlink": 0}}]
)
def test_a_node_that_reads_too_little_is_no_figure(lacking: dict[str, object]) -> None:
    """What is not read costs nothing; links beyond the NVLinks are judged as well."""
    check(TOLD, 15.0)
    with pytest.raises(RuntimeError, match="did not read"):
        check(TOLD | lacking, 15.0)


def test_the_parts_of_p2_add_up_to_the_sum() -> None:
    """The library's time is nobody's; of a slower beat each second has its share."""
    library = Library(scan=(0.015, 40), fast=(0.001, 60), normal=(0.015, 30))
    sums = {pace: list(_figures(pace, [TOLD], library)) for pace in (PACES[0], PACES[2])}

    each_second, spread = ([figure.measured for figure in figures] for figures in sums.values())
    assert each_second[0] == pytest.approx(2.0 + 1.0 - 1.6 - 0.1)
    assert spread[0] == pytest.approx(2.0 + 1.0 - 0.2 - 0.1)
    assert [sum(parts[1:5]) for parts in (each_second, spread)] == pytest.approx([each_second[0], spread[0]])


def test_observing_is_metered_and_not_changed() -> None:
    """A call's CPU time is noted, its answer passed on."""
    shown = Snapshot(Feed("signals", "", Cadence.FAST), 1.0, 2.0, ())
    metered = Metered(lambda *_: shown)

    assert metered({}, (), 1.0, 2.0) is shown
    assert len(metered.cpu_s) == 1


def test_both_renderers_show_the_same_samples() -> None:
    """targets.md P3: faster only counts for the same result."""
    assert check_same(scene_of(HCAS)) > 100


def test_a_missed_gate_is_marked() -> None:
    """The last column says what fails the run."""
    figures = [Figure("P1", "cost", 0.5, 0.2, "2 ms", "1 ms"), Figure("P8", "cost", 0.1, 0.2, "2 ms", "1 ms")]

    assert [line.rsplit("|", 2)[1].strip() for line in table(figures).splitlines()[2:]] == ["MISS (gate)", "pass"]


def test_an_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With the known ones in the message."""
    with pytest.raises(SystemExit):
        main(["P99"])

    assert " ".join(TARGETS) in capsys.readouterr().err


def test_a_chunked_body_is_put_together() -> None:
    """node_exporter sends long pages in chunks."""
    assert _unchunked(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") == b"abcde"


def test_a_percentile_is_one_of_the_values() -> None:
    """The largest for a share of one."""
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 1.0) == 3.0
