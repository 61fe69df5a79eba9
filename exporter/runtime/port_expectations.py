"""Tells the engine what each InfiniBand, RoCE or Ethernet port should run at and over which link layer, and learns what it does run at
while it is up."""

from collections.abc import Mapping

from exporter.model.entity import Fabric, Link
from exporter.model.expected_ports import ExpectedPort, PortSpeed, expected_layer, expected_speed, is_expected_up
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.runtime.learned_ports import LearnedPorts
from exporter.signals.engine import Engine
from exporter.signals.tracked import Tracked

FABRICS = frozenset({Fabric.INFINIBAND, Fabric.ROCE, Fabric.EFA, Fabric.ETHERNET})
ACTIVE = 4
FIGURE_MAX = 1e15
"""What is larger is no speed."""


class PortExpectations:
    """`configured` maps patterns of device names to what somebody expects of their ports."""

    def __init__(self, ports: LearnedPorts, configured: Mapping[str, ExpectedPort]) -> None:
        self._ports = ports
        self._configured = configured
        self._last: dict[Link, tuple[PortSpeed, str]] = {}

    def update(self, engine: Engine) -> None:
        """Once a tick, before the rules are asked."""
        tracked_ports = [tracked for link, tracked in engine.links.items() if link.fabric in FABRICS]
        best: dict[Link, tuple[PortSpeed, str]] = {}
        for tracked in tracked_ports:
            name, identity = str(tracked.link), tracked.place.identity
            if identity and _is_up(tracked):
                self._ports.note(name, identity, _speed(tracked.latest))
            seen = self._ports.seen(name, identity) if identity else None
            if seen is not None:
                best[tracked.link] = seen.speed, tracked.place.group
            is_up = is_expected_up(tracked.link.device, seen is not None, self._configured)
            if is_up is not None:
                tracked.expect({Role.STATE: int(is_up)})
            layer = expected_layer(tracked.link.device, self._configured)
            if layer is not None:
                tracked.expect({Role.LINK_LAYER: int(layer)})
        if best != self._last:  # learned once, the speeds stay as they are
            self._last = best
            for link, (speed, group) in best.items():
                sisters = [other for sister, (other, its_group) in best.items() if sister != link and group and its_group == group]
                _expect(engine.links[link], expected_speed(link.device, speed, sisters, self._configured))


def _is_up(tracked: Tracked) -> bool:
    latest = tracked.latest
    return latest.get(Role.CARRIER) == 1 if tracked.link.fabric is Fabric.ETHERNET else latest.get(Role.STATE) == ACTIVE


def _speed(latest: Mapping[Role, Number]) -> PortSpeed:
    rate, lanes, lane_rate = (latest.get(role) for role in (Role.CAPACITY, Role.WIDTH, Role.LANE_RATE))
    if rate is None:
        rate = latest.get(Role.SPEED)
    return PortSpeed(*(int(value) if value and 0 < value < FIGURE_MAX else None for value in (rate, lanes, lane_rate)))


def _expect(tracked: Tracked, speed: PortSpeed) -> None:
    is_plain = tracked.link.fabric is Fabric.ETHERNET
    figures = ((Role.SPEED if is_plain else Role.CAPACITY, speed.rate_bytes_per_s), (Role.WIDTH, speed.lanes),
               (Role.LANE_RATE, speed.lane_rate_bytes_per_s))  # fmt: skip
    tracked.expect({role: value for role, value in figures if value is not None})
