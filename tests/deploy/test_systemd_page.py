"""Who follows only the systemd page ends with a Prometheus that scrapes the unit, recorded rules and boards with data."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.notify_socket import notify_socket, says
from tests.deploy.test_pages import blocks
from tests.deploy.unit_files import command
from tests.real.daemon import command as verb
from tests.real.daemon import environment
from tests.real.prometheus_server import PrometheusServer, prometheus_with


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the node and its Prometheus."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Of the unit's own command on a simulated node, once it says READY."""
    own = f"--simulate=hgx-h100 --web.listen-address=127.0.0.1:0 --state-dir={folder}/state --control-socket={folder}/c.sock"
    log = folder / "journal"
    with notify_socket(str(folder / "notify")) as manager, log.open("wb") as stream:
        env = {**environment(), "NOTIFY_SOCKET": manager.address}
        with subprocess.Popen(command("ExecStart", own), env=env, stdout=stream, stderr=stream) as process:
            manager.until(says("READY"))
            yield log.read_text().partition("listening on ")[2].split()[0].strip('"')
            process.terminate()


@pytest.fixture(scope="module")
def server(address: str, folder: Path) -> Iterator[PrometheusServer]:
    """By the page's prometheus.yml: only the targets are this node, the rules' folder is the test's, and time runs faster."""
    subprocess.run(
        [*verb("assets", "export"), f"--dir={folder / 'assets'}"], env=environment(), check=True, timeout=60, capture_output=True
    )
    settings = yaml.safe_load(blocks("systemd", "yaml")[0].replace("/etc/prometheus/fabric-exporter", f"{folder}/assets/prometheus"))
    settings["scrape_configs"][0]["static_configs"][0]["targets"] = [address]
    settings["scrape_configs"][0]["scrape_interval"] = "1s"
    settings["global"] = {"evaluation_interval": "1s"}
    with prometheus_with(settings, folder) as running:
        yield running


def test_prometheus_scrapes_under_the_labels_that_boards_need(server: PrometheusServer) -> None:
    """`node` and `pool`, and the job's name that alerts look for."""
    ((labels, value),) = server.query_until("up")

    assert value == 1
    assert (labels["node"], labels["pool"]) == ("127.0.0.1", "training")
    assert "fabric-exporter" in labels["job"]


def test_the_rules_of_the_page_record_something(server: PrometheusServer, folder: Path) -> None:
    """Of the recording rules at least one has a value, and no rule fails."""
    text = (folder / "assets/prometheus/fabric-recording.rules.yaml").read_text()
    names = sorted(set(re.findall(r"record: ([\w:]+)", text)))

    assert server.query_until(f'{{__name__=~"{"|".join(names)}"}}')
    groups = server.document("rules")["data"]["groups"]
    assert [rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "err"] == []


def test_the_first_board_has_data(server: PrometheusServer, folder: Path) -> None:
    """Each file that the page imports is a board, and the fleet's count of links by status is there for Prometheus to answer."""
    boards = [json.loads(path.read_text()) for path in (folder / "assets/dashboards").glob("*.json")]

    assert {"fabric-fleet", "fabric-node"} <= {board["uid"] for board in boards}
    assert sum(value for _, value in server.query_until('fabric_node_links{node="127.0.0.1",status="ok"}')) > 200
