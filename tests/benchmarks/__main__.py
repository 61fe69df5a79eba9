"""`python -m tests.benchmarks [P1 P3 …] [--rounds N | --quick] [--write FILE]`: today's figures beside node_exporter and prometheus_client.

Exit status 1 if a gate is missed or could not be measured.
"""

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from tests.benchmarks import (
    crowd,
    driver_calls,
    hang,
    hung_driver,
    memory,
    more_scrapers,
    recorder,
    rendering,
    sampling_cost,
    slow_files,
    system_calls,
    tls_crowd,
    whole_node,
)
from tests.benchmarks.figure import GATES, Figure, cells, table
from tests.benchmarks.peers import version_of_node_exporter

TARGETS: Mapping[str, Callable[[int], Iterator[Figure]]] = {
    "P1": sampling_cost.measure,
    "P2": whole_node.measure,
    "P3": rendering.measure,
    "P4": lambda rounds: chain(crowd.measure(rounds), tls_crowd.measure(rounds)),
    "P5": memory.measure,
    "P6": lambda rounds: chain(hang.measure(rounds), hung_driver.measure(rounds)),
    "P7": lambda rounds: chain(system_calls.measure(rounds), driver_calls.measure(rounds)),
    "P8": more_scrapers.measure,
    "P9": slow_files.measure,
    "R1": recorder.measure,
}
BESIDE_NODE_EXPORTER = frozenset({"P1", "P4", "P5", "P7"})
ROUNDS, QUICK_ROUNDS = 5, 2


def main(argv: Sequence[str]) -> int:
    """Measure, print as figures come, then the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"any of {' '.join(TARGETS)}; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds whose median counts; default: {ROUNDS}")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds: to see that it runs, not to quote")
    parser.add_argument("--write", metavar="FILE", help="write the table there, with the machine and the versions")
    args = parser.parse_args(argv)
    chosen = args.targets or list(TARGETS)
    unknown = [target for target in chosen if target not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]}; known: {' '.join(TARGETS)}")
    rounds = QUICK_ROUNDS if args.quick else args.rounds
    figures, problems = measured(chosen, rounds)
    print(f"\n{table(figures)}\n\n{setting()}")
    for problem in problems:
        print(problem)
    if args.write:
        Path(args.write).write_text(page(figures, problems, rounds), encoding="utf-8")
    return int(
        any(figure.is_gate and not figure.passed for figure in figures) or any(problem.split(":")[0] in GATES for problem in problems)
    )


def measured(targets: Sequence[str], rounds: int) -> tuple[list[Figure], list[str]]:
    """The figures of these targets, and a line for each target that could not be measured."""
    figures: list[Figure] = []
    problems: list[str] = []
    for target in targets:
        if target in BESIDE_NODE_EXPORTER and not version_of_node_exporter():
            problems.append(f"{target}: not measured, node_exporter is not installed: apt-get install prometheus-node-exporter")
            continue
        try:
            for figure in TARGETS[target](rounds):
                figures.append(figure)
                print("  ".join(text for text in cells(figure) if text), flush=True)
        except (RuntimeError, OSError, ValueError) as error:
            problems.append(f"{target}: not measured, {type(error).__name__}: {error}")
    return figures, problems


def setting() -> str:
    """The machine in words and the versions of what was compared."""
    peers = f"node_exporter {version_of_node_exporter() or 'absent'}, prometheus_client {version('prometheus_client')}"
    return f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}, Python {platform.python_version()}, {peers}, " + str(
        datetime.datetime.now(tz=datetime.UTC).date()
    )


def page(figures: Sequence[Figure], problems: Sequence[str], rounds: int) -> str:
    """The document that `--write` writes."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m tests.benchmarks --write docs/benchmarks.md` (`make bench` prints the same); do not edit.",
        f"Measured on {setting()}; shared virtual CPUs, so absolute times swing and ratios count.",
        f"Each figure is the median of {rounds} rounds in which the programs took turns. Trees are generated (one port an HCA, one in five",
        "RoCE) and lie in memory; reading real sysfs costs the driver's time on top, for both sides alike.",
        "",
        table(figures),
        "",
        *problems,
        *NOTES,
        "",
    ]
    return "\n".join(lines)


P2_PROFILE = (
    "P2 with all each second, in ms a pass: health 4.1, of which links that rest take a quarter; HCAs 1.3; PCIe 1.0; the child's answers",
    "0.6; the rest is threads, ledgers and the board. The child spends 1.9. Of 376 Readings a pass 222 bring what the one before brought",
    "and are not looked at further (docs/decisions/0005). Devices are looked for each 15 s.",
)
P5_PROFILE = (
    "P5's daemon, profiled on 2026-11-30, in MB: the bare interpreter 8.5; modules 27.7, of which ours 11.7, `ssl` and hashes, which",
    "asyncio loads, 4.8, the rest of the standard library, prometheus_client, YAML, psutil and httptools 11.2; 8.2 come with the first",
    "passes and pages: objects that live 4.6 (pages laid out 0.8, what rules keep 0.7, files kept open 0.7, what the child sent 0.3), the",
    "rest stacks of threads and what pages and gzip take in passing. A minute later it is the same.",
)
NOTES = (
    "R1 plays a simulated node in virtual time with the recorder on a real file; counted is all CPU time that recording adds. Snapshots of",
    "one tick have one time there; on hardware each has its own, which costs some 0.5 kB a row more.",
    "P1 forces one sampling pass for each scrape, which the daemon never does: it samples at its own intervals and answers from memory.",
    "`fast + normal` reads state and all counters; `slow` reads the identity texts too. node_exporter reads all of them on each scrape and",
    "lists the folders each time; ours lists them again with a slow pass, at most every five seconds.",
    "The identity texts (three of 27 files) are read every 300 s; lines without a target show what reading them always costs.",
    "A Python built without profile-guided optimisation, as pyenv builds it by default, is a quarter slower: then P1 misses on ten HCAs.",
    "P3 at 21,756 samples, profiled on 2026-11-30: laying the numbers in takes 3.2 ms, of which `str` of them 1.1, the rest of formatting",
    "0.4, collecting, picking and checking them 0.9; the body, 1.9 MB of fresh memory, adds 478 page faults.",
    "P4 compares the daemon as it runs, answering from memory, with node_exporter as it runs, reading on each scrape. With TLS",
    "it is compared with itself: the scrapers' own handshakes, in one Python process, take as long as the daemon's.",
    "P2 runs the parts of the daemon without HTTP: InfiniBand, PCIe and NVLink with all rules and a state directory; what would read this",
    "machine instead of the tree is off. Behind the NVML child stands a library in C that answers for a driver; it writes no call log",
    "here, and its own time is measured apart and subtracted. Judged is the strictest pace, all counters each second; the daemon by",
    "default reads state and bytes each 5 s and the rest each 15 s. A pass over 160 links is to take 6 ms at most; judged here are 230:",
    "144 NVLinks, ten ports, 68 PCIe links and the NVLink domain of each GPU.",
    *P2_PROFILE,
    "P5 is the real daemon at 1 s with all sources, after 100 scrapes; node_exporter has its infiniband collector alone.",
    *P5_PROFILE,
    "P6 allows what two healthy runs differ by. P7 counts calls on files of the running programs with strace, calls of the driver by the",
    "library's log. The children of P6's hung NVML call are given up after 2 s and killed after 2 s more, to see what comes next.",
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
