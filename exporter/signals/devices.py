"""What devices say about all of their links: who they are, how the links should run, and how a GPU stands in its NVLink domain. Pure."""

from collections.abc import Mapping

from exporter.model.entity import Fabric, Link
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.facts import device_expectation, expected_state, fabric_health, identities
from exporter.signals.starting import IN_PROGRESS, NOT_STARTED

DOMAIN = "fabric"
"""Port of the link that stands for a GPU's place in its NVLink domain."""
JOINS_S = 600.0
"""A GPU joins its domain within minutes of a driver's load; one that takes longer never will: no fabric manager runs, or no other node
answers (NVIDIA/NVSentinel#891: for 20 days) [D]."""
_UNHEALTHY = "the GPU says that its NVLink domain is not well: see fabric_gpu_fabric_health_id"
_EXPECTED = ((Role.LANE_RATE, Role.EXPECTED_LANE_RATE), (Role.WIDTH, Role.EXPECTED_WIDTH))


class Devices:
    """Of one node, by name."""

    def __init__(self) -> None:
        self.fabric_states: dict[str, int] = {}
        """How far each GPU got in joining its NVLink domain."""
        self._joining_s: dict[str, float] = {}
        """Since when (monotonic) each GPU that has yet to join its domain was seen so."""
        self._rates: dict[str, Number] = {}
        self.rates_news = 0
        """Grows whenever a device says otherwise how its links should run."""
        self._identities: dict[tuple[Fabric, str], str] = {}

    def look(self, name: str, values: Mapping[SeriesKey, Number], now_s: float) -> tuple[dict[Fabric, str], Finding | None]:
        """A Reading of a device: who it is now to its links of which fabric, where that is news; and whether its NVLink domain is well, if
        it says so, or has not joined it for too long."""
        rate = device_expectation(values)
        if rate is not None and self._rates.get(name) != rate:
            self._rates[name] = rate
            self.rates_news += 1
        news = {fabric: who for fabric, who in identities(values).items() if self._identities.get((fabric, name)) != who}
        for fabric, who in news.items():
            self._identities[fabric, name] = who
        state, healthy = fabric_health(values)
        if state is not None:
            self.fabric_states[name] = int(state)
        if healthy is None:
            return news, self._unjoined(name, state, now_s)
        self._joining_s.pop(name, None)
        return news, Finding(Why.FABRIC_UNHEALTHY, healthy == 0, "" if healthy else _UNHEALTHY)

    def _unjoined(self, name: str, state: Number | None, now_s: float) -> Finding | None:
        """A finding about a GPU that has been joining its domain for too long; None before that, and if it does not say."""
        if state not in (NOT_STARTED, IN_PROGRESS):
            return None
        waited_s = now_s - self._joining_s.setdefault(name, now_s)
        if waited_s < JOINS_S:
            return None
        evidence = f"the GPU has not joined its NVLink domain for {waited_s / 60:.0f} min: does the fabric manager run?"
        return Finding(Why.FABRIC_UNHEALTHY, holds=True, evidence=evidence)

    def identity(self, link: Link) -> str:
        """Of the hardware that carries the link; "" while its device has not said."""
        return self._identities.get((link.fabric, link.device), "")

    def expected(self, link: Link, latest: Mapping[Role, Number]) -> dict[Role, Number | None]:
        """What the link's own Readings and its device's say should be; None for what nobody can say any more."""
        if link.fabric is Fabric.PCIE:
            return {role: latest[source] for role, source in _EXPECTED if source in latest}
        if link.fabric is not Fabric.NVLINK:
            return {}
        found: dict[Role, Number | None] = {Role.STATE: expected_state(latest)}
        if link.device in self._rates:
            found[Role.SIGNALLING_RATE] = self._rates[link.device]
        return found
