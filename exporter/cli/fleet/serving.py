"""Where the nodes of a fleet are found on one port, and the list by which Prometheus discovers them: `/node/NAME/metrics`, and
`/named/NAME/metrics` with the name of the node on every series, as `--label.node` puts it there.

Knows paths and the file_sd format; what stands on a page is fleet.py's.
"""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from urllib.parse import quote

from exporter.cli.fleet.leader import NAMED, PLAIN
from exporter.cli.fleet.plan import FleetNode
from exporter.exposition.choice import Labels
from exporter.web.connection import Answer
from exporter.web.routes import Request, Response, line, respond

PREFIX, NAMED_PREFIX, SUFFIX = "/node/", "/named/", "/metrics"
_TEXT = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
PORT = 29100
"""Of the exporter on a real node: what `instance` says."""
ALLOWED = ("GET", "HEAD")


class FleetRoutes:
    """Answers by the node in the path. Pages go out plain: on loopback packing them would cost more than sending them."""

    def __init__(self, nodes: Mapping[str, FleetNode], page_of: Callable[[FleetNode, Labels], bytes | None]) -> None:
        self._example = next(path_of(node) for node in nodes.values())
        self._pages = {path_of(node): (node, PLAIN) for node in nodes.values()}
        self._pages |= {path_of(node, NAMED_PREFIX): (node, NAMED) for node in nodes.values()}
        self._page_of = page_of

    def answer(self, request: Request) -> Answer:
        """The page; 404 for a path or node that there is not, 503 while no exporter runs on the node."""
        if request.path not in self._pages:
            return line(HTTPStatus.NOT_FOUND, f"not found: nodes are at paths such as {self._example}", request)
        if request.method not in ALLOWED:
            return line(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", request, ("allow", ", ".join(ALLOWED)))
        node, labels = self._pages[request.path]
        page = self._page_of(node, labels)
        if page is None:
            return line(HTTPStatus.SERVICE_UNAVAILABLE, f"no exporter runs on {node.name} now", request)
        response = respond(HTTPStatus.OK, (_TEXT,), page)
        return response if request.method == "GET" else Response(response.status, response.headers, b"")


def path_of(node: FleetNode, prefix: str = PREFIX) -> str:
    """Where its page is."""
    return f"{prefix}{quote(node.name)}{SUFFIX}"


def targets_of(
    nodes: Iterable[FleetNode],
    address: str,
) -> list[dict[str, object]]:
    """What a file_sd list says of them: one target each, with `instance` as on a real node, `pool` and `node`."""
    return [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": path_of(node),
                "instance": f"{node.name}:{PORT}",
                "pool": node.pool,
                "node": node.name,
            },
        }
        for node in nodes
    ]


def named_targets_of(nodes: Iterable[FleetNode], address: str) -> list[dict[str, object]]:
    """The same nodes with pages that say their name themselves: no `node` in the list."""
    return [
        {
            "targets": [address],
            "labels": {"__metrics_path__": path_of(node, NAMED_PREFIX), "instance": f"{node.name}:{PORT}", "pool": node.pool},
        }
        for node in nodes
    ]
