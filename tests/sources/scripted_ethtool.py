"""An Ethtool whose answers a test writes down: a table that may change, errors, and a count of the calls."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from exporter.sources.ethtool import TableChangedError


@dataclass
class ScriptedEthtool:
    """`table` is what the driver has now; `error`, if set, is what every call raises; `before` runs before each call, `spelt` gives
    the driver's spelling of a name of the table."""

    table: Mapping[str, int]
    error: OSError | None = None
    address: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    before: Callable[[str], None] = lambda _: None
    spelt: Callable[[str], str] = str

    def names(self, netdev: str) -> tuple[str, ...]:  # noqa: ARG002  # same shape as the kernel's
        """Names now."""
        self._called("names")
        return tuple(map(self.spelt, self.table))

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """Values now."""
        self._called("values")
        if count != len(self.table):
            raise TableChangedError(netdev)
        return tuple(self.table.values())

    def bus(self, netdev: str) -> str:  # noqa: ARG002  # same shape as the kernel's
        """Where the driver says it sits."""
        self._called("bus")
        return self.address

    def _called(self, call: str) -> None:
        self.calls[call] += 1
        self.before(call)
        if self.error is not None:
            raise self.error
