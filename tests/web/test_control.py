"""The control socket's routes on a real unix socket: what runs, what is refused, and that nothing waits for a slow action."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import pytest

from exporter.web.connection import Limits
from exporter.web.control import TEXT_MAX, WORDS_MAX, Action, ControlAnswer, ControlRoutes, Query
from exporter.web.routes import Request, Response
from exporter.web.server import Listener
from tests.web.serving import METRICS, PATIENCE_S, Served, ask, exchange, listening, read_all, routes_with, serving, split

RELEASE = b"POST /release HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"
KEPT_RELEASE = RELEASE.replace(b"Connection: close\r\n", b"")
RESUME = RELEASE.replace(b"release", b"resume")
STATUS = b"GET /status HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"
HALF = b"GET /status HTTP/1.1\r\nX-"


@dataclass(slots=True)
class SlowAction:
    """An action that goes on until the test lets it end."""

    begun: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)
    ended: int = 0

    def __call__(self, _query: Query) -> ControlAnswer:
        """Wait for the gate."""
        self.begun.set()
        assert self.gate.wait(PATIENCE_S)
        self.ended += 1
        return ControlAnswer(ok=True, text="GPUs released")


@pytest.fixture
def slow() -> Iterator[SlowAction]:
    """Let go in the end, so that no thread outlives its test."""
    action = SlowAction()
    yield action
    action.gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("control-"):
            thread.join(PATIENCE_S)


def resumed(_query: Query) -> ControlAnswer:
    return ControlAnswer(ok=True, text="GPUs are read again")


def control(release: Action) -> ControlRoutes:
    return ControlRoutes({"/release": release, "/resume": resumed}, lambda: {"gpus": {"released": False}}, dict)


def socket_of(folder: Path, release: Action) -> Listener:
    return listening(f"unix://{folder}/control.sock", control(release))


def begin(served: Served, slow: SlowAction, sent: bytes = RELEASE) -> socket.socket:
    """A peer whose release is under way."""
    peer = served.connect()
    peer.sendall(sent)
    assert slow.begun.wait(PATIENCE_S)
    return peer


def at_once(method: str, path: str) -> Response:
    """What is answered without any action."""
    answer = control(resumed).answer(Request(method, path))
    assert isinstance(answer, Response)
    return answer


def test_an_action_that_is_done_is_told_in_its_line(tmp_path: Path) -> None:
    """200 and the text."""
    with serving(socket_of(tmp_path, resumed)) as served:
        status, head, body = ask(served, RESUME)

    assert (status, body) == (200, b"GPUs are read again\n")
    assert b"content-type: text/plain" in head


def test_an_action_that_is_refused_is_a_conflict_with_the_reason(tmp_path: Path) -> None:
    """409; however long and broken the text, it is one bounded line."""
    refusing = lambda _query: ControlAnswer(ok=False, text="the child\nholds on " + "x" * 10_000)  # noqa: E731
    with serving(socket_of(tmp_path, refusing)) as served:
        status, _, body = ask(served, RELEASE)

    assert status == 409
    assert body.startswith(b"the child holds on xxx")
    assert (body.count(b"\n"), len(body)) == (1, TEXT_MAX + 1)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_an_action_is_begun_by_post_alone(method: str) -> None:
    """A browser's or a crawler's GET changes nothing."""
    answer = at_once(method, "/release")

    assert (answer.status, dict(answer.headers)["allow"]) == (405, "POST")


def test_the_status_cannot_be_posted() -> None:
    """It is for looking at."""
    assert (at_once("POST", "/status").status, dict(at_once("POST", "/status").headers)["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/metrics", "/release/", "", "/-/healthy"])
def test_any_other_path_is_not_found(path: str) -> None:
    """404 in one line that tells which paths there are."""
    answer = at_once("POST", path)

    assert (answer.status, answer.body) == (404, b"not found; known paths: /release, /resume, /status, /health\n")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/release", "/resume", "/reload", "/status"])
def test_the_network_has_none_of_these_paths(path: str, method: str) -> None:
    """They stand on no listener with the public routes."""
    assert routes_with().answer(Request(method, path)).status == 404


def test_the_status_shows_the_daemons_facts_as_json() -> None:
    """Beside which action is under way; HEAD has the length and no body."""
    shown, asked = at_once("GET", "/status"), at_once("HEAD", "/status")

    assert json.loads(shown.body) == {"gpus": {"released": False}, "under_way": None}
    assert dict(shown.headers)["content-type"] == "application/json"
    assert (asked.headers, asked.body) == (shown.headers, b"")


def test_a_slow_action_delays_neither_a_scrape_nor_the_status(slow: SlowAction, tmp_path: Path) -> None:
    """Both are answered while it goes on; then it is answered as well."""
    with serving(listening("127.0.0.1:0"), socket_of(tmp_path, slow)) as served, served.connect(1) as peer:
        peer.sendall(RELEASE)
        assert slow.begun.wait(PATIENCE_S)
        scraped = ask(served)
        shown = json.loads(ask(served, STATUS, 1)[2])
        before = slow.ended
        slow.gate.set()
        answer = split(read_all(peer))

    assert (scraped[0], scraped[2]) == (200, METRICS)
    assert (shown["under_way"], before) == ("release", 0)
    assert (answer[0], answer[2]) == (200, b"GPUs released\n")


def test_one_action_at_a_time(slow: SlowAction, tmp_path: Path) -> None:
    """A second one is told what it would have to wait for; afterwards it is done. So a device that hangs costs one thread."""
    with serving(socket_of(tmp_path, slow)) as served:
        with begin(served, slow) as peer:
            refused = [ask(served, sent) for sent in (RELEASE, RESUME)]
            slow.gate.set()
            read_all(peer)
        after = ask(served, RESUME)[0]

    assert [(status, body) for status, _, body in refused] == [(409, b"release is still under way; ask again when it has ended\n")] * 2
    assert (slow.ended, after) == (1, 200)


def test_a_bug_in_an_action_is_one_line_and_a_traceback_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """500; the next action is run."""

    def broken(_query: Query) -> ControlAnswer:
        raise KeyError("internal detail")

    with caplog.at_level(logging.ERROR, "fabric_exporter.web"), serving(socket_of(tmp_path, broken)) as served:
        status, _, body = ask(served, RELEASE)
        after = ask(served, RESUME)[0]

    assert (status, b"internal detail" in body, after) == (500, False, 200)
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_bug_in_the_status_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """A fact that JSON cannot hold costs that answer."""
    with caplog.at_level(logging.ERROR, "fabric_exporter.web"):
        answer = ControlRoutes({}, lambda: {"a": object()}, dict).answer(Request("GET", "/status"))

    assert isinstance(answer, Response)
    assert answer.status == 500


def test_an_action_that_never_ends_is_answered_all_the_same(slow: SlowAction, tmp_path: Path) -> None:
    """504 when its time is over; it goes on, so another one still has to wait."""
    with serving(socket_of(tmp_path, slow), limits=Limits(answer_s=0.1)) as served:
        late, _, body = ask(served, RELEASE)
        meanwhile = ask(served, RESUME)[0]
        slow.gate.set()
        wait_until_free(served)

    assert (late, meanwhile) == (504, 409)
    assert body == b"not done after 0.1 s; it goes on, and the daemon's log says how it ends\n"


def wait_until_free(served: Served) -> None:
    """Returns once an action is done again; the suite's timeout ends a test where it never is."""
    while ask(served, RESUME)[0] != HTTPStatus.OK:
        time.sleep(0.01)


@pytest.mark.parametrize("rest", [b"", HALF], ids=["silent", "half a second request"])
def test_whoever_waits_for_an_action_is_not_taken_for_idle(rest: bytes, slow: SlowAction, tmp_path: Path) -> None:
    """The deadlines for a head and between requests pass meanwhile, as another peer shows, and the answer comes."""
    limits = Limits(head_s=0.2, idle_s=0.2)
    with serving(socket_of(tmp_path, slow), limits=limits) as served, begin(served, slow, KEPT_RELEASE + rest) as peer:
        with served.connect() as idle:
            read_all(idle)
        slow.gate.set()
        received = read_all(peer)

    assert split(received)[0] == 200
    assert b"GPUs released\n" in received


def test_requests_sent_ahead_wait_for_the_action(slow: SlowAction, tmp_path: Path) -> None:
    """Answers keep the order of their requests."""
    with serving(socket_of(tmp_path, slow)) as served, begin(served, slow, KEPT_RELEASE + STATUS) as peer:
        slow.gate.set()
        received = read_all(peer)

    assert received.count(b"HTTP/1.1 200 ") == 2
    assert received.index(b"GPUs released") < received.index(b'"under_way": null')


@pytest.mark.parametrize("junk", [b"", b"nonsense\r\n\r\n"], ids=["hangs up", "sends junk"])
def test_a_peer_that_does_not_wait_loses_its_place_and_the_action_goes_on(junk: bytes, slow: SlowAction, tmp_path: Path) -> None:
    """Its only place is free at once; what it asked for is done."""
    with serving(socket_of(tmp_path, slow), limits=Limits(connections=1)) as served:
        peer = begin(served, slow)
        peer.sendall(junk)
        if junk:
            assert read_all(peer) == b""
        peer.close()
        while ask(served, STATUS)[0] != HTTPStatus.OK:
            time.sleep(0.01)
        slow.gate.set()
        wait_until_free(served)

    assert slow.ended == 1


def test_stopping_waits_for_an_action_that_ends(slow: SlowAction, tmp_path: Path) -> None:
    """Whoever asked gets the answer; idle peers are closed before."""
    limits = Limits(stop_s=PATIENCE_S)
    with serving(socket_of(tmp_path, slow), limits=limits) as served, served.connect() as idle, begin(served, slow, KEPT_RELEASE) as peer:
        served.loop.call_soon_threadsafe(served.stop.set)
        read_all(idle)
        slow.gate.set()
        received = read_all(peer)

    assert split(received)[0] == 200
    assert b"connection: close" in received.lower()


def test_stopping_does_not_wait_for_an_action_that_never_ends(slow: SlowAction, tmp_path: Path) -> None:
    """It is cut off when `stop_s` is over; that its thread ends only after the loop does no harm."""
    with serving(socket_of(tmp_path, slow), limits=Limits(stop_s=0.1)) as served, begin(served, slow) as peer:
        served.close()

        assert exchange(peer, b"") == b""
        assert not served.thread.is_alive()


def test_an_action_is_told_what_was_asked_beside_its_path(tmp_path: Path) -> None:
    """Decoded; of a word given twice the last; a word without a value is there."""
    told: list[Query] = []

    def act(query: Query) -> ControlAnswer:
        told.append(query)
        return ControlAnswer(ok=True, text="done")

    asked = b"POST /release?for=1h&for=2h&reason=swap%20optics%21&x= HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"
    with serving(socket_of(tmp_path, act)) as served:
        status = ask(served, asked)[0]

    assert (status, told) == (200, [{"for": "2h", "reason": "swap optics!", "x": ""}])


def test_a_query_of_many_words_is_refused() -> None:
    """Nothing is begun."""
    answer = control(resumed).answer(Request("POST", "/release", "&".join(f"a{number}=1" for number in range(WORDS_MAX + 1))))

    assert isinstance(answer, Response)
    assert answer.status == 400


def test_health_is_shown_while_an_action_is_under_way(slow: SlowAction, tmp_path: Path) -> None:
    """As it is, and nothing beside it."""
    routes = ControlRoutes({"/release": slow}, dict, lambda: {"level": "ok"})
    question = STATUS.replace(b"status", b"health")
    with serving(listening(f"unix://{tmp_path}/control.sock", routes)) as served, begin(served, slow) as peer:
        status, _, body = ask(served, question)
        slow.gate.set()
        read_all(peer)

    assert (status, json.loads(body)) == (200, {"level": "ok"})
