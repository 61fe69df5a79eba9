"""A real Alertmanager for tests: takes alerts over its API, and its notifications are caught by a listener of ours."""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from dashboards.yaml_text import yaml_text
from tests.real.listener import listening
from tests.requires import need

INSTALL = "apt-get install prometheus-alertmanager"
LISTENING = re.compile(r'msg="Listening on".* address=(127\.0\.0\.1:\d+)')
_NO_PROXY = build_opener(ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """A running Alertmanager at `url`; `caught` are the notifications so far, as it posted them, the oldest first."""

    url: str
    caught: list[dict[str, Any]]

    def fire(self, alerts: Sequence[Mapping[str, str]]) -> None:
        """Alerts with these labels, firing from now on. Raises HTTPError if it refuses them."""
        body = json.dumps([{"labels": dict(labels)} for labels in alerts]).encode()
        request = Request(f"{self.url}/api/v2/alerts", body, {"Content-Type": "application/json"})  # noqa: S310  # http on loopback only
        _NO_PROXY.open(request, timeout=20).close()


def quick(config: Mapping[str, Any], address: str) -> dict[str, Any]:
    """The configuration with waiting times of a second, and with every receiver at that address."""
    text = re.sub(r'"group_(wait|interval)": "\w+"', r'"group_\1": "1s"', json.dumps(config))
    made: dict[str, Any] = json.loads(text)
    for receiver in made["receivers"]:
        receiver["webhook_configs"] = [{"url": f"http://{address}/{receiver['name']}"}]
    return made


@contextmanager
def alertmanager(config: Mapping[str, Any], folder: Path) -> Iterator[Alertmanager]:
    """Runs it with that configuration, made quick. Skips the test where it is not installed."""
    program = need("prometheus-alertmanager", INSTALL)
    with _catcher() as (address, caught):
        path = folder / "alertmanager.yaml"
        path.write_text(yaml_text(quick(config, address), ()), encoding="utf-8")
        argv = [program, f"--config.file={path}", f"--storage.path={folder / 'store'}", "--web.listen-address=127.0.0.1:0",
                "--cluster.listen-address="]  # fmt: skip
        with listening(argv, folder / "alertmanager.log", LISTENING, "alertmanager") as (_, where):
            yield Alertmanager(f"http://{where}", caught)


@contextmanager
def _catcher() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    caught: list[dict[str, Any]] = []

    class Catch(BaseHTTPRequestHandler):
        """Keeps what is posted."""

        def do_POST(self) -> None:
            """One notification."""
            caught.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Catch)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", caught
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
