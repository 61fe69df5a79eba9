"""Tell the running daemon that somebody works on this node, so that alerts stay silent, or that nobody does any more.

Health is computed and shown all the same. Exit status: 0 it is so now, 1 the daemon refused or could not be asked.
"""

import argparse
from collections.abc import Callable
from urllib.parse import urlencode

from exporter.cli import control_client
from exporter.cli.maintenance_switch import FOR, REASON, reason_of, span_of
from exporter.web.control import MAINTENANCE_OFF_PATH, MAINTENANCE_ON_PATH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`maintenance on [--for D] [--reason T]` and `maintenance off`, both with those of every question over the control socket."""
    actions = parser.add_subparsers(dest="action", metavar="on|off", required=True)
    on = actions.add_parser("on", help="somebody works on this node", description="Somebody works on this node.", allow_abbrev=False)
    on.add_argument("--for", dest=FOR, type=_checked(span_of), metavar="DURATION", help="how long, as 2h; default: until `maintenance off`")
    on.add_argument("--reason", type=_checked(reason_of), metavar="TEXT", help="why, for whoever looks")
    off = actions.add_parser("off", help="nobody does any more", description="Nobody works on this node any more.", allow_abbrev=False)
    for action in (on, off):
        control_client.add_arguments(action)


def run(args: argparse.Namespace) -> int:
    """As `control_client.ask_daemon`."""
    if args.action == "off":
        return control_client.ask_daemon(args, MAINTENANCE_OFF_PATH)
    words = {word: text for word in (FOR, REASON) if (text := getattr(args, word))}
    return control_client.ask_daemon(args, f"{MAINTENANCE_ON_PATH}?{urlencode(words, errors='replace')}" if words else MAINTENANCE_ON_PATH)


def _checked(check: Callable[[str], object]) -> Callable[[str], str]:
    """An argparse type: the text as it is, if the daemon will take it."""

    def text_of(text: str) -> str:
        try:
            check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return text_of
