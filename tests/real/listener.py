"""Starts a real server on a free loopback port and tells where it listens. Knows the log line of Prometheus' exporter-toolkit
("Listening on" address=…), no server in particular."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.request import ProxyHandler, Request, build_opener

LISTENING = re.compile(r'msg="Listening on".* address=(127\.0\.0\.1:\d+)')
START_BOUND_S = 60.0
STOP_BOUND_S = 20.0
FREE_PORT = "--web.listen-address=127.0.0.1:0"
_NO_PROXY = build_opener(ProxyHandler({}))

T = TypeVar("T")


class RealServerError(Exception):
    """A real server did not do what the harness waited for; the text ends with the tail of its log."""


def fetch(url: str, accept: str = "*/*") -> str:
    """The body of a page on loopback, past any proxy of the environment. Raises OSError."""
    with _NO_PROXY.open(Request(url, headers={"Accept": accept}), timeout=20) as response:  # noqa: S310  # http on loopback only
        return str(response.read().decode())


def poll(look: Callable[[], T | None], bound_s: float, what: str) -> T:
    """The first thing `look` finds that is not None. Raises TimeoutError, which says what was waited for, after `bound_s`."""
    give_up_s = time.monotonic() + bound_s
    while (found := look()) is None:
        if time.monotonic() > give_up_s:
            raise TimeoutError(f"{what}: not within {bound_s:g} s")
        time.sleep(0.05)
    return found


@contextmanager
def listener(argv: Sequence[str], log: Path) -> Iterator[str]:
    """Runs `argv`, which must hold FREE_PORT; gives the address it listens on, and stops it in the end.

    Raises RealServerError if it ends or does not listen.
    """
    with listening(argv, log, LISTENING, argv[0]) as (_, address):
        yield address


@contextmanager
def listening(argv: Sequence[str], log: Path, said: re.Pattern[str], name: str,
              env: Mapping[str, str] | None = None) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:  # fmt: skip
    """Runs `argv` until the log says where it listens (group 1 of `said`); stops it by SIGTERM in the end.

    Raises RealServerError if it ends before it listens.
    """
    with log.open("wb") as stream, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=env) as process:

        def address() -> str | None:
            text = log.read_text(errors="replace")
            if process.poll() is not None:
                raise RealServerError(f"{name} ended with {process.returncode}:\n{text[-2000:]}")
            match = said.search(text)
            return match and match[1]

        try:
            yield process, poll(address, START_BOUND_S, f"{name} listens")
        finally:
            process.terminate()
            try:
                process.wait(STOP_BOUND_S)
            except subprocess.TimeoutExpired:
                process.kill()
