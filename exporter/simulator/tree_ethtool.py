"""Ethtool statistics out of a tree: the file `ethtool/<interface>/statistics` says what `ethtool -S` prints, so that a machine with its
driver's statistics is still one tree.

    NIC statistics:
         rx_out_of_buffer: 17
         [0]: rx_discards: 0

Of the shape of `exporter.sources.ethtool.Ethtool`. No such file: the driver has no statistics (EOPNOTSUPP). A file that refuses: so
does the call.
"""

import errno
import os

from exporter.sources.ethtool import TableChangedError
from exporter.sources.sysfs import Files, read_once

FOLDER = "ethtool"
_SIZE_BYTES = 4 << 20


class TreeEthtool:
    """Reads the file at each call, as the kernel asks the driver."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def names(self, netdev: str) -> tuple[str, ...]:
        """Names in the file's order. Raises OSError; EOPNOTSUPP without a file."""
        return tuple(name for name, _ in self._lines(netdev))

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """Values in the file's order. Raises OSError, or TableChangedError."""
        values = tuple(value for _, value in self._lines(netdev))
        if len(values) != count:
            raise TableChangedError(netdev)
        return values

    def bus(self, netdev: str) -> str:  # noqa: ARG002  # same shape as the kernel's
        """A tree does not say."""
        return ""

    def _lines(self, netdev: str) -> list[tuple[str, int]]:
        """Raises OSError; EBADMSG for a line that `ethtool -S` would not print."""
        try:
            text = read_once(self._files, f"{FOLDER}/{netdev}/statistics", _SIZE_BYTES).decode("utf-8", "replace")
        except FileNotFoundError as error:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), netdev) from error
        found: list[tuple[str, int]] = []
        for line in text.splitlines():
            name, colon, value = line.strip().rpartition(": ")
            if colon and value.isascii() and value.isdigit():
                found.append((name, int(value)))
            elif line.strip() not in {"", "NIC statistics:"}:
                raise OSError(errno.EBADMSG, f"not a line of ethtool -S: {line!r}", netdev)
        return found
