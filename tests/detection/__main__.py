"""`python -m tests.detection [--without RULE | --each-rule] [--seed N] [--jobs N] [FILE…]`: what is found of what befalls simulated nodes.

Exit status 1 if a target is missed; with `--without` if a scenario labelled with the rule misses anything, as it should; with `--each-rule`
if a rule turns out not to be needed; 2 for a usage that makes no sense.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from exporter.cli.simulate import RULE_NAMES
from exporter.config.mistake import ConfigError
from tests.arguments import counted
from tests.detection.figures import Figure, complaints, figures_of, is_whole, library_size
from tests.detection.library import Entry, by_rule, labelled, read, scenario_files, unknown_labels
from tests.detection.playing import JOBS, Played, Task, play_all, reseeded

COUNT = counted(1 << 53)
OK, MISSED, USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Play, print a line as each scenario ends, then the figures."""
    args = _parser().parse_args(argv)
    try:
        entries = reseeded(read(args.files or scenario_files()), args.seed)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return USAGE
    wrong = unknown_labels(entries)
    if not entries or wrong:
        print("\n".join(wrong) or "no scenario to play", file=sys.stderr)
        return USAGE
    if args.each_rule:
        return each_rule(entries, args.jobs)
    if not args.without:
        return everything(entries, args.jobs, is_library=not args.files)
    if args.without not in RULE_NAMES:
        print(f"--without: there is no rule {args.without}; known: {', '.join(sorted(RULE_NAMES))}", file=sys.stderr)
        return USAGE
    return without(entries, args.without, args.jobs)


def everything(entries: Sequence[Entry], jobs: int, *, is_library: bool) -> int:
    """All scenarios with all rules; whether the targets are reached. Of the whole library its size counts too."""
    plays: list[Played] = []
    for played in play_all([Task(entry) for entry in entries], jobs):
        plays.append(played)
        print(line(played), flush=True)
    figures = (*((library_size(plays),) if is_library else ()), *figures_of(plays))
    virtual_h = sum(played.scenario.duration_s for played in plays) / 3600
    print(f"\n{len(plays)} scenarios, {virtual_h:.1f} h of virtual time\n{table(figures)}")
    return OK if all(figure.passed for figure in figures) else MISSED


def without(entries: Sequence[Entry], rule: str, jobs: int) -> int:
    """The scenarios labelled with the rule, without it: 1 if one of them misses anything, so that this fails for a rule that is needed."""
    chosen = labelled(entries, rule)
    if not chosen:
        print(f"no scenario is labelled with {rule}: nothing shows that it is needed", file=sys.stderr)
        return USAGE
    missing = 0
    for played in play_all([Task(entry, (rule,)) for entry in chosen], jobs):
        missing += not is_whole(played)
        print(line(played), flush=True)
    print(f"\nwithout {rule}: {missing} of {len(chosen)} scenarios are not as they should be{'' if missing else '; it is not needed'}")
    return MISSED if missing else OK


def each_rule(entries: Sequence[Entry], jobs: int) -> int:
    """Every rule left out in turn: whether each is needed by a scenario that is labelled with it, and is as it should be with all rules."""
    chosen = by_rule(entries)
    tasks = [Task(entry, (rule,)) for rule, of_rule in chosen.items() for entry in of_rule]
    needed: dict[str, list[str]] = {rule: [] for rule in chosen}
    whole: set[str] = set()
    for played in play_all([*(Task(entry) for entry in entries if entry.scenario.rules), *tasks], jobs):
        if not played.without and is_whole(played):
            whole.add(played.name)
        for rule in played.without:
            if played.name in whole and not is_whole(played):
                needed[rule].append(played.name)
    for rule, names in needed.items():
        print(f"{rule:<20} {_need(names, len(chosen[rule]))}")
    idle = [rule for rule, names in needed.items() if not names]
    print(f"\n{len(needed) - len(idle)} of {len(needed)} rules are needed" + (f"; not proved: {', '.join(idle)}" if idle else ""))
    return MISSED if idle else OK


def line(played: Played) -> str:
    """`ok` or `MISS`, the scenario, how long it took, and what was not as it should be."""
    title = f"{'ok  ' if is_whole(played) else 'MISS'} {played.name} ({played.scenario.duration_s:g} s in {played.took_s:.1f} s)"
    listed = list(complaints(played))
    more = [f"     … and {len(listed) - 8} more"] if len(listed) > 8 else []
    return "\n".join([title, *(f"     {one}" for one in listed[:8]), *more])


def table(figures: Sequence[Figure]) -> str:
    """The figures in columns."""
    rows = [(figure.what, figure.target, figure.measured, "pass" if figure.passed else "MISS") for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _need(names: Sequence[str], played: int) -> str:
    if not played:
        return "NO SCENARIO is labelled with it"
    return f"needed by {', '.join(names)}" if names else f"NOT NEEDED: {played} labelled scenarios do as well without it"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.detection", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="scenarios; default: all of tests/scenarios")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--without", metavar="RULE", help="leave this rule out and play the scenarios labelled with it")
    alone.add_argument("--each-rule", action="store_true", help="leave each rule out in turn: which of them are needed?")
    parser.add_argument("--seed", type=COUNT, metavar="N", help="this seed for every scenario, instead of its own")
    parser.add_argument("--jobs", type=COUNT, default=JOBS, metavar="N", help=f"processes; default: {JOBS}")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
