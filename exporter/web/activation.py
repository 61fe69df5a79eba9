"""Sockets that systemd opened for us (sd_listen_fds(3)): which there are, what each is for, and that each is what we take it for.

Strict: a socket that is not for this process, or is none of those we can listen on, is an error in one line and never passed over. Knows no
HTTP.
"""

import os
import re
import socket
import stat
from collections.abc import MutableMapping, Sequence
from typing import NamedTuple

from exporter.model.quoted import shown

FIRST = 3
"""SD_LISTEN_FDS_START: after stdin, stdout and stderr."""
SOCKETS_MAX = 64
"""More listening sockets than any machine has addresses that are worth one."""
PID_VARIABLE, COUNT_VARIABLE, NAMES_VARIABLE = "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"
HEALTH = "health"
"""FileDescriptorName= of a socket that shows /-/healthy and /-/ready alone, as web.health_address does."""
UNNAMED = "unknown"
"""What sd_listen_fds_with_names calls a socket whose name is not told."""
_EVERYTHING = re.compile(rf"metrics|{UNNAMED}|.+\.socket")
"""Names of a socket that shows everything: ours, none, and that of its unit, which systemd gives where FileDescriptorName= is not set."""
_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)


class ActivationError(Exception):
    """Sockets that were passed wrongly, or not at all; the text is one line: what, why, what to do."""


class Passed(NamedTuple):
    """A listening, non-blocking socket, its name, and whether it shows health alone."""

    sock: socket.socket
    name: str
    is_health: bool


def are_passed(environ: MutableMapping[str, str], pid: int) -> bool:
    """Whether somebody passes sockets to the process of that number."""
    return environ.get(PID_VARIABLE) == str(pid) and environ.get(COUNT_VARIABLE, "0") != "0"


def take_passed(environ: MutableMapping[str, str], pid: int, first: int = FIRST) -> tuple[Passed, ...]:
    """The sockets passed to the process of that number, from the descriptor `first` on. At least one.

    Takes the variables out, so that no child believes that the sockets are its own. Raises ActivationError and leaves the descriptors open
    then: the process is about to end.
    """
    given = {name: environ.pop(name, "") for name in (PID_VARIABLE, COUNT_VARIABLE, NAMES_VARIABLE)}
    if not given[COUNT_VARIABLE]:
        raise ActivationError(
            "systemd passed no socket (LISTEN_FDS is not set); start fabric-exporter.socket, or leave --web.systemd-socket out"
        )
    if given[PID_VARIABLE] != str(pid):
        raise ActivationError(
            f"the sockets are for another process: LISTEN_PID={shown(given[PID_VARIABLE])} and this is {pid}; "
            "ExecStart= must start fabric-exporter itself, without a shell or a wrapper between"
        )
    names = _names(given[NAMES_VARIABLE], _count(given[COUNT_VARIABLE]))
    for number, name in enumerate(names, first):
        _check(number, name)
    return tuple(_passed(number, name) for number, name in enumerate(names, first))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= SOCKETS_MAX:
        raise ActivationError(f"LISTEN_FDS={shown(text)} is no number of sockets; expected 1 to {SOCKETS_MAX}")
    return int(text)


def _names(text: str, count: int) -> Sequence[str]:
    """A name for each socket."""
    names = text.split(":") if text else [UNNAMED] * count
    if len(names) != count:
        raise ActivationError(f"LISTEN_FDNAMES={shown(text)} names {len(names)} sockets and LISTEN_FDS says {count}")
    for name in names:
        if name != HEALTH and not _EVERYTHING.fullmatch(name):
            raise ActivationError(f"a socket is named {shown(name)}; set FileDescriptorName= to metrics or {HEALTH}, or leave it out")
    if all(name == HEALTH for name in names):
        raise ActivationError(
            f"every socket that systemd passed is named {HEALTH}, so nothing would show /metrics; set FileDescriptorName=metrics for one"
        )
    return names


def _check(number: int, name: str) -> None:
    where = f"descriptor {number} ({shown(name)}), which systemd passed,"
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            raise ActivationError(f"{where} is no socket; the .socket unit may hold ListenStream= only")
        probe = socket.socket(fileno=os.dup(number))
    except OSError as error:
        raise ActivationError(f"{where} cannot be used: {error.strerror or error}") from None
    with probe:
        problem = _problem(probe)
    if problem:
        raise ActivationError(f"{where} {problem}")


def _passed(number: int, name: str) -> Passed:
    """The socket of that descriptor, closed for children and never blocking."""
    sock = socket.socket(fileno=number)
    sock.set_inheritable(False)
    sock.settimeout(0)
    return Passed(sock, name, name == HEALTH)


def _problem(sock: socket.socket) -> str:
    """What keeps us from accepting there; "" if nothing does."""
    if sock.family not in _FAMILIES:
        return f"is of address family {int(sock.family)}; expected IPv4, IPv6 or unix (ListenStream=)"
    if sock.type != socket.SOCK_STREAM:
        return "is no stream socket; the .socket unit may hold ListenStream= only"
    if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "does not listen; the .socket unit must have Accept=no"
    return ""
