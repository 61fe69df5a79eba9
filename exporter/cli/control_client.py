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


def ask_daemon(args: argparse.Namespace, path: str) -> int:
    """0 and the daemon's line on stdout if it did what was asked; 1 and one line on stderr if it refused or cannot be asked.

    Raises ConfigError where the socket's place has to be looked up in a configuration that is wrong.
    """
    place = socket_path(args)
    try:
        status, text = post(place, path, args.timeout)
    except TimeoutError:
        return _complain(f"no answer within {args.timeout:g} s from {place}; the daemon may still be doing it, its log says how it ends")
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        return _complain(f"no daemon listens on {place}: {error.strerror}; start it, or name its socket with {OPTION.spelling.flag}")
    except PermissionError as error:
        return _complain(f"cannot ask the daemon on {place}: {error.strerror}; be root or the daemon's user, or a member of its group")
    except ConnectionError as error:
        return _complain(f"the daemon on {place} hung up: {error.strerror or error}; look at its log")
    except OSError as error:
        return _complain(f"cannot ask the daemon on {place}: {error.strerror or error}; name its socket with {OPTION.spelling.flag}")
    except http.client.HTTPException as error:
        return _complain(f"the answer from {place} is not HTTP ({type(error).__name__}); does something else listen there?")
    if status != HTTPStatus.OK:
        return _complain(text or f"the daemon on {place} answered HTTP {status}")
    print(text)
    return Exit.OK


def socket_path(args: argparse.Namespace) -> str:
    """The path of the socket: by the flag, else the variable, else the whole configuration. Where flag or variable name it, nothing else
    is read: a mistake in a file must keep nobody from releasing the GPUs, and for a reload the daemon is to judge. Raises ConfigError."""
    flag, variable = vars(args).get(OPTION.path), os.environ.get(OPTION.variable)
    if flag or variable:
        named = load(environ={OPTION.variable: variable or ""}, flags={OPTION.path: tuple(flag)} if flag else {})
        return named.config.control.socket
    return loaded(args).config.control.socket


def post(place: str, path: str, timeout_s: float) -> tuple[int, str]:
    """HTTP status and the line that came with it, printable. Raises OSError (TimeoutError among them) and HTTPException."""
    connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
    connection.sock = connect(UnixAddress(place), timeout_s)
    try:
        connection.request("POST", path)
        response = connection.getresponse()
        line = " ".join(response.read(ANSWER_MAX_BYTES).decode(errors="replace").split())
    finally:
        connection.close()
    return response.status, "".join(character if character.isprintable() else "?" for character in line)


def _complain(line: str) -> int:
    print(line, file=sys.stderr)
    return Exit.FINDING
