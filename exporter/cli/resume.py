"""Ask the running daemon to take back the GPUs that it let go with `release`.

Exit status: 0 they are read again, 1 it refused or could not be asked.
"""

import argparse

from exporter.cli import control_client
from exporter.web.control import RESUME_PATH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of every question over the control socket."""
    control_client.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `control_client.ask_daemon`."""
    return control_client.ask_daemon(args, RESUME_PATH)
