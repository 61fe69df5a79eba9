"""P2's process: `python -m tests.benchmarks.node_process ROOT --seconds N --normal S --pcie S [--bursts S]`: a whole node at 1 Hz as the
daemon does, but without HTTP.

Sampler and its watch, Crew, InfiniBand and PCIe from files, NVLink from a real NVML child over whatever library the environment names,
health with all its rules within each tick, and a state directory. Prints one JSON object of CPU seconds at the end. Not for use.
"""

import argparse
import gc
import json
import os
import time
from collections.abc import Mapping, Sequence
from itertools import cycle

from exporter.cli.compose import bursts_of, sources_of, this_machine
from exporter.cli.gpus import ChildGpus
from exporter.cli.health import health_of
from exporter.cli.memory import KeptMemory, kept
from exporter.config.schema import Config, Jobs, State
from exporter.config.source_options import Bursts, Ethernet, GpuDirect, Infiniband, KernelLog, Nvlink, Pcie, Sources
from exporter.model.entity import Link
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Reading, Scene, Snapshot, SourceStatus
from exporter.runtime.board import Board
from exporter.runtime.clock import SystemClock
from exporter.runtime.crew import Crew
from exporter.runtime.sampler import Observe, Sampler
from exporter.runtime.snapshot_codec import Decoder, Encoder
from exporter.runtime.state_dir import open_state_dir
from exporter.signals.engine import FEED
from tests.benchmarks.meter import cpu_of, cpu_s, family
from tests.benchmarks.node import real_files
from tests.benchmarks.trees import folder_in_memory

INTERVAL_S, SLOW_S = 1.0, 300.0
WARM_UP_S = 6.5
"""Ends between two ticks, so that as many of them as seconds count."""


class Metered:
    """Who observes, with the CPU time of each call, on the thread that makes it."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self.cpu_s: list[float] = []

    def __call__(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                 now_s: float) -> Snapshot:  # fmt: skip
        """See Observe."""
        began_s = time.thread_time()
        shown = self._observe(newest, statuses, wall_s, now_s)
        self.cpu_s.append(time.thread_time() - began_s)
        return shown


def config_of(root: str, normal_s: float, pcie_s: float, bursts_s: float, state_dir: str) -> Config:
    """FAST each second, NORMAL each `normal_s`, of PCIe each `pcie_s`, bursts each `bursts_s` (0: not at all). Off is what
    would read this machine instead of the tree: its
    interfaces through ethtool, its kernel log, its modules, its processes."""
    sources = Sources(
        sysfs_root=root,
        infiniband=Infiniband(fast_interval_s=INTERVAL_S, normal_interval_s=normal_s, slow_interval_s=SLOW_S),
        nvlink=Nvlink(fast_interval_s=INTERVAL_S, normal_interval_s=normal_s, slow_interval_s=SLOW_S),
        pcie=Pcie(normal_interval_s=pcie_s, slow_interval_s=SLOW_S),
        bursts=Bursts(enabled=bursts_s > 0, interval_s=bursts_s or 0.1), ethernet=Ethernet(enabled=False),
        kernel_log=KernelLog(enabled=False), gpudirect=GpuDirect(enabled=False),
    )  # fmt: skip
    return Config(state=State(dir=state_dir), sources=sources, jobs=Jobs(enabled=False))


def main() -> None:
    """Warm up, run for so many seconds, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--normal", type=float, required=True)
    parser.add_argument("--pcie", type=float, required=True)
    parser.add_argument("--bursts", type=float, default=0.0)
    args = parser.parse_args()
    with folder_in_memory() as state_dir:
        print(json.dumps(spent(config_of(args.root, args.normal, args.pcie, args.bursts, state_dir), args.seconds)))


def spent(config: Config, seconds: float) -> dict[str, object]:
    """CPU seconds of this process, its child and its rules within that time, and what they were spent on. Raises RuntimeError without a
    child."""
    clock, board = SystemClock(), Board()
    gpus, crew, memory = ChildGpus(clock), Crew(clock, caller_reads=True), kept(open_state_dir(config.state.dir))
    machine = this_machine(config, real_files(config.sources.sysfs_root), gpus, clock.monotonic_s())
    rules = Metered(health_of(config, memory.memory, machine.boot).observe)
    bursts = bursts_of(config, clock)
    sampler = Sampler(sources_of(config, machine, memory.memory, bursts), clock, crew, board, lambda: _settled(memory), rules)
    sampler.start()
    if bursts is not None:
        bursts.start()
    time.sleep(WARM_UP_S)
    gc.collect()
    gc.freeze()  # as the daemon does
    children = family(os.getpid())[1:]
    if len(children) != 1:
        raise RuntimeError(f"{len(children)} children, expected the NVML child")
    rules.cpu_s.clear()
    generation, began_s = board.current(0.0).generation, time.monotonic()
    all_s, child_s = time.process_time(), cpu_s(children[0])
    time.sleep(seconds)
    elapsed_s, all_s, child_s = time.monotonic() - began_s, time.process_time() - all_s, cpu_s(children[0]) - child_s
    rules_s, scene = tuple(rules.cpu_s), board.current(clock.monotonic_s())
    if bursts is not None:
        bursts.stop()
    sampler.stop()
    crew.stop()
    gpus.close()
    fast_s, both_s = (decode_s(scene, cadences) for cadences in ((Cadence.FAST,), (Cadence.FAST, Cadence.NORMAL)))
    return {"elapsed_s": elapsed_s, "daemon_s": all_s, "child_s": child_s, "rules_s": rules_s, "decode_fast_s": fast_s,
            "decode_both_s": both_s, "ticks": scene.generation - generation, **looked_at(scene)}  # fmt: skip


def looked_at(scene: Scene) -> dict[str, object]:
    """What a pass brings, so that nobody measures one that brings nothing: numbers of NVLinks, links that rules judged, age of the oldest
    fast sample in seconds, Faults since the start and devices of each source."""
    fresh = [snapshot for feed, snapshot in scene.snapshots.items() if feed.cadence is not Cadence.SLOW]
    numbers = sum(len(reading.values) for snapshot in fresh if snapshot.feed.source == "nvlink" for reading in snapshot.readings)
    oldest_s = scene.monotonic_s - min(snapshot.monotonic_s for snapshot in fresh if snapshot.feed.cadence is Cadence.FAST)
    judged = [reading.entity for reading in scene.snapshots[FEED].readings if isinstance(reading.entity, Link)]
    return {"numbers": numbers, "links": len(judged), "oldest_s": oldest_s,
            "faults": {one.source: sum(one.faults.values()) for one in scene.sources},
            "devices": {one.source: one.devices for one in scene.sources},
            "bursts": sum(len(one.readings) for one in fresh if one.feed.source == "bursts")}  # fmt: skip


def decode_s(scene: Scene, cadences: Sequence[Cadence]) -> float:
    """CPU seconds to take in what the child sends in one pass of these, measured apart: the same Snapshots once more, as they cross when
    both ends know the layouts."""
    fresh = [snapshot for feed, snapshot in scene.snapshots.items()
             if feed.source == "nvlink" and feed.subject and feed.cadence in cadences]  # fmt: skip
    other = [snapshot._replace(readings=tuple([_grown(reading) for reading in snapshot.readings])) for snapshot in fresh]
    encoder, decoder = Encoder(), Decoder()
    decoder.decode(encoder.encode(fresh))
    messages = cycle((encoder.encode(other), encoder.encode(fresh)))
    return cpu_of(lambda: decoder.decode(next(messages)), 200)


def _grown(reading: Reading) -> Reading:
    """With all numbers greater by one: what stands still costs a decoder nothing."""
    values = reading.values
    if not isinstance(values, FixedValues):
        return reading
    return Reading(reading.entity, FixedValues(values.places, [number + 1 for number in values.numbers]))


def _settled(memory: KeptMemory) -> tuple[Reading, ...]:
    """Keep what was learned, as the daemon does once a tick."""
    memory.settle()
    return ()


if __name__ == "__main__":
    main()
