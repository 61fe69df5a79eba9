"""Sockets that systemd passes: each is taken for what it is, and a mistake is one line."""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from exporter.web.activation import ActivationError, are_passed, take_passed

PID = 4242
FIRST = 200
"""The descriptors of a test's sockets begin there instead of at 3, which the test process has in use."""


@contextmanager
def passed_down(sockets: Sequence[socket.socket]) -> Iterator[None]:
    """Copies of these at FIRST and up, as systemd leaves them to a process; those that nobody took are closed."""
    for number, sock in enumerate(sockets, FIRST):
        os.dup2(sock.fileno(), number, inheritable=True)
        sock.close()
    try:
        yield
    finally:
        for number in range(FIRST, FIRST + len(sockets)):
            if re.fullmatch(r"socket:\[\d+\]", _target(number)):
                os.close(number)


def _target(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def listening(family: int = socket.AF_INET) -> socket.socket:
    """A stream socket that listens on loopback."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock


def environ(count: object = 1, names: str | None = None, pid: object = PID) -> dict[str, str]:
    """As systemd sets it."""
    named = {} if names is None else {"LISTEN_FDNAMES": names}
    return {"LISTEN_PID": str(pid), "LISTEN_FDS": str(count), "PATH": "/bin", **named}


def test_each_socket_is_taken_with_its_name_and_purpose() -> None:
    """Non-blocking, closed for children, and the variables are gone."""
    variables = environ(2, "metrics:health")
    with passed_down([listening(), listening()]):
        taken = take_passed(variables, PID, FIRST)
        facts = [(one.name, one.is_health, one.sock.getblocking(), one.sock.get_inheritable(), one.sock.fileno()) for one in taken]
        for one in taken:
            one.sock.close()

    assert facts == [("metrics", False, False, False, FIRST), ("health", True, False, False, FIRST + 1)]
    assert variables == {"PATH": "/bin"}


@pytest.mark.parametrize("names", [None, "", "unknown", "fabric-exporter.socket"])
def test_a_socket_without_a_name_of_ours_shows_everything(names: str | None) -> None:
    """Its unit's name, or none, is what systemd gives where FileDescriptorName= is not set."""
    with passed_down([listening()]):
        (taken,) = take_passed(environ(1, names), PID, FIRST)
        taken.sock.close()

    assert not taken.is_health


@pytest.mark.parametrize(("variables", "complaint"), [
    ({}, "systemd passed no socket (LISTEN_FDS is not set)"),
    (environ(pid=1), 'the sockets are for another process: LISTEN_PID="1" and this is 4242'),
    (environ(pid=""), 'LISTEN_PID=""'),
    (environ(pid=" 4242"), 'LISTEN_PID=" 4242"'),
    (environ(0), 'LISTEN_FDS="0" is no number of sockets; expected 1 to 64'),
    (environ(65), 'LISTEN_FDS="65"'),
    (environ("+1"), 'LISTEN_FDS="+1"'),
    (environ("one"), 'LISTEN_FDS="one"'),
    (environ("1\n2"), 'LISTEN_FDS="1\\x0a2"'),
    (environ(2, "metrics"), 'LISTEN_FDNAMES="metrics" names 1 sockets and LISTEN_FDS says 2'),
    (environ(1, "metrics:metrics"), "names 2 sockets and LISTEN_FDS says 1"),
    (environ(1, "web"), 'a socket is named "web"; set FileDescriptorName= to metrics or health'),
    (environ(1, "health"), "so nothing would show /metrics"),
    (environ(1, "metrics"), f'descriptor {FIRST} ("metrics"), which systemd passed, cannot be used: Bad file descriptor'),
])  # fmt: skip
def test_a_mistake_is_one_line(variables: dict[str, str], complaint: str) -> None:
    """Nothing is passed over, and nothing of it reaches a child."""
    with pytest.raises(ActivationError, match=re.escape(complaint)) as caught:
        take_passed(variables, PID, FIRST)

    assert "\n" not in str(caught.value)
    assert [name for name in variables if name.startswith("LISTEN_")] == []


def datagram() -> socket.socket:
    """ListenDatagram=."""
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def connected() -> socket.socket:
    """Accept=yes."""
    one, other = socket.socketpair()
    other.close()
    return one


def netlink() -> socket.socket:
    """ListenNetlink=."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


@pytest.mark.parametrize(("make", "complaint"), [
    (datagram, "is no stream socket; the .socket unit may hold ListenStream= only"),
    (connected, "does not listen; the .socket unit must have Accept=no"),
    (netlink, "is of address family 16; expected IPv4, IPv6 or unix"),
])  # fmt: skip
def test_a_socket_that_cannot_be_listened_on_is_refused(make: object, complaint: str) -> None:
    """Whatever its name says."""
    assert callable(make)
    with passed_down([make()]), pytest.raises(ActivationError, match=re.escape(complaint)):
        take_passed(environ(1, "metrics"), PID, FIRST)


def test_a_file_is_no_socket() -> None:
    """ListenSpecial=."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), FIRST)
    try:
        with pytest.raises(ActivationError, match="is no socket"):
            take_passed(environ(), PID, FIRST)
    finally:
        os.close(FIRST)


def test_sockets_for_somebody_else_are_not_ours() -> None:
    """A daemon that was not told to take them only asks."""
    assert are_passed(environ(), PID)
    assert not are_passed(environ(pid=1), PID)
    assert not are_passed({}, PID)
