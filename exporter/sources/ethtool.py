"""The one seam to a driver's own statistics: the ethtool ioctl. Names, values and bus of one interface, each bounded.

Only the ioctl has these (ethtool's netlink interface carries the standard groups alone); reading needs no privilege, but the interface's
network namespace. Knows the calls' memory layouts (torvalds/linux include/uapi/linux/ethtool.h), no statistic's meaning.
`exporter.simulator.tree_ethtool.TreeEthtool` is the shipped fake of the same shape.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import struct
import threading
import weakref
from typing import Protocol

STATISTICS_MAX = 65_536
"""Most statistics of one interface that are read; mlx5 with 256 rings has about 10,000."""

_SIOCETHTOOL = 0x8946
_GET_DRIVER, _GET_STRINGS, _GET_STATISTICS, _GET_SET_SIZES = 0x03, 0x1B, 0x1D, 0x37
_STATISTICS_SET = 1
_NAME_BYTES = 32
_IFNAME_MAX = 15
_REQUEST = struct.Struct("@16sP16x")
_SET_SIZES = struct.Struct("=IIQI")
_STRINGS = struct.Struct("=III")
_STATISTICS = struct.Struct("=II")
_BUS_AT = 4 + 3 * _NAME_BYTES
_BUFFER_BYTES = 2 * STATISTICS_MAX * _NAME_BYTES
"""Twice what is asked for: kernels before 6.18 write as many as the driver has, also if it has more than a moment ago."""


class TableChangedError(Exception):
    """The driver has another number of statistics than asked for: its names must be read anew before any value is believed."""


class Ethtool(Protocol):
    """Statistics of network interfaces. Errors are OSError: EOPNOTSUPP (none), ENODEV (no such interface here), EPERM."""

    def names(self, netdev: str) -> tuple[str, ...]:
        """Names of its statistics, in the order of their values. Raises OSError; EFBIG for more than STATISTICS_MAX."""
        ...

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """`count` values, in one call. Raises OSError, or TableChangedError if it has not exactly that many now."""
        ...

    def bus(self, netdev: str) -> str:
        """Where its driver says it sits, such as a PCI address; "" if it does not say. Raises OSError."""
        ...


class _Room(threading.local):
    """A buffer for each thread, since a call that hangs in the kernel keeps its own. Its pages are taken only as they are written."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _BUFFER_BYTES)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))


class IoctlEthtool:
    """The kernel's answers. Safe for several threads; opens one socket with the first call and holds it as long as it lives."""

    def __init__(self) -> None:
        self._room = _Room()
        self._opening = threading.Lock()
        self._socket: socket.socket | None = None

    def names(self, netdev: str) -> tuple[str, ...]:
        """Two calls: how many, and which."""
        count = self._count(netdev)
        answer = self._call(netdev, _STRINGS.pack(_GET_STRINGS, _STATISTICS_SET, count))
        _, _, found = _STRINGS.unpack_from(answer)
        if found != count:
            raise OSError(errno.EAGAIN, "the driver's statistics change just now", netdev)
        texts = answer[_STRINGS.size : _STRINGS.size + count * _NAME_BYTES]
        return tuple(_text(texts[at : at + _NAME_BYTES]) for at in range(0, len(texts), _NAME_BYTES))

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """One call. Kernels from 6.18 on answer none at all if `count` is wrong, older ones all there are."""
        answer = self._call(netdev, _STATISTICS.pack(_GET_STATISTICS, count))
        _, found = _STATISTICS.unpack_from(answer)
        if found != count:
            raise TableChangedError(netdev)
        return struct.unpack_from(f"={count}Q", answer, _STATISTICS.size)

    def bus(self, netdev: str) -> str:
        """One call."""
        answer = self._call(netdev, struct.pack("=I", _GET_DRIVER))
        return _text(answer[_BUS_AT : _BUS_AT + _NAME_BYTES])

    def _count(self, netdev: str) -> int:
        answer = self._call(netdev, _SET_SIZES.pack(_GET_SET_SIZES, 0, 1 << _STATISTICS_SET, 0))
        _, _, sets, count = _SET_SIZES.unpack_from(answer)
        if not sets or not count:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), netdev)
        if count > STATISTICS_MAX:
            raise OSError(errno.EFBIG, f"the driver has {count} statistics", netdev)
        return int(count)

    def _call(self, netdev: str, question: bytes) -> mmap.mmap:
        """The buffer with the answer, valid until this thread's next call."""
        name = os.fsencode(netdev)
        if not 0 < len(name) <= _IFNAME_MAX or b"\0" in name:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), netdev)
        opened, room = self._opened(), self._room
        room.memory[: len(question)] = question
        try:
            fcntl.ioctl(opened, _SIOCETHTOOL, _REQUEST.pack(name, room.address))
        except OSError as error:
            raise OSError(error.errno, error.strerror, netdev) from error
        return room.memory

    def _opened(self) -> socket.socket:
        with self._opening:  # a socket is made at once; the calls that may hang are outside
            if self._socket is None:
                self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
                weakref.finalize(self, self._socket.close)
            return self._socket


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")
