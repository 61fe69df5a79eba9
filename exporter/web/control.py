"""The control socket's paths: what may be asked of the daemon by whoever may open that socket. The network has none of them.

An action may take seconds, so a thread runs it and the connection waits; one at a time, so that a device that hangs costs one thread.
Knows neither what an action does nor how the socket came to be.
"""

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from exporter.web.routes import NO_STORE, NOSNIFF, Request, Response, line, respond

log = logging.getLogger("fabric_exporter.web")

RELEASE_PATH = "/release"
RESUME_PATH = "/resume"
RELOAD_PATH = "/reload"
MAINTENANCE_ON_PATH = "/maintenance/on"
MAINTENANCE_OFF_PATH = "/maintenance/off"
STATUS_PATH = "/status"
HEALTH_PATH = "/health"
WORDS_MAX = 16
"""Fields of an action's query; none takes more than a few."""
TEXT_MAX = 4096
"""Characters of an action's text: a refused configuration may have many mistakes."""

_JSON = ("content-type", "application/json")


class ControlAnswer(NamedTuple):
    """How an action ended: whether what was asked for is so now, and one line for the person who asked."""

    ok: bool
    text: str


Query: TypeAlias = Mapping[str, str]
"""What was asked beside the path, decoded; of a word given twice the last."""

Action: TypeAlias = Callable[[Query], ControlAnswer]
"""Called in a thread of its own; may take seconds. What it raises is a bug."""

Facts: TypeAlias = Callable[[], Mapping[str, object]]
"""Facts of the daemon as JSON takes them. Called on the loop: from memory."""


class ControlRoutes:
    """POST of an action's path runs it; GET of `/status` shows the daemon's facts and which action is under way, GET of `/health` what is
    known of the node's links. Lives on one loop."""

    def __init__(self, actions: Mapping[str, Action], status: Facts, health: Facts) -> None:
        self._actions = actions
        self._facts: Mapping[str, Facts] = {
            STATUS_PATH: lambda: {**status(), "under_way": self._under_way},
            HEALTH_PATH: health,
        }
        self._under_way: str | None = None

    def answer(self, request: Request) -> "Response | asyncio.Future[Response]":
        """The response, or the future one of an action that has begun. Never raises: a bug becomes 500, its traceback logged."""
        facts = self._facts.get(request.path)
        if facts is not None:
            return _shown(request, facts) if request.method in ("GET", "HEAD") else _only("GET, HEAD", request)
        action = self._actions.get(request.path)
        if action is None:
            return line(HTTPStatus.NOT_FOUND, f"not found; known paths: {', '.join((*self._actions, *self._facts))}", request)
        if request.method != "POST":
            return _only("POST", request)
        if self._under_way is not None:
            return line(HTTPStatus.CONFLICT, f"{self._under_way} is still under way; ask again when it has ended", request)
        try:
            query = dict(parse_qsl(request.query, keep_blank_values=True, max_num_fields=WORDS_MAX))
        except ValueError as error:
            return line(HTTPStatus.BAD_REQUEST, str(error), request)
        return self._begun(request, action, query)

    def _begun(self, request: Request, action: Action, query: Query) -> "Response | asyncio.Future[Response]":
        """Start the action's thread. A daemon thread: one that is stuck must not keep the process from its end."""
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Response] = loop.create_future()

        def work() -> None:
            response = _done(request, action, query)
            with contextlib.suppress(RuntimeError):  # the loop is closed: the daemon has stopped meanwhile
                loop.call_soon_threadsafe(partial(self._end, made, response))

        name = request.path.strip("/")
        try:
            threading.Thread(target=work, name=f"control-{name}", daemon=True).start()
        except RuntimeError as error:  # no thread to be had
            return line(HTTPStatus.SERVICE_UNAVAILABLE, f"{name} was not begun: {error}", request)
        self._under_way = name
        return made

    def _end(self, made: "asyncio.Future[Response]", response: Response) -> None:
        self._under_way = None
        made.set_result(response)


def _shown(request: Request, facts: Facts) -> Response:
    try:
        body = json.dumps(facts()).encode() + b"\n"
    except Exception:  # noqa: BLE001  # the request boundary: a bug must cost one answer, never the server
        return _bug(request)
    shown = respond(HTTPStatus.OK, (_JSON, NOSNIFF, NO_STORE), body)
    return replace(shown, body=b"") if request.method == "HEAD" else shown


def _done(request: Request, action: Action, query: Query) -> Response:
    """Run the action: 200 or 409, and its line."""
    try:
        ok, text = action(query)
    except Exception:  # noqa: BLE001  # the request boundary: a bug must cost one answer, never the thread that owes it
        return _bug(request)
    return line(HTTPStatus.OK if ok else HTTPStatus.CONFLICT, text, request, most=TEXT_MAX)


def _bug(request: Request) -> Response:
    log.exception("control failed reason=bug path=%s", request.path)
    return line(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the daemon's log has a traceback", request)


def _only(methods: str, request: Request) -> Response:
    return line(HTTPStatus.METHOD_NOT_ALLOWED, f"only {methods} here", request, ("allow", methods))
