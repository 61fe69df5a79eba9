"""P2: CPU of a whole node at 1 Hz in all processes, rules included: ten HCAs from files, eight GPUs of 18 links through a real NVML child.

A driver stands behind the child's calls that takes its own time (fake, in C): what it takes is measured apart and subtracted, and it
writes no call log meanwhile. The real one's time is not known here.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import profile_named
from tests.benchmarks.driver import FIELDS, GPUS, LINKS, fake_driver, without_log
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.peers import REPOSITORY
from tests.benchmarks.trees import AGE_S, tree_after
from tests.nvml_library import FakeDriver
from tests.nvml_library.child import Child

NODE = "hgx-h100"
SECONDS, QUICK_SECONDS = 40.0, 10.0
QUICK_ROUNDS = 2
LIMIT_PERCENT, RULES_LIMIT_MS = 1.0, 6.0
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
    passes = []
    for _ in range(15):
        spent.clear()
        for reader in source.scan(0.0, 0.0).readers:
            for cadence in (Cadence.FAST, Cadence.NORMAL):
                reader.read(cadence, 0.0, 0.0)
        passes.append(sum(spent))
        time.sleep(0.3)
    told([statistics.median(passes[3:]), len(spent)])
"""


def measure(rounds: int) -> Iterator[Figure]:
    """The sum against its limit, then where it goes."""
    seconds = QUICK_SECONDS if rounds <= QUICK_ROUNDS else SECONDS
    with tree_after(profile_named(NODE)) as (root, tree), fake_driver() as driver:
        library_s, calls = library_cost(driver)
        now_s = AGE_S
        told = {}
        for rules in ("paired", "window"):
            told[rules], now_s = run(driver, tree, now_s, root, seconds, rules)
    yield from _figures(told["paired"], library_s, calls)
    through_window = statistics.median(told["window"]["rules_s"])
    yield Figure("P2", "the same rules through Window, number by number", through_window * 1e3, None, "–", ms(through_window), "ms")


def _figures(told: dict[str, Any], library_s: float, calls: int) -> Iterator[Figure]:
    """Of one run: all are CPU time a second, which is a pass."""
    elapsed_s = told["elapsed_s"]
    daemon_s, raw_child_s, rules_s = told["daemon_s"] / elapsed_s, told["child_s"] / elapsed_s, sum(told["rules_s"]) / elapsed_s
    child_s, decode_s, middle_s = raw_child_s - library_s, told["decode_each_s"], statistics.median(told["rules_s"])
    what = f"a node at 1 Hz: {GPUS} GPUs × {LINKS} links × {FIELDS} fields, 10 HCAs, rules, in all processes"
    yield Figure("P2", what, (daemon_s + child_s) * 100, LIMIT_PERCENT, f"daemon {ms(daemon_s)}", f"child {ms(child_s)}", "%")
    what = f"rules over {told['links']} links a pass, Readings paired by position"
    yield Figure("P2", what, middle_s * 1e3, RULES_LIMIT_MS, "–", ms(middle_s), "ms")
    rest_s = daemon_s - rules_s - decode_s
    for name, part_s, base in (
        ("child: a pass, encoding and its scan", child_s, f"fake library {ms(library_s)} in {calls} calls, subtracted"),
        ("daemon: taking in what the child sends", decode_s, "–"),
        ("daemon: rules", rules_s, "–"),
        ("daemon: HCAs, threads, ledger, board", rest_s, f"{told['ticks']} ticks"),
    ):
        yield Figure("P2", f"of that, {name}", part_s * 100, None, base, ms(part_s), "%")


def run(driver: FakeDriver, tree: DiskNode, now_s: float, root: str, seconds: float, rules: str) -> tuple[dict[str, Any], float]:
    """What node_process.py told, and the node's age by then: its traffic goes on meanwhile. Raises RuntimeError if it failed, or something
    could not be read: what is not read costs nothing."""
    command = [sys.executable, "-m", "tests.benchmarks.node_process", root, "--seconds", str(seconds), "--rules", rules]
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
    told: dict[str, Any] = json.loads(answer)
    check(told, seconds)
    return told, now_s


def check(told: dict[str, Any], seconds: float) -> None:
    """Raises RuntimeError unless all links were read, each second, without a Fault."""
    expected = GPUS * LINKS * FIELDS
    if any(told["faults"].values()) or told["numbers"] < expected or told["oldest_s"] > 2 or told["ticks"] < 0.9 * seconds:
        raise RuntimeError(f"the node did not read what it should: {({**told, 'rules_s': '…'})}")


def library_cost(driver: FakeDriver) -> tuple[float, int]:
    """Seconds within the driver's library of one scan and one pass over all GPUs, and how many calls that is; with pauses, as caches are
    cold at 1 Hz too."""
    with Child(_LIBRARY, {**os.environ, **without_log(driver)}) as child:
        median_s, calls = child.told()
    return float(median_s), int(calls)
