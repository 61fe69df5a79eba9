"""Health of this node now, for a person, a Slurm prolog or an init container. Asks the running daemon; without one it looks for itself.

Exit status: 0 healthy, 1 a link is as bad as --fail-on or worse, 4 no supported hardware, 5 something could not be seen. Maintenance and
the time after a start change none of them.
"""

import argparse
import json
import os
import shutil
import sys
from http import HTTPStatus

from exporter.cli import health_text
from exporter.cli.control_client import OPTION, NoDaemonError, NotAskedError, answer_of, socket_path
from exporter.cli.exits import Exit
from exporter.cli.options import add_options, duration_argument, loaded
from exporter.config.options import OPTIONS
from exporter.model.health import Level
from exporter.model.health_document import document_of, health_in
from exporter.model.node_health import NodeHealth, gaps_of
from exporter.model.quoted import escaped
from exporter.web.control import HEALTH_PATH

WINDOW_S = 10.0
ANSWER_S = 5.0
"""The daemon answers from memory; one that takes longer is no help to a job that waits."""
ANSWER_MAX_BYTES = 8 << 20
"""Ten thousand links with their reasons."""
SIMULATE = OPTIONS["simulate.profile"].path
FAIL_ON = (Level.FAILED.word, Level.DEGRADED.word, Level.SUSPECT.word)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`check [--json] [--window D] [--fail-on LEVEL] [--prolog]` and the shared flags."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--window", type=duration_argument, default=WINDOW_S, metavar="DURATION",
                        help=f"how long to look where no daemon answers; default: {WINDOW_S:g}s")  # fmt: skip
    parser.add_argument("--fail-on", choices=FAIL_ON, default=Level.FAILED.word, help="the least status that is exit 1; default: failed")
    parser.add_argument("--prolog", action="store_true", help="no hardware and parts not seen are exit 0, with a line on stderr")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """The health on stdout. Raises ConfigError."""
    health, by = _health(args)
    if health.simulated:
        print("simulated node: every line is invented, no hardware is read", file=sys.stderr)
    if args.json:
        print(json.dumps({"by": by, **document_of(health)}, ensure_ascii=False, indent=1))
    else:
        print(health_text.text_of(health, shutil.get_terminal_size().columns, _paint()), end="")
    return _for_prolog(exit_of(health, args.fail_on), health, args) if args.prolog else _said(exit_of(health, args.fail_on), health)


def exit_of(health: NodeHealth, fail_on: str) -> Exit:
    """Bad news is more than a part that is not seen, and that more than no hardware."""
    if health.level is not None and health.level >= Level[fail_on.upper()]:
        return Exit.FINDING
    if gaps_of(health):
        return Exit.PARTIAL
    return Exit.OK if health.has_hardware else Exit.NO_HARDWARE


def _health(args: argparse.Namespace) -> tuple[NodeHealth, str]:
    """Of this node, and who says so: the daemon, or this process. A simulated node is nobody's but this process's, unless the socket of its
    daemon is named."""
    place = None
    if not vars(args).get(SIMULATE) or vars(args).get(OPTION.path):
        place = socket_path(args)
        try:
            return asked(place), f"daemon on {place}"
        except NoDaemonError:
            print(f"no daemon listens on {place}: looking for {args.window:g} s", file=sys.stderr)
        except NotAskedError as error:
            print(f"{error}; looking for {args.window:g} s instead", file=sys.stderr)
    from exporter.cli import own_passes  # noqa: PLC0415  # 70 ms that a job need not wait for where a daemon answers
    from exporter.runtime.logs import set_up  # noqa: PLC0415

    config = loaded(args).config
    set_up("warning", config.logging.format)
    look = own_passes.simulated if config.simulate.profile else own_passes.seen
    return look(config, args.window), "own passes"


def asked(place: str) -> NodeHealth:
    """What the daemon on that socket says. Raises NotAskedError."""
    status, body = answer_of(place, "GET", HEALTH_PATH, ANSWER_S, ANSWER_MAX_BYTES)
    if status != HTTPStatus.OK:
        raise NotAskedError(f"the daemon on {place} answered HTTP {status}; is it of another version?")
    try:
        return health_in(json.loads(body))
    except (ValueError, RecursionError) as error:
        why = str(error) if error.__cause__ is not None else "it is no JSON"
        raise NotAskedError(f"the answer from {place} makes no sense: {why}") from None


def _said(status: Exit, health: NodeHealth) -> Exit:
    if status is Exit.NO_HARDWARE:
        for look in health.sources:
            print(f"{look.name}: found nothing; looked for {escaped(look.looked_for)}", file=sys.stderr)
    return status


def _for_prolog(status: Exit, health: NodeHealth, args: argparse.Namespace) -> Exit:
    """A job must not be refused for what this program cannot see."""
    if status not in (Exit.NO_HARDWARE, Exit.PARTIAL):
        return status
    why = "no supported hardware" if status is Exit.NO_HARDWARE else f"not everything could be seen: {escaped('; '.join(gaps_of(health)))}"
    print(f"{why}; nothing is {args.fail_on}, so --prolog lets the job run", file=sys.stderr)
    return Exit.OK


def _paint() -> health_text.Paint:
    """Colour for a terminal, unless somebody does not want it (no-color.org)."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return health_text.coloured if wanted else health_text.plain
