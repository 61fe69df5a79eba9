"""A driver's statistics whose every call is timed, beside timed_files.py. Wraps any Ethtool; knows no statistic's meaning."""

from collections.abc import Callable
from typing import TypeVar

from exporter.runtime.clock import Clock
from exporter.runtime.timed_files import Cost
from exporter.sources.ethtool import Ethtool

CALL = "ioctl"
Answer = TypeVar("Answer")


class TimedEthtool:
    """Ethtool with a ledger of costs by (call, what): `ioctl` and `ethtool -S eth0` for the values, which every pass asks for, `ethtool
    -S eth0 (names)` and `ethtool -i eth0` for the rest."""

    def __init__(self, ethtool: Ethtool, clock: Clock) -> None:
        self.costs: dict[tuple[str, str], Cost] = {}
        self._ethtool = ethtool
        self._clock = clock

    def names(self, netdev: str) -> tuple[str, ...]:
        """The timed names: two ioctls. Raises OSError."""
        return self._timed(f"ethtool -S {netdev} (names)", lambda: self._ethtool.names(netdev))

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """The timed values: one ioctl. Raises OSError, or TableChangedError."""
        return self._timed(f"ethtool -S {netdev}", lambda: self._ethtool.values(netdev, count))

    def bus(self, netdev: str) -> str:
        """The timed place: one ioctl. Raises OSError."""
        return self._timed(f"ethtool -i {netdev}", lambda: self._ethtool.bus(netdev))

    def _timed(self, what: str, call: Callable[[], Answer]) -> Answer:
        started_s = self._clock.monotonic_s()
        try:
            return call()
        finally:
            self.costs.setdefault((CALL, what), Cost()).seconds.append(self._clock.monotonic_s() - started_s)
