"""Follows the NICs' ways to the GPUs beside them: what gpudirect.py says of each, for the NIC and for its links."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.catalog.gpudirect import REQUIREMENT
from exporter.model.entity import Device
from exporter.model.health import Finding
from exporter.model.snapshot import Number, Reading, SeriesKey, Snapshot, metric_key
from exporter.signals import gpudirect

SOURCE = "gpudirect"


class GpuDirectWatch:
    """Of one node."""

    def __init__(self) -> None:
        self._states: dict[str, gpudirect.Kept] = {}
        self._signals: dict[str, Mapping[SeriesKey, Number]] = {}

    def take(self, snapshots: Iterable[Snapshot]) -> Iterator[tuple[str, Finding]]:
        """Findings by NIC; one that is clear for a reason without a finding."""
        for snapshot in snapshots:
            if snapshot.feed.source != SOURCE:
                continue
            for entity, values in snapshot.readings:
                if isinstance(entity, Device) and any(metric_key(key) == REQUIREMENT.key for key in values):
                    yield from self._look(entity.name, values, snapshot.monotonic_s)

    def readings(self) -> tuple[Reading, ...]:
        """Availability and expectation of each NIC."""
        return tuple(Reading(Device(nic), signals) for nic, signals in self._signals.items())

    def _look(self, nic: str, values: Mapping[SeriesKey, Number], now_s: float) -> Iterator[tuple[str, Finding]]:
        self._states[nic], outcome = gpudirect.step(self._states.get(nic), gpudirect.facts_in(values), now_s)
        self._signals[nic] = outcome.signals
        told = {finding.why: finding for finding in outcome.findings}
        for why in gpudirect.REASONS:
            yield nic, told.get(why, Finding(why, holds=False))
