"""What this node's ports have been seen to run at while they were up, and that they were up at all. Kept in the state directory by name
and PCI address: a port that is plugged elsewhere starts anew."""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.model.expected_ports import NOTHING, PortSpeed, best
from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile

FILE, VERSION = "learned-ports.json", 1
PORTS_MAX = 1024


class SeenPort(NamedTuple):
    """`identity` is the card's PCI address."""

    identity: str
    speed: PortSpeed = NOTHING


class LearnedPorts(Kept):
    """By port, as `infiniband/mlx5_0/1`."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        self._ports = _ports_of(self._load())

    def seen(self, port: str, identity: str) -> SeenPort | None:
        """What is known of the port; None if it was never up, or another card was."""
        known = self._ports.get(port)
        return known if known is not None and known.identity == identity else None

    def note(self, port: str, identity: str, speed: PortSpeed) -> None:
        """The port is up and runs like this."""
        before = self._ports.get(port)
        if before is None or before.identity != identity:
            before = SeenPort(identity)
        elif best(before.speed, speed) is before.speed:
            return
        with self._lock:
            self._ports[port] = SeenPort(identity, best(before.speed, speed))
            while len(self._ports) > PORTS_MAX:
                del self._ports[next(iter(self._ports))]
            self._is_changed = True

    def _document(self) -> Mapping[str, object]:
        return {"ports": {name: [port.identity, *_figures(port.speed)] for name, port in self._ports.items()}}


def _figures(speed: PortSpeed) -> tuple[int | None, int | None, int | None]:
    return speed.rate_bytes_per_s, speed.lanes, speed.lane_rate_bytes_per_s


def _ports_of(document: Mapping[str, object]) -> dict[str, SeenPort]:
    """The ports a document holds; an entry that is not what `note` makes is left out alone."""
    entries = document.get("ports")
    if not isinstance(entries, dict):
        return {}
    found: dict[str, SeenPort] = {}
    for name, entry in list(entries.items())[:PORTS_MAX]:
        if isinstance(entry, list) and len(entry) == 4 and isinstance(entry[0], str) and all(map(_is_figure, entry[1:])):
            found[name] = SeenPort(entry[0], PortSpeed(*entry[1:]))
    return found


def _is_figure(value: object) -> bool:
    return value is None or (type(value) is int and value > 0)
