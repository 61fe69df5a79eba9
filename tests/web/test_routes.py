"""Routes: which request gets which status, headers and body; no socket involved."""

import logging
from collections.abc import Mapping, Sequence

import pytest

from exporter.web.routes import MetricsPage, Request, Response, Routes
from tests.web.serving import METRICS, Body


def page(_query: Mapping[str, Sequence[str]], _accept: str, _encoding: str) -> Body:
    return Body()


def routes(metrics: MetricsPage = page, *, good: bool = True, telemetry_path: str = "/metrics") -> Routes:
    return Routes.of(metrics=metrics, healthy=lambda: (good, "sampler runs"), ready=lambda: (good, "first pass done"),
                     landing=lambda: b"<!DOCTYPE html>", telemetry_path=telemetry_path)  # fmt: skip


def get(path: str, method: str = "GET", of: Routes | None = None, query: str = "") -> Response:
    return (of or routes()).answer(Request(method, path, query))


@pytest.mark.parametrize(
    ("path", "body"),
    [("/", b"<!DOCTYPE html>"), ("/metrics", METRICS), ("/-/healthy", b"sampler runs\n"), ("/-/ready", b"first pass done\n")],
)
def test_each_path_answers_with_its_body(path: str, body: bytes) -> None:
    """200, the body, and its length."""
    answer = get(path)

    assert (answer.status, answer.body) == (200, body)
    assert dict(answer.headers)["content-length"] == str(len(body))


@pytest.mark.parametrize("path", ["/", "/metrics", "/-/healthy", "/-/ready", "/nothing"])
def test_head_has_the_headers_of_get_and_no_body(path: str) -> None:
    """Content-Length included, for each path and for 404."""
    asked, got = get(path, "HEAD"), get(path)

    assert (asked.status, asked.headers, asked.body) == (got.status, got.headers, b"")


@pytest.mark.parametrize("path", ["/metrics/", "/favicon.ico", "/-/reload", "/api/v1/scene", "", "//", "/metrics\n"])
def test_any_other_path_is_not_found(path: str) -> None:
    """404 in one line that tells which paths there are."""
    answer = get(path)

    assert answer.status == 404
    assert answer.body == b"not found; known paths: /, /metrics, /-/healthy, /-/ready\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"])
def test_other_methods_are_not_allowed(method: str) -> None:
    """The network changes nothing; 405 says what is allowed."""
    answer = get("/metrics", method)

    assert (answer.status, dict(answer.headers)["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/-/healthy", "/-/ready"])
def test_a_failed_check_is_unavailable_with_its_reason(path: str) -> None:
    """503, so that a kubelet or load balancer understands it."""
    assert get(path, of=routes(good=False)).status == 503


def test_metrics_are_described_by_their_page() -> None:
    """Type and encoding come from the page."""
    answer = get("/metrics", of=routes(lambda _query, _accept, _encoding: Body(b"\x1f", "text/x", "gzip")))

    assert answer.headers == (
        ("content-type", "text/x"),
        ("vary", "accept, accept-encoding"),
        ("content-encoding", "gzip"),
        ("content-length", "1"),
    )


def test_query_and_headers_reach_the_page() -> None:
    """Decoded query with every value, header texts as they came."""
    seen: list[object] = []

    def noting(query: Mapping[str, Sequence[str]], accept: str, encoding: str) -> Body:
        seen.append((dict(query), accept, encoding))
        return Body()

    routes(noting).answer(Request("GET", "/metrics", "collect[]=a&collect%5B%5D=b&tier=", "text/plain", "gzip;q=0.5"))

    assert seen == [({"collect[]": ["a", "b"], "tier": [""]}, "text/plain", "gzip;q=0.5")]


def test_a_query_that_cannot_be_answered_is_a_bad_request_in_one_line() -> None:
    """Whatever the text of the error holds, it stays one bounded line."""

    def picky(_query: object, _accept: str, _encoding: str) -> Body:
        raise ValueError("unknown source 'x\ny'\t" + "z" * 1000)

    answer = get("/metrics", of=routes(picky))

    assert answer.status == 400
    assert answer.body.startswith(b"unknown source 'x y' zzz")
    assert answer.body.count(b"\n") == 1
    assert len(answer.body) < 400


def test_a_flood_of_query_fields_is_a_bad_request() -> None:
    """Parsed no further than the bound."""
    assert get("/metrics", query="a=1&" * 1000).status == 400


def test_a_bug_in_a_route_is_one_line_to_the_client_and_one_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """500 each time; the log keeps the first."""

    def broken(_query: object, _accept: str, _encoding: str) -> Body:
        raise KeyError("internal detail")

    faulty = routes(broken)
    with caplog.at_level(logging.ERROR, "fabric_exporter.web"):
        answers = [get("/metrics", of=faulty) for _ in range(3)]

    assert [answer.status for answer in answers] == [500] * 3
    assert b"internal detail" not in answers[0].body
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_bug_in_one_route_leaves_the_others_working() -> None:
    """Health still answers while the page is broken."""

    def broken(_query: object, _accept: str, _encoding: str) -> Body:
        raise ZeroDivisionError

    faulty = routes(broken)
    get("/metrics", of=faulty)

    assert get("/-/healthy", of=faulty).status == 200


def test_the_status_page_may_load_nothing() -> None:
    """Its headers forbid scripts, other hosts and framing."""
    headers = dict(get("/").headers)

    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_the_telemetry_path_can_be_moved() -> None:
    """The old one is gone then; it may even be the root."""
    moved = routes(telemetry_path="/fabric")

    assert (get("/fabric", of=moved).body, get("/metrics", of=moved).status) == (METRICS, 404)
    assert get("/", of=routes(telemetry_path="/")).body == METRICS


@pytest.mark.parametrize("path", ["metrics", "", "/-/healthy", "/-/ready"])
def test_a_telemetry_path_that_cannot_work_is_refused(path: str) -> None:
    """No leading slash, or the place of a health check."""
    with pytest.raises(ValueError, match="telemetry path"):
        routes(telemetry_path=path)


def test_a_health_listener_serves_health_alone() -> None:
    """A plain port for probes must not show metrics."""
    plain = Routes.health_only(lambda: (True, "healthy"), lambda: (False, "no pass yet"))

    assert [get(path, of=plain).status for path in ("/-/healthy", "/-/ready", "/metrics", "/")] == [200, 503, 404, 404]


def with_events(query: Mapping[str, Sequence[str]]) -> bytes:
    """Refuses one query."""
    if "since" in query:
        raise ValueError("expected a time")
    return b"{}\n"


def test_events_are_a_json_document() -> None:
    """Where there are any; a query that cannot be answered is a 400 in one line."""
    table = Routes.of(metrics=page, healthy=lambda: (True, ""), ready=lambda: (True, ""), landing=lambda: b"", events=with_events)

    found, refused = get("/api/v1/events", of=table), get("/api/v1/events", of=table, query="since=yesterday")

    assert (found.status, found.body, dict(found.headers)["content-type"]) == (200, b"{}\n", "application/json")
    assert dict(found.headers)["cache-control"] == "no-store"
    assert (refused.status, refused.body) == (400, b"expected a time\n")
    assert get("/api/v1/events", "POST", of=table).status == 405
