"""One short NCCL probe of this node's GPUs, if every gate is open: latency, bandwidth and correctness of collectives against this node's
own past. A GPU that anybody uses is never touched.

Exit status: 0 as usual, or a gate was shut (a line says which); 1 worse than this node's own past, or corrupt data; 5 it could not measure.
"""

import argparse
import json
import sys

from exporter.cli.exits import Exit
from exporter.cli.memory import state_path
from exporter.cli.options import add_options, duration_argument, loaded
from exporter.cli.probe_node import node_of, occupancy_of
from exporter.cli.probe_text import gates_text, probe_text
from exporter.config.mistake import Mistake, error_of
from exporter.config.schema import Config
from exporter.probes.budget import Limits
from exporter.probes.report import Outcome
from exporter.probes.report_document import document_of
from exporter.probes.worker.libraries import Places
from exporter.runtime.clock import SystemClock
from exporter.runtime.logs import set_up
from exporter.runtime.probe_memory import open_memory
from exporter.runtime.probe_once import GAP_S, Wanted, prepared, probed

_EXITS = {Outcome.SUCCESS: Exit.OK, Outcome.SKIPPED: Exit.OK, Outcome.PREEMPTED: Exit.OK, Outcome.DEGRADED: Exit.FINDING,
          Outcome.FAILED: Exit.PARTIAL, Outcome.ABORTED: Exit.PARTIAL}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`probe [--dry-run] [--json] [--inside-allocation] [--periodic] [--watch D]` and the shared flags."""
    parser.add_argument("--dry-run", action="store_true", help="list each gate and whether it is open; touch nothing")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--inside-allocation", action="store_true",
                        help="the scheduler gave this node to the probe itself (a prolog, a job): do not ask whose it is")  # fmt: skip
    parser.add_argument(
        "--periodic", action="store_true", help="for a timer: not more often than probes.interval, and pause after failures"
    )
    parser.add_argument("--watch", type=duration_argument, default=GAP_S * 4, metavar="DURATION",
                        help=f"how long the GPUs must be idle first; default: {GAP_S * 4:g}s")  # fmt: skip
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """The gates or the result on stdout. Raises ConfigError."""
    config = loaded(args).config
    set_up("warning", config.logging.format)
    if config.simulate.profile:
        raise error_of((Mistake("--simulate", "a simulated node has no NCCL to probe; leave it away"),))
    clock = SystemClock()
    memory, occupancy = open_memory(state_path(config)), occupancy_of(config, clock)
    if memory.problem:
        print(f"{memory.problem}; what is usual here is not remembered", file=sys.stderr)
    try:
        node = node_of(args, config, occupancy, clock, is_inside=args.inside_allocation)
        if args.dry_run:
            gates = prepared(_wanted(args, config), node, memory, clock).gates
            listed = [{"gate": gate.reason.value, "open": gate.is_open, "detail": gate.detail} for gate in gates]
            print(json.dumps(listed, indent=1) if args.json else gates_text(gates), end="\n" if args.json else "")
            return Exit.OK
        found = probed(_wanted(args, config), node, memory, clock)
    finally:
        occupancy.close()
        memory.close()
    text = json.dumps(document_of(found.report), ensure_ascii=False, indent=1) + "\n" if args.json else probe_text(found)
    print(text, end="")
    return _EXITS[found.report.outcome]


def _wanted(args: argparse.Namespace, config: Config) -> Wanted:
    probes, places = config.probes, Places()
    places = places._replace(libcuda=probes.libcuda or places.libcuda, libnccl=probes.libnccl or places.libnccl)
    samples = max(1, round(args.watch / GAP_S) + 1)
    return Wanted(periodic=args.periodic, allowed=Limits(interval_s=probes.interval_s), places=places, kill_switch=probes.kill_switch,
                    samples=samples, gap_s=args.watch / max(1, samples - 1))  # fmt: skip
