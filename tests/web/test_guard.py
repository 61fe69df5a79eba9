"""The door before the routes: passwords, headers and pace, on a loop of the test and on real sockets."""

import asyncio
import base64
import threading
from collections.abc import Mapping
from typing import TypeVar

import bcrypt
import pytest

from exporter.model.web_security import OPEN, ClosedError, Pace, WebSecurity
from exporter.web.guard import Bucket, Guard
from exporter.web.passwords import REMEMBERED_MAX, WAITING_MAX, Credentials, Passwords, TooManyError, credentials_of
from exporter.web.routes import Request, Response
from tests.web.serving import METRICS, ask, listening, routes_with, serving

T = TypeVar("T")


def hashed(password: bytes, cost: int = 4) -> str:
    return bcrypt.hashpw(password[:72], bcrypt.gensalt(cost)).decode()


USERS = {"ann": hashed(b"a:b"), "bob": hashed(b"")}


def basic(name: str, password: bytes) -> str:
    return "Basic " + base64.b64encode(name.encode() + b":" + password).decode()


def answers(guard: Guard, *requests: Request) -> list[Response]:
    """One after the other, on a loop."""

    async def run() -> list[Response]:
        found = []
        for request in requests:
            answer = guard.answer(request)
            found.append(answer if isinstance(answer, Response) else await answer)
        return found

    return asyncio.run(run())


def answer_to(authorization: str, security: WebSecurity, path: str = "/metrics") -> Response:
    (found,) = answers(Guard(routes_with(), lambda: security), Request("GET", path, authorization=authorization))
    return found


@pytest.mark.parametrize(("authorization", "status"), [
    (basic("ann", b"a:b"), 200), (basic("bob", b""), 200), (basic("ann", b"a"), 401), (basic("ann", b""), 401), (basic("Ann", b"a:b"), 401),
    (basic("nobody", b"fakepassword"), 401), (basic("", b""), 401), ("", 401), ("Basic", 401), ("Basic !", 401), ("Basic YW5u", 401),
    ("basic " + basic("ann", b"a:b")[6:], 200), ("Bearer " + basic("ann", b"a:b")[6:], 401), (basic("ann", b"a:b\0"), 401),
    ("Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(), 401), (basic("ann", b"x" * 5000), 401),
])  # fmt: skip
def test_a_password_opens_and_nothing_else_does(authorization: str, status: int) -> None:
    """Colons belong to the password, the scheme's case does not matter; the hash of the toolkit's nobody opens to nobody."""
    found = answer_to(authorization, WebSecurity(users=USERS))

    assert found.status == status
    assert (found.body == METRICS) == (status == 200)
    assert ("www-authenticate" in dict(found.headers)) == (status == 401)


@pytest.mark.parametrize("path", ["/", "/-/healthy", "/-/ready", "/api/v1/events", "/nowhere"])
def test_every_path_asks_for_the_password(path: str) -> None:
    """Also one that is not there: who may not come in learns nothing."""
    found = answer_to("", WebSecurity(users=USERS), path)

    assert (found.status, dict(found.headers)["www-authenticate"]) == (401, 'Basic realm="fabric-exporter"')


def test_a_password_is_cut_after_72_bytes() -> None:
    """As Go and htpasswd do: bcrypt looks at no more."""
    security = WebSecurity(users={"ann": hashed(b"x" * 80)})

    statuses = [answer_to(basic("ann", b"x" * length), security).status for length in (71, 72, 73, 80, 200)]

    assert statuses == [401, 200, 200, 200, 200]


def test_head_is_turned_away_without_a_body() -> None:
    """As every answer to HEAD."""
    (found,) = answers(Guard(routes_with(), lambda: WebSecurity(users=USERS)), Request("HEAD", "/metrics"))

    assert (found.status, found.body) == (401, b"")


def test_headers_are_on_every_answer_in_place_of_our_own() -> None:
    """On a page, a 401, a 404; one header of a name."""
    security = WebSecurity(users=USERS, headers=(("X-Frame-Options", "deny"), ("Content-Security-Policy", "default-src 'self'")))
    request = Request("GET", "/", authorization=basic("ann", b"a:b"))
    found = [answers(Guard(routes_with(), lambda: security), request)[0], answer_to("", security),
             answer_to(request.authorization, security, "/nowhere")]  # fmt: skip

    assert [response.status for response in found] == [200, 401, 404]
    for response in found:
        names = [name for name, _ in response.headers]
        assert dict(response.headers)["x-frame-options"] == "deny"
        assert dict(response.headers)["content-security-policy"] == "default-src 'self'"
        assert len(names) == len(set(names))


def test_while_the_door_is_closed_everybody_gets_500() -> None:
    """Nothing of the pages is shown."""

    def closed() -> WebSecurity:
        raise ClosedError

    (found,) = answers(Guard(routes_with(), closed), Request("GET", "/metrics", authorization=basic("ann", b"a:b")))

    assert found.status == 500
    assert METRICS not in found.body


def test_an_open_door_changes_nothing() -> None:
    """What an empty file asks for."""
    assert answer_to("", OPEN) == routes_with().answer(Request("GET", "/metrics"))


def test_a_user_taken_out_is_turned_away_at_once() -> None:
    """Also one whose password is remembered, and one whose hash was changed."""
    in_force = [WebSecurity(users=USERS), WebSecurity(users={"bob": USERS["bob"]}), WebSecurity(users={**USERS, "ann": hashed(b"new")})]
    guard = Guard(routes_with(), lambda: in_force[0])
    request = Request("GET", "/metrics", authorization=basic("ann", b"a:b"))

    async def run() -> list[int]:
        statuses = []
        for _ in range(3):
            answer = guard.answer(request)
            statuses.append((answer if isinstance(answer, Response) else await answer).status)
            in_force.pop(0)
        return statuses

    assert asyncio.run(run()) == [200, 401, 401]


def test_what_is_known_is_answered_at_once_and_bcrypt_runs_once() -> None:
    """Right or wrong; the same password asked for at the same time is looked at once."""

    async def run() -> tuple[object, ...]:
        passwords = Passwords()
        first = passwords.are_right(Credentials("ann", b"a:b"), USERS)
        second = passwords.are_right(Credentials("ann", b"a:b"), USERS)
        wrong = passwords.are_right(Credentials("ann", b"no"), USERS)
        assert isinstance(first, asyncio.Future)
        assert isinstance(wrong, asyncio.Future)
        results = (await first, await wrong)
        again = (passwords.are_right(Credentials("ann", b"a:b"), USERS), passwords.are_right(Credentials("ann", b"no"), USERS))
        return first is second, results, again

    assert asyncio.run(run()) == (True, (True, False), (True, False))


def test_wrong_passwords_do_not_push_out_right_ones_nor_grow_without_end() -> None:
    """A flood of guesses makes nobody who is known wait for bcrypt again."""

    async def run() -> tuple[object, int]:
        passwords = Passwords()
        right = passwords.are_right(Credentials("ann", b"a:b"), USERS)
        assert isinstance(right, asyncio.Future)
        await right
        for number in range(REMEMBERED_MAX + 20):
            wrong = passwords.are_right(Credentials("ann", b"%d" % number), USERS)
            assert isinstance(wrong, asyncio.Future)
            await wrong
        return passwords.are_right(Credentials("ann", b"a:b"), USERS), len(passwords._wrong)

    assert asyncio.run(run()) == (True, REMEMBERED_MAX)


def test_no_password_is_kept_in_clear() -> None:
    """What is remembered are keyed digests."""

    async def run() -> list[bytes]:
        passwords = Passwords()
        found = passwords.are_right(Credentials("ann", b"a:b"), USERS)
        assert isinstance(found, asyncio.Future)
        await found
        return [*passwords._right, *passwords._wrong]

    assert [len(key) for key in asyncio.run(run())] == [32]


def test_an_unknown_name_costs_the_same_work_as_a_known_one() -> None:
    """Else the time of the answer tells the names: bcrypt at the users' own cost, which the toolkit fixes at 10."""
    users = {"ann": hashed(b"x", 6), "bob": hashed(b"x", 5)}

    async def run() -> str:
        passwords = Passwords()
        passwords._under_way = True  # nothing is begun, so that what waits can be looked at
        passwords.are_right(Credentials("nobody", b"x"), users)
        return passwords._waiting[0].hashed

    assert asyncio.run(run())[:7] == "$2y$05$"


def test_passwords_that_wait_are_bounded() -> None:
    """More are told to come again; who is known is not touched."""

    async def run() -> list[bool]:
        passwords = Passwords()
        passwords._under_way = True
        refused = []
        for number in range(WAITING_MAX + 2):
            try:
                passwords.are_right(Credentials("ann", b"%d" % number), USERS)
                refused.append(False)
            except TooManyError:
                refused.append(True)
        return refused

    assert asyncio.run(run()) == [False] * WAITING_MAX + [True] * 2


def test_a_hash_that_takes_long_holds_up_nobody_else() -> None:
    """The answer to one password waits in a thread; others are served meanwhile, and threads are as many as passwords looked at: one."""
    users: Mapping[str, str] = {"slow": hashed(b"x", 12)}
    guard = Guard(routes_with(), lambda: WebSecurity(users=users))
    slow = f"GET /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\nAuthorization: {basic('slow', b'x')}\r\n\r\n".encode()
    threads = threading.active_count()
    with serving(listening("127.0.0.1:0", guard), listening("127.0.0.1:0", guard)) as served:
        waiting = [served.connect(), served.connect()]
        for peer in waiting:
            peer.sendall(slow)
        meanwhile = [ask(served)[0] for _ in range(20)]
        most = threading.active_count()
        statuses = [peer.recv(4096).split(b" ")[1] for peer in waiting]
        for peer in waiting:
            peer.close()

    assert meanwhile == [401] * 20
    assert most <= threads + 2  # the server's own, and one password
    assert statuses == [b"200", b"200"]


def test_pace_lets_a_burst_through_and_then_one_each_interval() -> None:
    """A token bucket, full at first; no pace and a changed one."""
    bucket, pace = Bucket(), Pace(10.0, 2)

    passed = [bucket.take(pace, now_s) for now_s in (100.0, 100.0, 100.0, 109.0, 110.5, 111.0, 1000.0, 1000.0, 1000.0)]

    assert passed == [True, True, False, False, True, False, True, True, False]
    assert bucket.take(None, 1000.0)
    assert bucket.take(Pace(10.0, 1), 1000.0)
    assert not bucket.take(Pace(10.0, 0), 2000.0)


def test_too_fast_is_429_before_a_password_is_looked_at() -> None:
    """As the toolkit has it."""
    guard = Guard(routes_with(), lambda: WebSecurity(users=USERS, pace=Pace(3600.0, 1)))

    found = answers(guard, Request("GET", "/metrics"), Request("GET", "/metrics", authorization=basic("ann", b"a:b")))

    assert [response.status for response in found] == [401, 429]


def test_credentials_are_in_no_repr_of_a_request() -> None:
    """A request may be shown by a traceback."""
    assert "c2Vj" not in repr(Request("GET", "/", authorization="Basic c2Vj"))
    assert credentials_of("Basic c2Vj") is None
