"""Print how the GPUs and NICs of this node are joined, as nvidia-smi topo -m has it, and which NIC serves which GPU on which rail. Exit
status 4 if there is neither GPU nor NIC, 5 if something could not be read (one line for each on stderr)."""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from exporter.cli.exits import Exit
from exporter.cli.gpus import ChildGpus, VirtualGpus
from exporter.cli.memory import Memory, forgetful, looked_up
from exporter.cli.nvlink_facts import asked
from exporter.cli.options import add_options, loaded
from exporter.cli.places import ModuleIds, places_of, rail_table_of
from exporter.cli.simulated import SEED, profile_of
from exporter.config.schema import Config
from exporter.model.fault import Fault
from exporter.model.node_topology import NvlinkCounts, as_json, matrix_text
from exporter.runtime.clock import SystemClock
from exporter.runtime.devices import NORMAL_ABSENCES
from exporter.runtime.open_files import raise_limit
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.node import SimulatedNode
from exporter.sources.node_places import NodeLook
from exporter.sources.pci_tree import DEVICES
from exporter.sources.sysfs import Files, RealFiles

SIMULATED_AGE_S = 600.0
"""How old a simulated node is when it is looked at."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`topology [--json]` and the shared flags."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """One look, then the matrix or the JSON on stdout. Raises ConfigError for a configuration that cannot be used."""
    config = loaded(args).config
    profile = config.simulate.profile
    files: Files = SimulatedNode(profile_of(profile), SEED).tree() if profile else RealFiles(config.sources.sysfs_root, raise_limit())
    memory = forgetful() if profile else looked_up(config)
    nvlinks, faults, modules = _nvlinks(config, files, memory)
    table = rail_table_of(config)
    look = places_of(config, files, memory.names, table, lambda: modules).look(0.0, nvlinks)
    look = replace(look, faults=(*look.faults, *faults))
    if args.json:
        print(json.dumps({"simulated": bool(profile), **as_json(look.topology), "faults": _faults_of(look)}, ensure_ascii=False, indent=1))
    elif look.topology.gpus or look.topology.nics:
        if profile:
            print(f"simulated node {profile}: every line is invented, no hardware is read", file=sys.stderr)
        print(matrix_text(look.topology, shutil.get_terminal_size((0, 0)).columns or None), end="")
    for complaint in table.complaints:
        print(f"topology.rails: {complaint}", file=sys.stderr)
    root = "the simulated node's /sys" if profile else config.sources.sysfs_root
    return _exit_of(look, f"NVIDIA GPUs, RDMA devices and NICs in {root.rstrip('/')}/{DEVICES}")


def _nvlinks(config: Config, files: Files, memory: Memory) -> tuple[Mapping[str, NvlinkCounts], Sequence[Fault], ModuleIds]:
    """What the driver says of NVLinks and of places on the board; nothing where that source is switched off."""
    if not config.sources.nvlink.enabled:
        return {}, (), {}
    clock = SystemClock()
    profile = config.simulate.profile
    gpus = VirtualGpus(FakeNvml(profile_of(profile), SEED, lambda: SIMULATED_AGE_S)) if profile else ChildGpus(clock)
    try:
        counts, faults = asked(gpus.source(config, files, memory, bool), clock.wall_s(), clock.monotonic_s())
    finally:
        if isinstance(gpus, ChildGpus):
            gpus.close()
    return counts, faults, gpus.facts().module_ids


def _faults_of(look: NodeLook) -> list[dict[str, str]]:
    return [{"subject": fault.subject, "reason": fault.reason.value, "detail": fault.detail} for fault in look.faults]


def _exit_of(look: NodeLook, looked_for: str) -> Exit:
    """5 if anything could not be read, else 4 without a device; the reason on stderr, one line each."""
    grave = [fault for fault in look.faults if fault.reason not in NORMAL_ABSENCES]
    for fault in grave:
        print(f"{fault.subject}: {fault.detail}", file=sys.stderr)
    if grave:
        return Exit.PARTIAL
    if not look.topology.gpus and not look.topology.nics:
        print(f"no supported hardware; looked for {looked_for}", file=sys.stderr)
        return Exit.NO_HARDWARE
    return Exit.OK
