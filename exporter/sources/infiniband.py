"""The InfiniBand source: which devices /sys/class/infiniband holds, and a reader for each that the site wants read.

Knows the class folder and the filter; the devices' insides are hca.py's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exporter.catalog.infiniband import EXCLUDED_INFO
from exporter.model.entity import Device
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Feed, Reading, SeriesKey, Snapshot
from exporter.sources.fault_list import FaultList
from exporter.sources.hca import SOURCE, HcaReader, PortPlaces
from exporter.sources.hca_layout import CLASS, names_of_hcas
from exporter.sources.sweep import read_sweeps
from exporter.sources.sysfs import Files


@dataclass(frozen=True, slots=True)
class HcaScan:
    """Readers of the devices there are now (the same object for a device that stayed) and what the listing itself showed."""

    readers: tuple[HcaReader, ...]
    snapshot: Snapshot


class InfiniBandSource:
    """Scans the class folder. A scan lists one folder and opens nothing; a device is first opened by its own reader.

    `places` knows which GPU a device's ports serve (node_places.py); without it nobody does.
    """

    name = SOURCE

    def __init__(self, files: Files, wants: Callable[[str], bool], *, hw_counters: bool = True, places: PortPlaces | None = None,
                 root: str = "/sys") -> None:  # fmt: skip
        self.looked_for = f"InfiniBand and RoCE devices in {root.rstrip('/')}/{CLASS}"
        self._files = files
        self._wants = wants
        self._hw_counters = hw_counters
        self._places = places
        self._readers: dict[str, HcaReader] = {}

    def scan(self, wall_s: float, monotonic_s: float) -> HcaScan:
        """What is there now. A folder that cannot be listed keeps the readers there were; one that is not there has none."""
        faults = FaultList(SOURCE)
        names = names_of_hcas(self._files, self._readers, faults)
        wanted = [name for name in names if self._wants(name)]
        excluded: SeriesKey = (EXCLUDED_INFO.key, "configuration")
        readings = tuple(Reading(Device(printable(name)), {excluded: 1}) for name in names if not self._wants(name))
        self._readers = {name: self._readers.get(name) or self._reader(name) for name in wanted}
        feed = Feed(SOURCE, "", Cadence.NORMAL)
        return HcaScan(tuple(self._readers.values()), Snapshot(feed, wall_s, monotonic_s, readings, tuple(faults.faults)))

    def _reader(self, name: str) -> HcaReader:
        return HcaReader(self._files, name, hw_counters=self._hw_counters, places=self._places)

    def read_many(self, readers: Sequence[HcaReader], cadences: tuple[Cadence, ...], enter: Callable[[int], bool], wall_s: float,
                  monotonic_s: float) -> list[Snapshot]:  # fmt: skip
        """One pass over several devices in one thread, each read only if `enter` says so. Costs half of one after the other [M]."""
        swept = read_sweeps([reader.sweep(cadences, monotonic_s) for reader in readers], enter, wall_s, monotonic_s)
        found: list[Snapshot] = []
        for position, (reader, snapshots) in enumerate(zip(readers, swept, strict=False)):
            if snapshots is not None:
                found += snapshots
            elif enter(position):
                found += reader.read_slowly(cadences, wall_s, monotonic_s)
        return found
