"""`python -m tests.node_days [--days N] [--first N] [--jobs N] [--results FILE] [--report]`: healthy days of simulated nodes, on which
nothing may be raised.

Days that this code has played already are not played again. Exit status 1 if there is a false alarm among the days asked for, 2 for a file
or usage of no use.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.arguments import counted
from tests.node_days import results
from tests.node_days.code_digest import digest
from tests.node_days.hours import DAY_S
from tests.node_days.playing import Played, play_all
from tests.node_days.report import report

COUNT = counted(1 << 31)
OK, FOUND, USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Play what is not done yet, print and write a line as each day ends, then the report."""
    args = _parser().parse_args(argv)
    file, virtual_s = args.results, args.minutes * 60.0 if args.minutes else DAY_S
    numbers = range(args.first, args.first + args.days)
    try:
        known = results.read(file)
        if args.report:
            print(report(known, digest()))
            return OK
        run(numbers, virtual_s, args.jobs, file, known)
        known = results.read(file)
    except (OSError, results.ResultsError) as error:
        print(error, file=sys.stderr)
        return USAGE
    print(f"\n{report([record for record in known if record['virtual_s'] == virtual_s], digest())}")
    asked = [one for one in known if one["digest"] == digest() and one["virtual_s"] == virtual_s and one["day"] in numbers]
    return FOUND if any(one["false_alarms"] for one in asked) else OK


def run(numbers: Sequence[int], virtual_s: float, jobs: int, file: Path, known: Sequence[results.Record]) -> None:
    """Play those days that are not among the known results of this code, and append each. Raises OSError."""
    done = results.done(known, digest(), virtual_s)
    todo = [number for number in numbers if number not in done]
    if len(todo) < len(numbers):
        print(f"{len(numbers) - len(todo)} of {len(numbers)} days are there already", flush=True)
    commit = results.commit()
    for played in play_all(todo, virtual_s, jobs):
        results.append(file, results.record_of(played, commit))
        print(line(played), flush=True)


def line(played: Played) -> str:
    """`ok` or `ALARM`, the day, how long it took, and what was raised."""
    speed = played.virtual_s / max(played.took_s, 1e-3)
    found = played.false_alarms
    title = f"{'ALARM' if found else 'ok   '} day {played.number} {played.node}: {played.took_s:.0f} s, {speed:.0f} times real time"
    listed = [f"      {results.clock_time(one.t_s)} {one.link} {one.level} {', '.join(one.reasons)}" for one in found[:8]]
    return "\n".join([title, *listed, *([f"      … and {len(found) - 8} more"] if len(found) > 8 else [])])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.node_days", description=__doc__)
    parser.add_argument("--days", type=COUNT, default=100, metavar="N", help="how many; default: 100")
    parser.add_argument("--first", type=COUNT, default=1, metavar="N", help="the first of them; default: 1")
    parser.add_argument("--jobs", type=COUNT, default=os.cpu_count() or 1, metavar="N", help="processes; default: as many as CPUs")
    parser.add_argument("--results", type=Path, default=results.FILE, metavar="FILE", help=f"default: {results.FILE.name} beside this")
    parser.add_argument("--minutes", type=COUNT, metavar="N", help="only the beginning of each day")
    parser.add_argument("--report", action="store_true", help="play nothing; compare the versions that were played")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
