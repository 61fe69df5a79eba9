"""Read the hardware twice and print what /metrics would show, without a daemon. Exit status 4 if there is no supported hardware, 5 if
something could not be read (one line for each on stderr)."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace

from exporter.catalog import CATALOGUE
from exporter.cli.compose import Machine, labels_of, sources_of, this_machine
from exporter.cli.exits import Exit
from exporter.cli.gpus import ChildGpus, VirtualGpus
from exporter.cli.health import health_of
from exporter.cli.memory import forgetful, looked_up
from exporter.cli.options import add_options, duration_argument, loaded
from exporter.cli.simulated import SEED, profile_of
from exporter.cli.simulated_machine import simulated_machine
from exporter.cli.timing import PASSES, CostRecorder, timing_table
from exporter.config.mistake import Mistake, error_of
from exporter.config.schema import Config
from exporter.exposition.choice import Labels
from exporter.exposition.client_library import encode_openmetrics, families_of
from exporter.exposition.layout import selected_readings
from exporter.exposition.page import render
from exporter.exposition.samples import samples_of
from exporter.exposition.selection import Selection
from exporter.model.metric import Cadence, Tier
from exporter.model.snapshot import Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock, ManualClock, SystemClock
from exporter.runtime.crew import Crew, Executor, Inline
from exporter.runtime.devices import NORMAL_ABSENCES
from exporter.runtime.health import NO_HARDWARE_OF_ITS_OWN
from exporter.runtime.logs import set_up
from exporter.runtime.open_files import raise_limit
from exporter.runtime.pause import pause
from exporter.runtime.sampler import Sampler
from exporter.runtime.status import Identity, identity_reading
from exporter.runtime.timed_ethtool import TimedEthtool
from exporter.runtime.timed_files import TimedFiles
from exporter.runtime.whole_file import ALL_MAY_READ, write_whole
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.procfs import proc_entries
from exporter.sources.sysfs import RealFiles

FORMATS = ("prometheus", "openmetrics", "json")
SIMULATED_START_S = 3600.0
"""Virtual time before the first pass, so that counters have something to show."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`scrape [--textfile PATH] [--format F] [--window D]` and the shared flags."""
    parser.add_argument("--textfile", metavar="PATH", help="write there, whole or not at all, for node_exporter's textfile collector")
    parser.add_argument("--format", choices=FORMATS, default="prometheus", help="default: prometheus")
    parser.add_argument("--window", type=duration_argument, default=1.0, metavar="DURATION", help="time between the passes; default: 1s")
    parser.add_argument("--timing", action="store_true", help="print what each read costs here, per device, file and call, and no page")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Two passes, then the page on stdout or in the file. Raises ConfigError for a configuration that cannot be used."""
    config = loaded(args).config
    set_up("warning", config.logging.format)
    if args.timing:
        return _timed(config)
    scene = _simulated(config, args.window) if config.simulate.profile else _real(config, args.window)
    text = _text(scene, Selection(Tier[config.exposition.tier.upper()]), args.format, config.exposition.series_cap, labels_of(config))
    if args.textfile:
        _write_textfile(args.textfile, text)
    else:
        sys.stdout.write(text)
    return _exit_of(scene)


def _real(config: Config, window_s: float) -> Scene:
    clock = SystemClock()
    gpus = ChildGpus(clock)
    machine = this_machine(config, RealFiles(config.sources.sysfs_root, raise_limit()), gpus, clock.monotonic_s())
    try:
        return _two_passes(config, machine, clock, Crew(clock), lambda: pause(window_s))
    finally:
        gpus.close()


def _timed(config: Config) -> int:
    if config.simulate.profile:
        raise error_of((Mistake("--timing", "measures this machine's reads; leave --simulate away"),))
    clock = SystemClock()
    files = TimedFiles(RealFiles(config.sources.sysfs_root, raise_limit()), clock)
    gpus = ChildGpus(clock)
    machine = this_machine(config, files, gpus, clock.monotonic_s())
    ethtool = TimedEthtool(machine.ethtool, clock)
    recorder = CostRecorder(Crew(clock))
    board = Board()
    sources = sources_of(config, replace(machine, ethtool=ethtool), looked_up(config))
    sampler = Sampler(sources, clock, recorder, board)
    sampler.tick()
    for _ in range(PASSES):
        for cadence in Cadence:
            sampler.tick_all((cadence,))
    scene = board.current(clock.monotonic_s())
    sampler.stop()
    recorder.stop()
    gpus.close()
    print(timing_table(recorder.passes, files.costs | ethtool.costs, {source.name: intervals for source, intervals in sources}), end="")
    return _exit_of(scene)


def _simulated(config: Config, window_s: float) -> Scene:
    """The simulated node an hour after its start, in virtual time."""
    clock = ManualClock()
    profile = profile_of(config.simulate.profile or "")
    node = SimulatedNode(profile, SEED)
    clock.advance(SIMULATED_START_S)
    node.advance(SIMULATED_START_S)

    def wait() -> None:
        clock.advance(window_s)
        node.advance(clock.monotonic_s())

    gpus = VirtualGpus(FakeNvml(profile, SEED, clock.monotonic_s))
    machine = simulated_machine(node.tree(), MemoryTree(proc_entries(profile, SEED)), gpus, "the simulated node's /sys")
    return _two_passes(config, machine, clock, Inline(clock), wait)


def _two_passes(config: Config, machine: Machine, clock: Clock, executor: Executor, wait: Callable[[], None]) -> Scene:
    simulated = config.simulate.profile is not None
    board = Board()
    memory = forgetful() if simulated else looked_up(config)
    sources = sources_of(config, machine, memory)
    health = health_of(config, memory, machine.boot)
    sampler = Sampler(sources, clock, executor, board, lambda: (identity_reading(Identity(simulated)),), health.observe)
    sampler.tick()
    wait()
    sampler.tick_all()
    scene = board.current(clock.monotonic_s())
    sampler.stop()
    executor.stop()
    return scene


def _text(scene: Scene, selection: Selection, form: str, series_cap: int, labels: Labels) -> str:
    if form == "prometheus":
        return render(scene, selection, series_cap, labels=labels)
    readings = selected_readings(scene, selection)
    if form == "openmetrics":
        return encode_openmetrics(families_of(readings, CATALOGUE, selection, series_cap, labels)).decode()
    faults = [fault for snapshot in scene.snapshots.values() for fault in snapshot.faults]
    told = [{"source": f.source, "subject": f.subject, "reason": f.reason.value, "detail": f.detail} for f in faults]
    page = {"series": samples_of(readings, CATALOGUE, selection, series_cap, labels), "faults": told}
    return json.dumps(page, ensure_ascii=False, indent=1) + "\n"


def _write_textfile(path: str, text: str) -> None:
    """For node_exporter, which runs as another user and must never see half a page. Raises ConfigError."""
    try:
        write_whole(path, text, ALL_MAY_READ)
    except OSError as error:
        raise error_of((Mistake("--textfile", f"cannot write {path}: {error.strerror}"),)) from error


def _exit_of(scene: Scene) -> Exit:
    """5 if anything could not be read, else 4 without any device of any source; a plain Ethernet NIC is one. Sources that found nothing
    say so on stderr, one line each."""
    for status in scene.sources:
        if not status.devices:
            print(f"{status.source}: found nothing; looked for {status.looked_for}", file=sys.stderr)
    failed = {reason for status in scene.sources for reason, count in status.faults.items() if count} - NORMAL_ABSENCES
    if failed:
        return Exit.PARTIAL
    if not any(status.devices for status in scene.sources if status.source not in NO_HARDWARE_OF_ITS_OWN):
        print("no supported hardware", file=sys.stderr)
        return Exit.NO_HARDWARE
    return Exit.OK
