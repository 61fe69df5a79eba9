"""prometheus_client's own HTTP server sending fixed gzip bytes: what its server costs when rendering costs nothing."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import make_server

from prometheus_client.exposition import ThreadingWSGIServer, _SilentHandler

TYPE = "text/plain; version=0.0.4; charset=utf-8"


def main() -> None:
    """`library_server BODY_FILE PORT`."""
    body = Path(sys.argv[1]).read_bytes()
    headers = [("Content-Type", TYPE), ("Content-Encoding", "gzip"), ("Content-Length", str(len(body)))]

    def app(_environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
        start_response("200 OK", headers)
        return [body]

    make_server("127.0.0.1", int(sys.argv[2]), app, ThreadingWSGIServer, handler_class=_SilentHandler).serve_forever()


if __name__ == "__main__":
    main()
