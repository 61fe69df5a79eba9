"""Ask the running daemon to let go of the GPUs, before a GPU reset or a driver reload; `resume` gives them back to it.

Exit status: 0 it holds none now, 1 it refused or could not be asked. The daemon goes on serving everything else meanwhile.
"""

import argparse

from exporter.cli import control_client
from exporter.web.control import RELEASE_PATH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of every question over the control socket."""
    control_client.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `control_client.ask_daemon`."""
    return control_client.ask_daemon(args, RELEASE_PATH)
