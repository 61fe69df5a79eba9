"""The harness around a real Prometheus: what it scrapes can be read back, and what it cannot scrape is said."""

from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.real.listener import RealServerError, listener
from tests.real.prometheus_server import prometheus
from tests.real.static_page import static_page

PAGE = '# HELP fabric_test_total Words.\n# TYPE fabric_test_total counter\nfabric_test_total{device="mlx5_0"} 9007199254740992\n'


def test_a_scraped_value_is_read_back_with_its_labels(tmp_path: Path) -> None:
    """A counter on a page comes back through the query API, with the target's address as `instance`."""
    with static_page(PAGE) as address, prometheus([address], tmp_path) as server:
        rows = server.query_until("fabric_test_total")

    expected = {"__name__": "fabric_test_total", "device": "mlx5_0", "instance": address, "job": "test"}

    assert rows == [(expected, 9007199254740992.0)]


def test_a_target_that_answers_is_up_and_one_that_does_not_is_down(tmp_path: Path) -> None:
    """`scraped` waits for both; port 1 of loopback refuses."""
    with static_page(PAGE) as address, prometheus([address, "127.0.0.1:1"], tmp_path) as server:
        health = {target.address: target.health for target in server.scraped()}

    assert health == {address: "up", "127.0.0.1:1": "down"}


def test_a_page_that_is_no_metrics_page_is_said_in_the_target_error(tmp_path: Path) -> None:
    """A target is down with a reason if its page does not parse."""
    with static_page("<html>\n") as address, prometheus([address], tmp_path) as server:
        [target] = server.scraped()

    assert target.health == "down"
    assert target.error


def test_a_query_without_series_is_empty_and_a_scalar_has_no_labels(tmp_path: Path) -> None:
    """Nothing matched is an empty list, not an error; a wrong expression is an error."""
    with prometheus([], tmp_path) as server:
        assert server.query("no_such_series") == []
        assert server.query("1 + 1") == [({}, 2.0)]
        with pytest.raises(HTTPError, match="400") as refused:
            server.query("rate(")
        refused.value.close()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    """The error carries the exit status and the log of a program that ends instead of listening."""
    with (
        pytest.raises(RealServerError, match=r"ended with 3:\nno licence"),
        listener(["/bin/sh", "-c", "echo no licence; exit 3"], tmp_path / "log"),
    ):
        pytest.fail("it never listened")
