"""P2's process: `python -m tests.benchmarks.node_process ROOT --seconds N` runs a whole node at 1 Hz as the daemon does, but without HTTP.

Sampler and its watch, Crew, InfiniBand from files, NVLink from a real NVML child over whatever library the environment names, rules within
each tick. Prints one JSON object of CPU seconds at the end. Not for use.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable
from functools import partial

from exporter.model.metric import Cadence
from exporter.model.snapshot import Reading, Scene
from exporter.runtime.clock import SystemClock
from exporter.runtime.snapshot_codec import Decoder, Encoder
from tests.benchmarks.counts import Plans, paired, searched
from tests.benchmarks.driver import gpus
from tests.benchmarks.meter import cpu_of, cpu_s
from tests.benchmarks.node import Node, real_files
from tests.benchmarks.stand_in_rules import StandInRules, Views

INTERVAL_S = 1.0
WARM_UP_S = 6.0
VIEWS = {"paired": paired, "window": searched}


class _Metered:
    """Rules whose CPU time is added up, on the thread that runs them."""

    def __init__(self, rules: Callable[[Scene], tuple[Reading, ...]]) -> None:
        self._rules = rules
        self.cpu_s: list[float] = []

    def __call__(self, scene: Scene) -> tuple[Reading, ...]:
        began_s = time.thread_time()
        found = self._rules(scene)
        self.cpu_s.append(time.thread_time() - began_s)
        return found


def main() -> None:
    """Warm up, run for so many seconds, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rules", choices=VIEWS, default="paired")
    args = parser.parse_args()
    source, worker = gpus(SystemClock())
    views: Views = partial(VIEWS[args.rules], Plans())
    rules = _Metered(StandInRules(views).step)
    node = Node(real_files(args.root), hw_counters=True, interval_s=INTERVAL_S, others=[source], rules=rules)
    node.sampler.start()
    time.sleep(WARM_UP_S)
    gc.collect()
    gc.freeze()  # as the daemon does
    child = worker.child()
    if child is None:
        raise SystemExit(f"the NVML child does not run: {source.trouble}")
    rules.cpu_s.clear()
    generation, began_s, all_s, child_s = node.scene().generation, time.monotonic(), time.process_time(), cpu_s(child)
    time.sleep(args.seconds)
    elapsed_s, all_s, child_s = time.monotonic() - began_s, time.process_time() - all_s, cpu_s(child) - child_s
    scene = node.scene()
    spent = {"elapsed_s": elapsed_s, "daemon_s": all_s, "child_s": child_s, "rules_s": rules.cpu_s, "decode_each_s": decode_s(scene)}
    print(json.dumps({**spent, "ticks": scene.generation - generation, **looked_at(scene, scene.monotonic_s)}))
    node.stop()
    worker.close()


def looked_at(scene: Scene, now_s: float) -> dict[str, object]:
    """What a pass brings, so that nobody measures one that brings nothing: numbers of NVLinks, links that rules judged, age of the oldest
    fast sample in seconds, Faults since the start."""
    fresh = [snapshot for feed, snapshot in scene.snapshots.items() if feed.cadence is not Cadence.SLOW]
    numbers = sum(len(reading.values) for snapshot in fresh if snapshot.feed.source == "nvlink" for reading in snapshot.readings)
    oldest_s = now_s - min(snapshot.monotonic_s for snapshot in fresh if snapshot.feed.cadence is Cadence.FAST)
    return {"numbers": numbers, "links": sum("up" in reading.values for reading in scene.readings), "oldest_s": oldest_s,
            "faults": {one.source: sum(one.faults.values()) for one in scene.sources}}  # fmt: skip


def decode_s(scene: Scene) -> float:
    """CPU seconds to take in what the child sends in one pass, measured apart: the same Snapshots once more, as they cross when both ends
    know the layouts."""
    passes = [snapshot for feed, snapshot in scene.snapshots.items() if feed.source == "nvlink" and feed.subject]
    fresh = [snapshot for snapshot in passes if snapshot.feed.cadence is not Cadence.SLOW]
    encoder, decoder = Encoder(), Decoder()
    decoder.decode(encoder.encode(fresh))
    message = encoder.encode(fresh)
    return cpu_of(lambda: decoder.decode(message), 200)


if __name__ == "__main__":
    main()
