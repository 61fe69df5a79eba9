"""Routes behind a door: pace, passwords and headers as the web configuration asks for them at this moment. Lives on one loop.

Knows no file: what is asked for comes from a callable, for each request anew.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from exporter.model.web_security import ClosedError, Pace, WebSecurity
from exporter.web.passwords import Passwords, TooManyError, credentials_of
from exporter.web.routes import Request, Response, Routes, line

CHALLENGE = ("www-authenticate", 'Basic realm="fabric-exporter"')
AGAIN = ("retry-after", "1")


class Bucket:
    """Tokens of a pace. Full in the beginning, and again when the pace is changed."""

    def __init__(self) -> None:
        self._pace: Pace | None = None
        self._tokens = 0.0
        self._filled_s = 0.0

    def take(self, pace: Pace | None, now_s: float) -> bool:
        """Whether one more request may come. No pace: always."""
        if pace is None:
            return True
        if pace != self._pace:
            self._pace, self._tokens, self._filled_s = pace, float(pace.burst), now_s
        self._tokens = min(float(pace.burst), self._tokens + (now_s - self._filled_s) / pace.interval_s)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Guard:
    """Answers as the routes do, to those who may come in. `security` says what is asked for; it raises ClosedError."""

    def __init__(self, routes: Routes, security: Callable[[], WebSecurity]) -> None:
        self._routes = routes
        self._security = security
        self._passwords = Passwords()
        self._bucket = Bucket()

    def answer(self, request: Request) -> "Response | asyncio.Future[Response]":
        """The answer, 401, 429, 500 or 503; a future of one of them while bcrypt looks at a password that is new."""
        try:
            asked = self._security()
        except ClosedError:
            return line(HTTPStatus.INTERNAL_SERVER_ERROR, "the web configuration is wrong; the daemon's log says how", request)
        if not self._bucket.take(asked.pace, asyncio.get_running_loop().time()):
            return dressed(line(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", request), asked)
        if not asked.users:
            return dressed(self._routes.answer(request), asked)
        said = credentials_of(request.authorization)
        if said is None:
            return _turned_away(request, asked)
        try:
            are_right = self._passwords.are_right(said, asked.users)
        except TooManyError:
            busy = line(HTTPStatus.SERVICE_UNAVAILABLE, "too many passwords wait to be looked at; ask again", request, AGAIN)
            return dressed(busy, asked)
        if isinstance(are_right, bool):
            return self._decided(request, asked, are_right=are_right)
        return self._when_known(request, asked, are_right)

    def _when_known(self, request: Request, asked: WebSecurity, are_right: "asyncio.Future[bool]") -> "asyncio.Future[Response]":
        made: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        are_right.add_done_callback(lambda known: made.set_result(self._decided(request, asked, are_right=known.result())))
        return made

    def _decided(self, request: Request, asked: WebSecurity, *, are_right: bool) -> Response:
        return dressed(self._routes.answer(request), asked) if are_right else _turned_away(request, asked)


def dressed(response: Response, asked: WebSecurity) -> Response:
    """The response with the headers asked for, in place of those of ours that have the same name."""
    if not asked.headers:
        return response
    more = tuple((name.lower(), value) for name, value in asked.headers)
    names = {name for name, _ in more}
    return replace(response, headers=(*(header for header in response.headers if header[0] not in names), *more))


def _turned_away(request: Request, asked: WebSecurity) -> Response:
    return dressed(line(HTTPStatus.UNAUTHORIZED, "unauthorized", request, CHALLENGE), asked)
