"""`python -m exporter.cli.fleet` as a person starts it: serves, writes its list, stops cleanly, and says mistakes in one line."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.fleet.fleet_process import ARGV, fleet
from tests.real.listener import fetch


def test_a_fleet_serves_its_nodes_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes at the basic tier; SIGTERM ends it with status 0 and without its temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with fleet(tmp_path, nodes=2, tier="basic", ahead="30s") as running:
        listed = json.loads(running.targets.read_text())
        page = fetch(f"http://{running.address}{listed[1]['labels']['__metrics_path__']}")
        with pytest.raises(HTTPError, match="404") as unknown:
            fetch(f"http://{running.address}/node/node-0003/metrics")
        unknown.value.close()
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(20)

    assert 'fabric_nvlink_state_id{device="gpu2",port="7"}' in page
    assert listed[0]["targets"] == [running.address]
    assert status == 0
    assert not list(tmp_path.glob("fabric-exporter-fleet-*"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--nodes", "0"), "expected a whole number from 1 to 20000, got '0'"),
        (("--listen-address", ":29200"), "expected HOST:PORT"),
        (("--listen-address", "127.0.0.1:99999"), "expected a port of at most 65535"),
        (("--nodes", "1", "--ahead", "10s", "--listen-address", "127.0.0.1:0", "--targets", "/no/such/folder/list.json"), "cannot write"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    """No traceback, and a status that is not 0."""
    done = subprocess.run([sys.executable, *ARGV, *arguments], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
