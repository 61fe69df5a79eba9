"""A server process made of the product's own parts: one pass for each scrape (`pass`), none (`still`), or sampling in time (`live`).

The daemon answers scrapes from memory, so to compare the cost of the work itself `pass` samples within the request. Not for use.
"""

import argparse
import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Mapping, Sequence

from exporter.exposition.page import Page
from exporter.model.metric import Cadence
from exporter.runtime.clock import SystemClock
from exporter.web.connection import Limits
from exporter.web.routes import Routes
from exporter.web.server import serve
from tests.benchmarks.driver import gpus
from tests.benchmarks.files import StuckFiles
from tests.benchmarks.node import Node, real_files

HANG_AFTER_PASSES = 2.5


def main() -> None:
    """`serve MODE ROOT --port P`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("pass", "still", "live"))
    parser.add_argument("root")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--hw-counters", action="store_true")
    parser.add_argument("--cadences", default="fast,normal")
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--hang", default="", metavar="DEVICE")
    parser.add_argument("--gpus", action="store_true")
    args = parser.parse_args()
    files = StuckFiles(real_files(args.root), f"/{args.hang}/ports/1/counters/symbol_error") if args.hang else real_files(args.root)
    others = [gpus(SystemClock())[0]] if args.gpus else []
    node = Node(files, hw_counters=args.hw_counters, interval_s=args.interval, others=others)
    cadences = tuple(Cadence(name) for name in args.cadences.split(","))
    node.sampler.tick()

    def with_a_pass(query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        node.sample(cadences)
        return node.metrics(query, accept, accept_encoding)

    if args.mode == "live":
        node.sampler.start()
        if isinstance(files, StuckFiles):
            timer = threading.Timer(HANG_AFTER_PASSES * args.interval, files.hang)
            timer.daemon = True
            timer.start()
    metrics = with_a_pass if args.mode == "pass" else node.metrics
    asyncio.run(_serve(Routes.of(metrics=metrics, healthy=_well, ready=_well, landing=bytes), args.port))


async def _serve(routes: Routes, port: int) -> None:
    gc.collect()
    gc.freeze()  # as the daemon does
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    listener.settimeout(0)
    await serve([(listener, routes, None)], Limits(), stop)


def _well() -> tuple[bool, str]:
    return True, "ok"


if __name__ == "__main__":
    main()
