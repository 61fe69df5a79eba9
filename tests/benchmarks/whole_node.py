"""P2: CPU of a whole node at 1 Hz in all processes, health included: ten HCAs and the PCIe tree from files, eight GPUs of 18 links through
a real NVML child.

A driver stands behind the child's calls that takes its own time (fake, in C): what it takes is measured apart and subtracted, and it
writes no call log meanwhile. The real one's time is not known here.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from exporter.catalog.limits import SCAN_LEAST_S
from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import profile_named
from tests.benchmarks.driver import FIELDS, GPUS, LINKS, fake_driver, seat, without_log
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.peers import REPOSITORY
from tests.benchmarks.trees import AGE_S, tree_after
from tests.nvml_library import FakeDriver
from tests.nvml_library.child import Child

NODE = "hgx-h100"
SECONDS = 15.0
"""Of each round: one pass of the slower beat."""
LIMIT_PERCENT, RULES_LIMIT_MS = 1.0, 6.0


class Pace(NamedTuple):
    """How often NORMAL counters of NVLinks and HCAs are read, and how often PCIe links (FAST is each second), and bursts (0: not at all);
    whether the target is about it."""

    name: str
    normal_s: float
    pcie_s: float
    bursts_s: float = 0.0
    is_judged: bool = False


PACES = (
    Pace("all each second", 1.0, 1.0, is_judged=True),
    Pace("PCIe each 15 s", 1.0, 15.0, is_judged=True),
    Pace("errors and PCIe each 15 s", 15.0, 15.0),
    Pace("PCIe each 15 s, bursts at 10 Hz", 1.0, 15.0, 0.1),
)
PLAIN, WITH_BURSTS = PACES[1], PACES[3]
BURSTS_LIMIT_PERCENT = 1.0
Told = Mapping[str, Any]
"""What node_process.py prints."""
_LIBRARY = """
    import statistics, time
    from exporter.model.metric import Cadence
    from exporter.sources.nvlink import NvlinkSource
    from exporter.sources.nvml import Pynvml
    found, spent = N._nvmlGetFunctionPointer, []

    def timed(name):
        function = found(name)
        def call(*arguments):
            began = time.perf_counter()
            code = function(*arguments)
            spent.append(time.perf_counter() - began)
            return code
        return call

    N._nvmlGetFunctionPointer = timed
    source = NvlinkSource(Pynvml(), bool)
    passes = {"scan": [], Cadence.FAST: [], Cadence.NORMAL: []}
    for _ in range(15):
        spent.clear()
        readers = source.scan(0.0, 0.0).readers
        for cadence in passes:
            for reader in readers if cadence != "scan" else ():
                reader.read(cadence, 0.0, 0.0)
            passes[cadence].append((sum(spent), len(spent)))
            spent.clear()
        time.sleep(0.3)
    told([[statistics.median(column) for column in zip(*found[3:])] for found in passes.values()])
"""


class Library(NamedTuple):
    """Seconds within the driver's library, and calls of it: of one scan, and of one FAST and one NORMAL pass over all GPUs."""

    scan: tuple[float, float]
    fast: tuple[float, float]
    normal: tuple[float, float]

    def each_second(self, pace: Pace) -> tuple[float, float]:
        """Seconds and calls at that pace."""
        (scan_s, scan), (fast_s, fast), (normal_s, normal) = self
        every_s = max(pace.normal_s, SCAN_LEAST_S)
        return scan_s / every_s + fast_s + normal_s / pace.normal_s, scan / every_s + fast + normal / pace.normal_s


def measure(rounds: int) -> Iterator[Figure]:
    """For each pace the sum, against its limit if it is judged, then where it goes. The paces take turns."""
    node = profile_named(NODE)
    told: dict[Pace, list[Told]] = {pace: [] for pace in PACES}
    with tree_after(node) as (root, tree), fake_driver() as driver:
        seat(driver, node)
        library = library_cost(driver)
        now_s = AGE_S
        for _ in range(rounds):
            for pace, found in told.items():
                spent, now_s = run(driver, tree, now_s, root, pace)
                found.append(spent)
    for pace, found in told.items():
        yield from _figures(pace, found, library)
    if WITH_BURSTS in told:
        plain, sampled = ([_whole(one) for one in told[pace]] for pace in (PLAIN, WITH_BURSTS))
        more = statistics.median([with_bursts - without for with_bursts, without in zip(sampled, plain, strict=True)])
        yield Figure("P2", "burst sampler: 10 HCAs at 10 Hz, folded, on top of that", more * 100, BURSTS_LIMIT_PERCENT, "without it",
                     f"{ms(more)} a second", "%")  # fmt: skip


def _figures(pace: Pace, told: Sequence[Told], library: Library) -> Iterator[Figure]:
    """Medians of its rounds: all are CPU time a second, which is a pass."""
    library_s, calls = library.each_second(pace)

    def usual(spent: Sequence[float]) -> float:
        return statistics.median(spent)

    child_s = usual([one["child_s"] / one["elapsed_s"] for one in told]) - library_s
    daemon_s, rules_s = (usual([_each_second(one, what) for one in told]) for what in ("daemon_s", "rules_s"))
    decode_s = usual([one["decode_fast_s"] + (one["decode_both_s"] - one["decode_fast_s"]) / pace.normal_s for one in told])
    what = f"{pace.name}: {GPUS} GPUs × {LINKS} links × {FIELDS} fields, 10 HCAs, PCIe, health, in all processes"
    limit = LIMIT_PERCENT if pace.is_judged else None
    yield Figure("P2", what, (daemon_s + child_s) * 100, limit, f"daemon {ms(daemon_s)}", f"child {ms(child_s)}", "%")
    for name, part_s, base in (
        ("child: a pass, encoding and its scan", child_s, f"fake library {ms(library_s)} in {calls:.0f} calls, subtracted"),
        ("daemon: taking in what the child sends", decode_s, "–"),
        ("daemon: health", rules_s, "–"),
        ("daemon: HCAs, PCIe, threads, ledger, board", daemon_s - rules_s - decode_s, f"{told[0]['ticks']} ticks a round"),
    ):
        yield Figure("P2", f"of that, {name}", part_s * 100, None, base, ms(part_s), "%")
    middle_s, longest_s = (usual([of(one["rules_s"]) for one in told]) for of in (statistics.median, max))
    what, limit = f"health of {told[0]['links']} links, a pass, median", RULES_LIMIT_MS if pace.is_judged else None
    yield Figure("P2", what, middle_s * 1e3, limit, f"longest {ms(longest_s)}", ms(middle_s), "ms")


def _whole(told: Told) -> float:
    """CPU seconds of all processes a second, the driver's library included."""
    return float((told["daemon_s"] + told["child_s"]) / told["elapsed_s"])


def _each_second(told: Told, what: str) -> float:
    spent = told[what]
    total_s: float = sum(spent) if isinstance(spent, list) else spent
    return total_s / float(told["elapsed_s"])


def run(driver: FakeDriver, tree: DiskNode, now_s: float, root: str, pace: Pace) -> tuple[Told, float]:
    """What node_process.py told, and the node's age by then: its traffic goes on meanwhile. Raises RuntimeError if it failed, or something
    could not be read: what is not read costs nothing."""
    beats = ["--normal", str(pace.normal_s), "--pcie", str(pace.pcie_s), "--bursts", str(pace.bursts_s)]
    command = [sys.executable, "-m", "tests.benchmarks.node_process", root, "--seconds", str(SECONDS), *beats]
    environment = {**os.environ, **without_log(driver)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=REPOSITORY, text=True) as process:
        while process.poll() is None:
            now_s += 1.0
            tree.advance(now_s)
            driver.clock.advance(1.0)
            time.sleep(1.0)
        answer = process.stdout.read() if process.stdout is not None else ""
    if process.returncode:
        raise RuntimeError(f"the node ended with status {process.returncode}")
    told: Told = json.loads(answer)
    check(told, SECONDS)
    if bool(told["bursts"]) != bool(pace.bursts_s):
        raise RuntimeError(f"bursts of {told['bursts']} ports were told")
    return told, now_s


def check(told: Told, seconds: float) -> None:
    """Raises RuntimeError unless all links were read, each second, without a Fault."""
    expected = GPUS * LINKS * FIELDS
    are_read = told["numbers"] >= expected and told["links"] > GPUS * LINKS and all(told["devices"].values())
    if any(told["faults"].values()) or not are_read or told["oldest_s"] > 2 or told["ticks"] < 0.9 * seconds:
        seen = {**told, "rules_s": "…"}
        raise RuntimeError(f"the node did not read what it should: {seen}")


def library_cost(driver: FakeDriver) -> Library:
    """What is the library's; with pauses, as caches are cold at 1 Hz too."""
    with Child(_LIBRARY, {**os.environ, **without_log(driver)}) as child:
        scan, fast, normal = child.told()
    return Library((scan[0], scan[1]), (fast[0], fast[1]), (normal[0], normal[1]))
