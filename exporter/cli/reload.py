"""Ask the running daemon to read its own configuration again, as SIGHUP does; it keeps the old one where the new one has a mistake.

Exit status: 0 the new configuration is in force, 1 the daemon refused it, and said why, or could not be asked.
"""

import argparse

from exporter.cli import control_client
from exporter.web.control import RELOAD_PATH


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of every question over the control socket; they only tell where it is."""
    control_client.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `control_client.ask_daemon`."""
    return control_client.ask_daemon(args, RELOAD_PATH)
