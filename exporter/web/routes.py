"""Which path answers what. Pure but for one log line per bug: a Request in, a Response out; knows no socket and no server.

What a path shows comes from plain callables, so that nothing here knows how a page is made.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qs

log = logging.getLogger("fabric_exporter.web")

HEALTHY_PATH = "/-/healthy"
READY_PATH = "/-/ready"
EVENTS_PATH = "/api/v1/events"
QUERY_FIELDS_MAX = 128
"""Twice what one list of `collect[]` or `name[]` may hold; more is a flood, not a selection."""
ERROR_TEXT_MAX = 300

_JSON = ("content-type", "application/json")
_TEXT = ("content-type", "text/plain; charset=utf-8")
NOSNIFF = ("x-content-type-options", "nosniff")
NO_STORE = ("cache-control", "no-store")
_HTML_HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    NOSNIFF,
    NO_STORE,
)


class Page(Protocol):
    """A scrape's answer as routes need it: bytes ready to send and the two headers that describe them."""

    @property
    def body(self) -> bytes:
        """The bytes, compressed already where content_encoding says so."""
        ...

    @property
    def content_type(self) -> str:
        """Value of Content-Type."""
        ...

    @property
    def content_encoding(self) -> str | None:
        """Value of Content-Encoding, None for plain bytes."""
        ...


MetricsPage = Callable[[Mapping[str, Sequence[str]], str, str], Page]
"""(query, Accept, Accept-Encoding) → page. Raises ValueError, whose text is one line, for a query that cannot be answered."""

JsonPage = Callable[[Mapping[str, Sequence[str]]], bytes]
"""query → a JSON document. From memory, as it is called on the loop. Raises ValueError, whose text is one line, for a query that cannot be
answered."""

Check = Callable[[], tuple[bool, str]]
"""() → (is it so, one line why)."""


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of an HTTP request that any route looks at. `path` is percent-decoded, `query` is not; `authorization`, which holds a
    password, is in no repr."""

    method: str
    path: str
    query: str = ""
    accept: str = ""
    accept_encoding: str = ""
    authorization: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers (lower-case names, Content-Length included) and body; the body of an answer to HEAD is empty."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


Route = Callable[[Request], Response]


class Routes:
    """The paths of one listener: a table from path to route. Build it with `of` or `health_only`."""

    def __init__(self, table: Mapping[str, Route]) -> None:
        self._table = table
        self._bugs_logged: set[str] = set()

    @classmethod
    def of(cls, *, metrics: MetricsPage, healthy: Check, ready: Check, landing: Callable[[], bytes],
           telemetry_path: str = "/metrics", events: JsonPage | None = None) -> "Routes":  # fmt: skip
        """All paths of the exporter. Raises ValueError for a telemetry path that is no path or is taken."""
        checks = _check_routes(healthy, ready)
        if events is not None:
            checks = {EVENTS_PATH: lambda request: _json(request, events), **checks}
        if not telemetry_path.startswith("/") or telemetry_path in checks:
            raise ValueError(f"telemetry path {telemetry_path!r} must start with / and be none of {', '.join(checks)}")
        page = {"/": lambda _request: respond(HTTPStatus.OK, _HTML_HEADERS, landing())}
        return cls({**page, telemetry_path: lambda request: _metrics(request, metrics), **checks})

    @classmethod
    def health_only(cls, healthy: Check, ready: Check) -> "Routes":
        """The two health paths alone, for a plain listener that kubelet probes reach (`--web.health-address`)."""
        return cls(_check_routes(healthy, ready))

    def answer(self, request: Request) -> Response:
        """The response to any request. Never raises: a bug in a route becomes 500, its traceback logged once a path."""
        route = self._table.get(request.path)
        if route is None:
            return line(HTTPStatus.NOT_FOUND, f"not found; known paths: {', '.join(self._table)}", request)
        if request.method not in ("GET", "HEAD"):
            return line(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", request, ("allow", "GET, HEAD"))
        try:
            response = route(request)
        except Exception:  # noqa: BLE001  # the request boundary: a bug must cost one answer, never the server
            self._log_once(request.path)
            return line(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the daemon's log has a traceback", request)
        return replace(response, body=b"") if request.method == "HEAD" else response

    def _log_once(self, path: str) -> None:
        if path not in self._bugs_logged:
            self._bugs_logged.add(path)
            log.exception("route failed reason=bug path=%s", path)


def _check_routes(healthy: Check, ready: Check) -> dict[str, Route]:
    return {HEALTHY_PATH: lambda request: _check(request, healthy), READY_PATH: lambda request: _check(request, ready)}


def _check(request: Request, check: Check) -> Response:
    good, why = check()
    return line(HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE, why, request)


def _json(request: Request, page: JsonPage) -> Response:
    """The document, or 400 with the ValueError's text where the query is at fault."""
    try:
        body = page(_query_of(request))
    except ValueError as error:
        return line(HTTPStatus.BAD_REQUEST, str(error), request)
    return respond(HTTPStatus.OK, (_JSON, NOSNIFF, NO_STORE), body)


def _query_of(request: Request) -> Mapping[str, Sequence[str]]:
    """Its fields, decoded. Raises ValueError for a flood of them."""
    return parse_qs(request.query, keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX) if request.query else {}


def _metrics(request: Request, metrics: MetricsPage) -> Response:
    """The page, or 400 with the ValueError's text where the query is at fault."""
    try:
        page = metrics(_query_of(request), request.accept, request.accept_encoding)
    except ValueError as error:
        return line(HTTPStatus.BAD_REQUEST, str(error), request)
    headers: tuple[tuple[str, str], ...] = (("content-type", page.content_type), ("vary", "accept, accept-encoding"))
    if page.content_encoding is not None:
        headers += (("content-encoding", page.content_encoding),)
    return respond(HTTPStatus.OK, headers, page.body)


def line(status: HTTPStatus, text: str, request: Request, *headers: tuple[str, str], most: int = ERROR_TEXT_MAX) -> Response:
    """One line of plain text, whatever the text holds, cut after `most` characters; no body for HEAD."""
    body = " ".join(text.split())[:most].encode(errors="replace") + b"\n"
    response = respond(status, (_TEXT, NOSNIFF, NO_STORE, *headers), body)
    return replace(response, body=b"") if request.method == "HEAD" else response


def respond(status: HTTPStatus, headers: tuple[tuple[str, str], ...], body: bytes) -> Response:
    """A response with the length of its body."""
    return Response(status, (*headers, ("content-length", str(len(body)))), body)
