"""The benchmarks' cheap parts, once: that they work, and the counts they stand on. Asserts no time."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from exporter.catalog import nvlink
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, Scene, SeriesKey, Snapshot
from tests.benchmarks.__main__ import TARGETS, main
from tests.benchmarks.counts import Plans, paired, searched
from tests.benchmarks.driver import BOTH, scenario
from tests.benchmarks.driver_calls import by_family, of_one_pass
from tests.benchmarks.figure import Figure, table
from tests.benchmarks.files import CountedFiles, StuckFiles
from tests.benchmarks.meter import _unchunked, percentile
from tests.benchmarks.node import Node, real_files
from tests.benchmarks.rendering import check_same, scene_of
from tests.benchmarks.stand_in_rules import RAISE_AFTER, StandInRules, Views
from tests.benchmarks.trees import counter_files, tree_of
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


LINKS = tuple(Link(Fabric.NVLINK, "gpu0", str(port)) for port in range(3))
PLACES: dict[SeriesKey, int] = {nvlink.STATE.key: 0, nvlink.TRANSMITTED.key: 1, nvlink.RECEIVED.key: 2, (nvlink.ERRORS.key, "crc"): 3,
                                (nvlink.ERRORS.key, "replay"): 4, (nvlink.RECOVERIES.key, "any"): 5}  # fmt: skip


def _scene(second: int) -> Scene:
    """Three links of 20 GB/s, the last one with two kinds of errors."""
    numbers = [[1, second * 20 * 10**9, second * 20 * 10**9, second * n, second * n, 0] for n in (0, 0, 50)]
    readings = tuple(Reading(link, FixedValues(PLACES, row)) for link, row in zip(LINKS, numbers, strict=True))
    feed = Feed("nvlink", "gpu0", Cadence.FAST)
    return Scene(second, second, second, {feed: Snapshot(feed, second, second, readings)})


def _derived(views: Views, seconds: int) -> list[dict[SeriesKey, Number]]:
    """What the rules say of each link in the last of so many seconds."""
    rules = StandInRules(views)
    return [dict(reading.values) for reading in [rules.step(_scene(second)) for second in range(seconds)][-1]]


def test_both_views_of_the_stand_in_rules_derive_the_same() -> None:
    """targets.md P2: the faster one only counts for the same result."""
    healthy, _, faulty = _derived(partial(paired, Plans()), 60)

    assert healthy["tx_utilization"] == 0.8
    assert faulty["error_ratio", "10"] == 2 * 50 / (8 * 20 * 10**9)
    assert (healthy["health"], faulty["health"]) == (0, 1)
    assert _derived(partial(searched, Plans()), 60)[2] == faulty


@pytest.mark.parametrize(("seconds", "health"), [(RAISE_AFTER, 0), (RAISE_AFTER + 1, 1)])
def test_the_stand_in_rules_debounce(seconds: int, health: int) -> None:
    """As the real ones will: the cost of their states is part of the figure. The first second has no window yet."""
    assert _derived(partial(paired, Plans()), seconds)[2]["health"] == health


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
