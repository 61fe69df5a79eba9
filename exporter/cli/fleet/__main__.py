"""A simulated fleet: many nodes on one port, some of them with faults, and the list by which a Prometheus finds them. Ctrl-C stops it."""

import argparse
import asyncio
import json
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from exporter.cli.exits import Exit
from exporter.cli.fleet.fleet import Fleet
from exporter.cli.fleet.plan import fleet_of
from exporter.cli.fleet.serving import FleetRoutes, named_targets_of, targets_of
from exporter.cli.fleet.stories import AHEAD_S
from exporter.cli.options import duration_argument
from exporter.cli.verbs import OneLineParser
from exporter.config.mistake import ConfigError, Mistake, error_of
from exporter.config.schema import TIERS, Config
from exporter.model.address import TcpAddress, parse_address
from exporter.runtime.clock import SystemClock
from exporter.runtime.logs import set_up
from exporter.runtime.whole_file import ALL_MAY_READ, write_whole
from exporter.web.bind import AddressError, bind
from exporter.web.connection import Limits
from exporter.web.server import serve

NODES_MAX = 20_000
LISTEN_FLAG = "--listen-address"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop; the exit status."""
    args = _parser().parse_args(argv)
    set_up("error", "logfmt")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # while nodes live through their first minutes
    try:
        return _run(args)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return Exit.CONFIGURATION
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _run(args: argparse.Namespace) -> int:
    listener = _listener(args.listen_address)
    config = Config()
    config = replace(config, exposition=replace(config.exposition, tier=args.tier))
    print(f"starting {args.nodes} nodes: those with a story live through its first minutes …", flush=True)
    fleet = Fleet(fleet_of(args.nodes), config, SystemClock(), ahead_s=args.ahead)
    try:
        host, port = listener.getsockname()[:2]
        _write_targets("--targets", args.targets, targets_of(fleet.nodes.values(), str(TcpAddress(host, port))))
        if args.named_targets:
            _write_targets("--named-targets", args.named_targets, named_targets_of(fleet.nodes.values(), str(TcpAddress(host, port))))
        _announce(fleet, args.targets, TcpAddress(host, port))
        asyncio.run(_serve(fleet, listener))
    finally:
        listener.close()
        fleet.close()
    return Exit.OK


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="python -m exporter.cli.fleet", description=__doc__, allow_abbrev=False)
    parser.add_argument("--nodes", type=_nodes, default=16, metavar="N", help="how many nodes; default: 16")
    parser.add_argument(LISTEN_FLAG, default="127.0.0.1:29200", metavar="ADDRESS", help="default: 127.0.0.1:29200")
    parser.add_argument("--targets", default="fleet-targets.json", metavar="FILE", help="the list for file_sd; default: fleet-targets.json")
    parser.add_argument("--tier", choices=TIERS, default="standard", help="how many series a node shows; default: standard")
    parser.add_argument("--ahead", type=duration_argument, default=AHEAD_S, metavar="DURATION", help="how far nodes are in their stories")
    parser.add_argument("--named-targets", metavar="FILE", help="a second list, of pages that carry the label node as with --label.node")
    return parser


def _nodes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= NODES_MAX):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {NODES_MAX}, got {text!r}")
    return int(text)


def _listener(text: str) -> socket.socket:
    """Bound before the nodes are made: a port that is taken should be said at once. Raises ConfigError."""
    try:
        address = parse_address(text)
        if not isinstance(address, TcpAddress) or not address.host:
            raise error_of((Mistake(LISTEN_FLAG, f"expected HOST:PORT, as Prometheus is told to ask there, got {text}"),))
        first, *others = bind(address, LISTEN_FLAG)
    except (ValueError, AddressError) as error:
        raise error_of((Mistake(LISTEN_FLAG, str(error)),)) from None
    for other in others:
        other.close()
    return first


def _write_targets(flag: str, path: str, targets: list[dict[str, object]]) -> None:
    """Whole or not at all: Prometheus reads it whenever it changes. Raises ConfigError."""
    try:
        write_whole(path, json.dumps(targets, indent=1) + "\n", ALL_MAY_READ)
    except OSError as error:
        raise error_of((Mistake(flag, f"cannot write {path}: {error.strerror}"),)) from error


def _announce(fleet: Fleet, targets: str, address: TcpAddress) -> None:
    for node, title in fleet.troubles:
        print(f"  {node.name}  {node.pool:<10}{title}")
    if copies := sum(not node.is_leader for node in fleet.nodes.values()):
        print(f"  and {copies} copies of them")
    print(f"for Prometheus: file_sd_configs: [{{files: [{targets}]}}]")
    print(f"listening on {address}: http://{address}/node/{next(iter(fleet.nodes))}/metrics", flush=True)


async def _serve(fleet: Fleet, listener: socket.socket) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # Prometheus holds a connection for each target open.
    await serve([(listener, FleetRoutes(fleet.nodes, fleet.page), None)], Limits(connections=2 * len(fleet.nodes) + 64, idle_s=150), stop)


if __name__ == "__main__":
    sys.exit(main())
