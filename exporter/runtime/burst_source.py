"""What the burst sampler has folded, as a source: one Reading for each port and pass. Reads no counter itself.

Knows which devices are sampled and how a fold becomes series; sampling is burst_sampler.py's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from exporter.catalog.signals import BURST, BURST_BUSY, BURST_RESOLVED, SAMPLES
from exporter.model.fault import Reason
from exporter.model.metric import OBSERVATIONS, SUM, Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.runtime.burst_sampler import BurstSampler, Sampled
from exporter.signals.bursts import BOUNDS, Course, Histogram
from exporter.signals.rail_groups import SOURCE
from exporter.sources.fault_list import FaultList
from exporter.sources.hca_layout import CLASS, is_limited_pf, look, names_of_hcas
from exporter.sources.port_bytes import PortBytes, counts_bytes
from exporter.sources.sysfs import Files

_BUCKETS = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")


@dataclass(frozen=True, slots=True)
class BurstScan:
    """A reader for each device with ports that are sampled (the same object for one that stayed)."""

    readers: tuple["BurstReader", ...]
    snapshot: Snapshot


class BurstReader:
    """One device."""

    cadences = (Cadence.NORMAL,)

    def __init__(self, name: str, ports: tuple[Sampled, ...], sampler: BurstSampler) -> None:
        self.subject = printable(name)
        self.ports = ports
        self._sampler = sampler
        self.is_lost = False
        """Every port failed: the device went, or was reset."""

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """What the last window says of each port. A port that cannot be read, whose counter hangs (what it said before is no news of now),
        or that does not say what it can carry, is a Fault."""
        faults, held = FaultList(SOURCE), self._sampler.held
        readings: list[Reading] = []
        for port in self.ports:
            if port.port.link in held:
                faults.add(
                    str(port.port.link), Reason.TIMEOUT, "a byte counter does not answer; bursts of its port are not seen until it does"
                )
                continue
            if port.error is not None:
                faults.add_error(str(port.port.link), port.error)
            try:
                capacity = port.port.rate_bytes_per_s()
            except OSError as error:
                faults.add_error(str(port.port.link), error)
                continue
            values = _values(port, capacity) if capacity and port.error is None else {}
            if values:
                readings.append(Reading(port.port.link, values))
        self.is_lost = bool(self.ports) and all(port.error is not None for port in self.ports)
        return Snapshot(Feed(SOURCE, self.subject, cadence), wall_s, monotonic_s, tuple(readings), tuple(faults.faults))

    def close(self) -> None:
        """The sampler closes what it reads."""


class BurstSource:
    """Scans the class folder for devices whose ports count bytes, and tells the sampler."""

    name = SOURCE

    def __init__(self, files: Files, sampler: BurstSampler, wants: Callable[[str], bool], *, root: str = "/sys") -> None:
        self.looked_for = f"byte counters of InfiniBand and RoCE ports in {root.rstrip('/')}/{CLASS}"
        self._files = files
        self._sampler = sampler
        self._wants = wants
        self._readers: dict[str, BurstReader] = {}

    def scan(self, wall_s: float, monotonic_s: float) -> BurstScan:
        """What is there now; the sampler hears of it, and is watched."""
        self._sampler.watch()
        faults = FaultList(SOURCE)
        names = [name for name in names_of_hcas(self._files, self._readers, faults) if self._wants(name)]
        found = {name: self._kept(name) or self._reader(name, faults) for name in names}
        self._readers = {name: reader for name, reader in found.items() if reader is not None}
        self._sampler.adopt([port for reader in self._readers.values() for port in reader.ports])
        feed = Feed(SOURCE, "", Cadence.NORMAL)
        return BurstScan(tuple(self._readers.values()), Snapshot(feed, wall_s, monotonic_s, (), tuple(faults.faults)))

    def _kept(self, name: str) -> BurstReader | None:
        known = self._readers.get(name)
        return known if known is not None and not known.is_lost else None

    def _reader(self, name: str, faults: FaultList) -> BurstReader | None:
        """A reader of a device with ports that count bytes; None without one."""
        try:
            if is_limited_pf(self._files, name):
                return None
            layout = look(self._files, name)
        except OSError as error:
            faults.add_error(f"{CLASS}/{name}", error)
            return None
        ports = [PortBytes(self._files, layout, port, self._sampler.clock_s) for port in layout.ports if counts_bytes(port)]
        return BurstReader(name, tuple(Sampled(port) for port in ports), self._sampler) if ports else None


def _values(port: Sampled, capacity: float) -> dict[SeriesKey, Number]:
    values: dict[SeriesKey, Number] = {}
    for direction, (course, histogram) in port.courses(capacity).items():
        if course.samples:
            values |= _course_values(direction, course) | _histogram_values(direction, histogram)
    return values


def _course_values(direction: str, course: Course) -> dict[SeriesKey, Number]:
    values: dict[SeriesKey, Number] = {(BURST_BUSY.key, direction): course.busy}
    if course.resolved is not None:
        values[BURST_RESOLVED.key, direction] = course.resolved
    stats = {"p50": course.p50, "p95": course.p95, "p99": course.p99, "max": course.most}
    return values | {(BURST.key, direction, stat): number for stat, number in stats.items() if number is not None}


def _histogram_values(direction: str, histogram: Histogram) -> dict[SeriesKey, Number]:
    counted = tuple(accumulate(histogram.buckets))
    values: dict[SeriesKey, Number] = {(SAMPLES.key, direction, bound): count for bound, count in zip(_BUCKETS, counted, strict=True)}
    return values | {(SAMPLES.key, direction, SUM): histogram.total, (SAMPLES.key, direction, OBSERVATIONS): counted[-1]}
