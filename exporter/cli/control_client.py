"""Ask the running daemon over its control socket to do something, and tell its answer. Knows the socket's way to be found and spoken to;
what an action does, the daemon knows."""

import argparse
import http.client
import os
import sys
from http import HTTPStatus

from exporter.cli.exits import Exit
from exporter.cli.healthcheck import connect
from exporter.cli.options import add_options, duration_argument, loaded
from exporter.config.load import load
from exporter.config.options import OPTIONS
from exporter.model.address import UnixAddress

OPTION = OPTIONS["control.socket"]
TIMEOUT_S = 70.0
"""Longer than the daemon keeps anybody waiting (`Limits.answer_s`), so that it is the daemon who says why."""
ANSWER_MAX_BYTES = 65_536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--timeout and the shared flags."""
    parser.add_argument("--timeout", type=duration_argument, default=TIMEOUT_S, metavar="DURATION",
                        help=f"give up after this long without an answer. Default: {TIMEOUT_S:g}s.")  # fmt: skip
    add_options(parser)


class NotAskedError(Exception):
    """The daemon gave no answer; the text is one line that says why."""


class NoDaemonError(NotAskedError):
    """Nobody listens there."""


class SilentError(NotAskedError):
    """It did not answer in time."""


def ask_daemon(args: argparse.Namespace, path: str) -> int:
    """0 and the daemon's line on stdout if it did what was asked; 1 and one line on stderr if it refused or cannot be asked.

    Raises ConfigError where the socket's place has to be looked up in a configuration that is wrong.
    """
    place = socket_path(args)
    try:
        status, body = answer_of(place, "POST", path, args.timeout, ANSWER_MAX_BYTES)
    except SilentError as error:
        return _complain(f"{error}; the daemon may still be doing it, its log says how it ends")
    except NotAskedError as error:
        return _complain(str(error))
    line = line_of(body)
    if status != HTTPStatus.OK:
        return _complain(line or f"the daemon on {place} answered HTTP {status}")
    print(line)
    return Exit.OK


def socket_path(args: argparse.Namespace) -> str:
    """The path of the socket: by the flag, else the variable, else the whole configuration. Where flag or variable name it, nothing else
    is read: a mistake in a file must keep nobody from releasing the GPUs, and for a reload the daemon is to judge. Raises ConfigError."""
    flag, variable = vars(args).get(OPTION.path), os.environ.get(OPTION.variable)
    if flag or variable:
        named = load(environ={OPTION.variable: variable or ""}, flags={OPTION.path: tuple(flag)} if flag else {})
        return named.config.control.socket
    return loaded(args).config.control.socket


def answer_of(place: str, method: str, path: str, timeout_s: float, most_bytes: int) -> tuple[int, bytes]:
    """HTTP status and body, cut after so many bytes. Raises NotAskedError."""
    try:
        return _exchange(place, method, path, timeout_s, most_bytes)
    except TimeoutError:
        raise SilentError(f"no answer within {timeout_s:g} s from {place}") from None
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        raise NoDaemonError(
            f"no daemon listens on {place}: {error.strerror}; start it, or name its socket with {OPTION.spelling.flag}"
        ) from None
    except PermissionError as error:
        raise NotAskedError(
            f"cannot ask the daemon on {place}: {error.strerror}; be root or the daemon's user, or a member of its group"
        ) from None
    except ConnectionError as error:
        raise NotAskedError(f"the daemon on {place} hung up: {error.strerror or error}; look at its log") from None
    except OSError as error:
        raise NotAskedError(
            f"cannot ask the daemon on {place}: {error.strerror or error}; name its socket with {OPTION.spelling.flag}"
        ) from None
    except http.client.HTTPException as error:
        raise NotAskedError(f"the answer from {place} is not HTTP ({type(error).__name__}); does something else listen there?") from None


def line_of(body: bytes) -> str:
    """An answer's text as one printable line."""
    line = " ".join(body.decode(errors="replace").split())
    return "".join(character if character.isprintable() else "?" for character in line)


def _exchange(place: str, method: str, path: str, timeout_s: float, most_bytes: int) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
    connection.sock = connect(UnixAddress(place), timeout_s)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read(most_bytes)
    finally:
        connection.close()


def _complain(line: str) -> int:
    print(line, file=sys.stderr)
    return Exit.FINDING
