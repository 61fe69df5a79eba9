"""Address to listening sockets. Knows TCP, IPv6, unix sockets and what each bind error means to a person; knows no HTTP."""

import contextlib
import errno
import os
import socket
import stat

from exporter.model.address import Address, TcpAddress, UnixAddress

BACKLOG = 1024
"""Connections the kernel may hold for us: 64 scrapers beside 400 half-open peers overflow the customary 128 (targets.md P4)."""

LISTEN_FLAG = "--web.listen-address"
CONTROL_FLAG = "--control-socket"
CONTROL_MODE = 0o660
"""Who may open the control socket: its owner and the members of its group, the daemon's user and group."""
CONTROL_FOLDER_MODE = 0o750
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class AddressError(Exception):
    """An address that cannot be listened on; the text is one line: what, why, what to do."""


def bind(address: Address, flag: str = LISTEN_FLAG) -> tuple[socket.socket, ...]:
    """Listening, non-blocking sockets for the address: one, or one per address that the host name resolves to.

    Raises AddressError, whose text tells to choose another address with that flag.
    """
    try:
        if isinstance(address, UnixAddress):
            return (_bind_unix(address),)
        return _bind_every_interface(address) if not address.host else _bind_host(address)
    except OSError as error:
        raise AddressError(f"cannot listen on {address}: {_explain(error, address, flag)}") from error


def bind_control(path: str) -> tuple[UnixAddress, socket.socket]:
    """The control socket's address and its listening socket; its folder is made if that alone is missing. Raises AddressError."""
    address = UnixAddress(path, CONTROL_MODE)
    try:
        _make_folder(os.path.dirname(path))
    except OSError as error:
        raise AddressError(f"cannot listen on {address}: {_explain(error, address, CONTROL_FLAG)}") from error
    (listener,) = bind(address, CONTROL_FLAG)
    return address, listener


def mark_of(address: Address) -> tuple[int, int] | None:
    """What tells the file of a unix address just bound from one that another process puts in its place; None for TCP."""
    if not isinstance(address, UnixAddress):
        return None
    try:
        found = os.lstat(address.path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def withdraw(address: Address, mark: tuple[int, int] | None) -> None:
    """Remove the file of a unix address after its socket was closed, if it still is the one of that mark; nothing for TCP."""
    if isinstance(address, UnixAddress) and mark is not None and mark_of(address) == mark:
        with contextlib.suppress(OSError):
            os.unlink(address.path)


def _bind_every_interface(address: TcpAddress) -> tuple[socket.socket, ...]:
    """One dual-stack socket; plain IPv4 where the kernel has no IPv6 (ipv6.disable=1)."""
    if socket.has_dualstack_ipv6():
        try:
            return (_bind_tcp(socket.AF_INET6, ("::", address.port), v6_only=False),)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
    return (_bind_tcp(socket.AF_INET, ("0.0.0.0", address.port)),)  # noqa: S104  # the user asked for every interface


def _bind_host(address: TcpAddress) -> tuple[socket.socket, ...]:
    """A socket for each address of the host; those this machine lacks (`::1` in many containers) are passed over if one works."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    wanted = list(dict.fromkeys((family, target) for family, _, _, _, target in found))
    bound: list[socket.socket] = []
    absent: OSError | None = None
    for family, target in wanted[:1] if address.port == 0 else wanted:
        try:
            bound.append(_bind_tcp(family, target))
        except OSError as error:
            if error.errno not in _NOT_HERE:
                _close_all(bound)
                raise
            absent = error
    if not bound and absent is not None:
        raise absent
    return tuple(bound)


def _bind_tcp(family: int, target: tuple[object, ...], *, v6_only: bool = True) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6_only)
        listener.bind(target)
        listener.listen(BACKLOG)
        listener.settimeout(0)
    except BaseException:
        listener.close()
        raise
    return listener


def _bind_unix(address: UnixAddress) -> socket.socket:
    """The mode is set between bind and listen: before listen nobody can connect, so there is no moment of wider permissions."""
    _remove_stale(address.path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address.path)
        os.chmod(address.path, address.mode)
        listener.listen(BACKLOG)
        listener.settimeout(0)
    except BaseException:
        listener.close()
        raise
    return listener


def _make_folder(folder: str) -> None:
    """Make the folder, whatever the umask is; leave one that is there as it is."""
    with contextlib.suppress(FileExistsError):
        if folder:
            os.mkdir(folder, CONTROL_FOLDER_MODE)
            os.chmod(folder, CONTROL_FOLDER_MODE)


def _remove_stale(path: str) -> None:
    """Unlink a socket file on which nothing listens (a daemon was killed). Raises OSError EADDRINUSE, or ENOTSOCK for another file."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(0)
        answer = caller.connect_ex(path)
    if answer == errno.ECONNREFUSED:
        os.unlink(path)
    elif answer in (0, errno.EAGAIN):  # EAGAIN: somebody listens and the backlog is full
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    else:
        raise OSError(answer, os.strerror(answer))


def _explain(error: OSError, address: Address, flag: str) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host name does not resolve ({error.strerror}); give {flag} a host name or IP address of this machine"
    if error.errno == errno.EADDRINUSE:
        return f"it is already in use; stop the process that listens there or choose another with {flag}"
    if error.errno in (errno.EACCES, errno.EPERM):
        where = "a folder this user may write" if isinstance(address, UnixAddress) else "a port above 1023"
        return f"permission denied; choose {where} with {flag}"
    if error.errno in _NOT_HERE:
        return f"this machine has no such address; choose one it has with {flag}"
    if error.errno == errno.ENOTSOCK:
        return f"a file that is no socket is in the way; remove it or choose another path with {flag}"
    return f"{error.strerror or error}; choose another with {flag}"


def _close_all(sockets: list[socket.socket]) -> None:
    for listener in sockets:
        listener.close()
