"""The two byte counters of one RDMA port, kept open and read with one call each: what the burst sampler asks many times a second.

Knows the files and their unit; which port is worth it and how often, others know.
"""

from collections.abc import Callable
from typing import NamedTuple

from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.entity import Link
from exporter.model.quantity import BYTES_PER_IB_WORD
from exporter.model.quoted import printable
from exporter.sources.hca_layout import HcaLayout, PortLayout
from exporter.sources.port_text import rate_of
from exporter.sources.sysfs import Files, read_once

TRANSMITTED, RECEIVED = "port_xmit_data", "port_rcv_data"


class Bytes(NamedTuple):
    """Both counters in bytes, and the monotonic time at which each was read: the middle of its call."""

    transmitted: int
    transmitted_s: float
    received: int
    received_s: float


class PortBytes:
    """One port. Opens nothing before the first read. Not thread-safe."""

    def __init__(self, files: Files, hca: HcaLayout, port: PortLayout, clock_s: Callable[[], float]) -> None:
        self.link = Link(hca.fabric_of(port), printable(hca.name), port.number)
        self._files = files
        self._folder = port.folder
        self._coded = port.link_layer == "InfiniBand"
        self._clock_s = clock_s
        self._handles: tuple[int, int] | None = None
        self._pread = files.pread

    def read(self) -> Bytes | None:
        """Both counters now; None if one of them says something else than a number. Raises OSError; then the next read opens anew."""
        handles = self._handles
        if handles is None:
            handles = self._open()
        pread, clock_s = self._pread, self._clock_s
        try:
            began_s = clock_s()
            sent = pread(handles[0], READ_SIZE_BYTES, 0)
            between_s = clock_s()
            received = pread(handles[1], READ_SIZE_BYTES, 0)
            ended_s = clock_s()
        except OSError:
            self.close()
            raise
        try:
            return Bytes(int(sent) * BYTES_PER_IB_WORD, (began_s + between_s) / 2, int(received) * BYTES_PER_IB_WORD,
                         (between_s + ended_s) / 2)  # fmt: skip
        except ValueError:
            return None

    def rate_bytes_per_s(self) -> float | None:
        """What the port can carry now in one direction; None if it does not say. Raises OSError."""
        rate = rate_of(read_once(self._files, f"{self._folder}/rate", READ_SIZE_BYTES))
        return rate.data_bytes_per_s(coded=self._coded) if rate is not None and rate.bytes_per_s else None

    def close(self) -> None:
        """Give the handles back."""
        handles, self._handles = self._handles, None
        for handle in handles or ():
            self._files.close(handle)

    def _open(self) -> tuple[int, int]:
        first = self._files.open(f"{self._folder}/counters/{TRANSMITTED}")
        try:
            second = self._files.open(f"{self._folder}/counters/{RECEIVED}")
        except OSError:
            self._files.close(first)
            raise
        self._handles, self._pread = (first, second), self._files.pread
        return self._handles


def counts_bytes(port: PortLayout) -> bool:
    """Whether the port has both files."""
    return {TRANSMITTED, RECEIVED} <= set(port.counters or ())
