"""`make screenshots`: a fleet with faults, a real Prometheus that scrapes it for some minutes, and every board drawn from what it knows."""

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.fleet.board_questions import rule_files
from tests.fleet.fleet_process import fleet
from tests.fleet.fleet_prometheus import fleet_prometheus
from tests.fleet.questions import Pick
from tests.real.prometheus_server import PrometheusServer
from tests.screenshots.answers import Span
from tests.screenshots.pictures import pictures_of

BOARDS = Path(__file__).parents[2] / "dashboards" / "generated" / "dashboards"
INTERVAL_S = 5.0
PICKS: dict[str, Pick] = {
    "fabric-node": {"node": "node-0003"},
    "fabric-link": {"node": "node-0003", "fabric": "infiniband", "device": "mlx5_0", "port": "1"},
    "fabric-job": {"job_id": "4715"},
    "fabric-exporter": {"node": "node-0012"},
}
"""What is picked at the head of a board, where that is not all: nodes whose story (exporter/cli/fleet/stories.py) has something to show."""
ALL: Pick = {"pool": "all", "node": "all", "device": "all"}


def main() -> int:
    """Write the pictures and print their paths."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path("screenshots"), metavar="DIR", help="default: screenshots")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to scrape before anything is drawn; default: 10")
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--prometheus", metavar="URL", help="draw from this one, which scrapes a fleet already")
    parser.add_argument("--only", metavar="UID", help="one board")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if args.prometheus:
            server = PrometheusServer(args.prometheus)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fabric-exporter-screenshots-")))
            nodes = stack.enter_context(fleet(folder, nodes=args.nodes, tier="full"))
            server = stack.enter_context(fleet_prometheus(nodes.targets, folder, interval_s=INTERVAL_S, rules=rule_files()))
            print(f"scraping for {args.minutes:g} minutes …", flush=True)
            time.sleep(args.minutes * 60)
        now_s = time.time()
        for file in sorted(BOARDS.glob("*.json")):
            board = json.loads(file.read_text(encoding="utf-8"))
            if args.only in (None, board["uid"]):
                pick = {**ALL, **PICKS.get(board["uid"], {})}
                for path in pictures_of(server, board, pick, Span(now_s - args.minutes * 60, now_s), args.dir):
                    print(path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
