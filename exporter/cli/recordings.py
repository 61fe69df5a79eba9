"""The flight recorder's file: what is in it, its ticks and events as JSON or CSV, and its verdicts once more. Reads the daemon's while
that runs, or any other with --recordings; writes nothing there.

Times are RFC 3339 with a zone (2026-03-01T02:14:07Z), Unix seconds, or so long ago (-2h). Exit status: 0 done, 5 there is no recording or
not all of it could be read.
"""

import argparse
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from exporter.cli.exits import Exit
from exporter.cli.memory import state_path
from exporter.cli.options import add_options, loaded
from exporter.cli.recordings_export import FORMATS, Export, exported
from exporter.model.moment import format_moment, parse_moment
from exporter.model.quoted import escaped
from exporter.recorder.recording import Recording, Span, open_recording
from exporter.recorder.schema import FILE, NewerRecordingError, NoRecordingError
from exporter.runtime.clock import SystemClock

LIST, EXPORT, REPLAY = "list", "export", "replay"
BYTES_PER_MB = 1e6
ENDLESS = float("inf")
AGO = re.compile(r"-[0-9][0-9a-z.]*")
"""An argument that looks like an option and is a time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`recordings list|export|replay`, each with the place and, but for list, a span of time."""
    actions = parser.add_subparsers(dest="action", metavar="list|export|replay", required=True)
    for name, words in ((LIST, "what is in the recording: boots, from when to when, how much"),
                        (EXPORT, "ticks and events as text"),
                        (REPLAY, "play it through health again and print what becomes of each link")):  # fmt: skip
        action = actions.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".", allow_abbrev=False)
        action.add_argument("--recordings", metavar="PATH", help="a recording, or the folder that has it; default: that in state.dir")
        action._negative_number_matcher = AGO  # noqa: SLF001  # argparse takes -2h for an option otherwise, and offers no other seam
        if name == LIST:
            action.add_argument("--json", action="store_true", help="print it as JSON")
        else:
            action.add_argument("--from", dest="from_s", type=_moment, default=0.0, metavar="T", help="leave out what was before")
            action.add_argument("--to", dest="to_s", type=_moment, default=ENDLESS, metavar="T", help="leave out what came later")
        if name == EXPORT:
            action.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="jsonl: all of it; csv: the ticks' numbers alone")
            action.add_argument("--output", metavar="FILE", help="write there instead of standard output")
        add_options(action)


def run(args: argparse.Namespace) -> int:
    """What was asked for on stdout or in a file. Raises ConfigError."""
    try:
        recording = open_recording(_path(args))
    except (NoRecordingError, NewerRecordingError) as error:
        return _complain(error)
    try:
        if args.action == LIST:
            return _listed(recording, as_json=args.json)
        if args.from_s > args.to_s:
            print("fabric-exporter recordings: --from is after --to", file=sys.stderr)
            return Exit.USAGE
        return _export(recording, args) if args.action == EXPORT else _replay(recording, args)
    except NoRecordingError as error:
        return _complain(error)
    finally:
        recording.close()


def _path(args: argparse.Namespace) -> str:
    place: str = args.recordings or state_path(loaded(args).config)
    return os.path.join(place, FILE) if os.path.isdir(place) or not args.recordings else place


def _listed(recording: Recording, *, as_json: bool) -> Exit:
    spans, size_bytes = recording.spans(), recording.size_bytes()
    if as_json:
        print(json.dumps({"recording": recording.path, "size_bytes": size_bytes, "boots": [span._asdict() for span in spans]}, indent=1))
        return Exit.OK
    rows, events = sum(span.rows for span in spans), sum(span.events for span in spans)
    print(f"{recording.path}: {size_bytes / BYTES_PER_MB:.1f} MB, {rows} rows, {events} events, {len(spans)} boots")
    for span in spans:
        print(_line(span))
    return Exit.OK


def _line(span: Span) -> str:
    known = span.first_wall_s is not None and span.last_wall_s is not None
    when = f"{format_moment(span.first_wall_s or 0.0)} to {format_moment(span.last_wall_s or 0.0)}" if known else "no rows"
    lost = f", {span.lost} ticks lost" if span.lost else ""
    return (f"  boot {escaped(span.boot_id[:36]) or 'unknown'}: {when}; {span.rows} rows, {span.ticks} ticks{lost}, {span.events} events, "
            f"{span.starts} starts of health")  # fmt: skip


def _export(recording: Recording, args: argparse.Namespace) -> Exit:
    made = Export(args.from_s, args.to_s, args.format)
    if args.output is None:
        for line in exported(recording, made):
            sys.stdout.write(line)
    else:
        beside = f"{args.output}.part"
        try:
            with open(beside, "w", encoding="utf-8", newline="") as file:
                file.writelines(exported(recording, made))
            os.replace(beside, args.output)
        except OSError as error:
            print(f"fabric-exporter recordings: cannot write {args.output}: {error.strerror or error}", file=sys.stderr)
            return Exit.OUTPUT
    if not made.ticks and not made.events:
        print("nothing was recorded in that time; fabric-exporter recordings list shows what is there", file=sys.stderr)
    for problem in made.problems:
        print(f"not all of it could be read: {escaped(problem)}", file=sys.stderr)
    return Exit.PARTIAL if made.problems else Exit.OK


def _replay(recording: Recording, args: argparse.Namespace) -> Exit:
    from exporter.cli.recordings_replay import transitions  # noqa: PLC0415  # all rules, which list and export need not load

    problems: list[str] = []
    with _without_news():
        try:
            for line in transitions(recording, args.from_s, args.to_s, problems):
                print(line)
        except ValueError as error:
            problems.append(str(error))
    for problem in problems:
        print(f"not the whole story: {escaped(problem)}", file=sys.stderr)
    return Exit.PARTIAL if problems else Exit.OK


@contextmanager
def _without_news() -> Iterator[None]:
    """Health logs each change of a verdict; here they are the answer."""
    news = logging.getLogger("fabric_exporter.health")
    before = news.level
    news.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        news.setLevel(before)


def _complain(error: Exception) -> Exit:
    print(f"fabric-exporter recordings: {escaped(str(error))}", file=sys.stderr)
    return Exit.PARTIAL


def _moment(text: str) -> float:
    """An argparse type."""
    try:
        return parse_moment(text, SystemClock().wall_s())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
