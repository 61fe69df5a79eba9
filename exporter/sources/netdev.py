"""Reads one Ethernet interface: files of its folder, carrier, the driver's statistics, and where it sits. Knows no other interface."""

from exporter.catalog.ethernet import EVENTS, FILES, INFO, TRAFFIC_FILES
from exporter.catalog.ethernet_events import KERNEL_EVENTS
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.counter_set import CounterSet, Slot
from exporter.sources.device_place import link_name, names_in, short_text
from exporter.sources.ethtool import Ethtool
from exporter.sources.fault_list import FaultList
from exporter.sources.netdev_carrier import NetdevCarrier
from exporter.sources.netdev_place import NetdevPlace, index_of
from exporter.sources.netdev_statistics import NetdevStatistics
from exporter.sources.sysfs import Files

SOURCE = "ethernet"


class NetdevReader:
    """One interface. Not thread-safe: one read at a time. Opens nothing before the first read."""

    cadences = (Cadence.NORMAL, Cadence.SLOW)

    def __init__(self, files: Files, ethtool: Ethtool, place: NetdevPlace) -> None:
        self.place = place
        self.subject = printable(place.name)
        self._files = files
        self._statistics = NetdevStatistics(ethtool, place)
        self._feeds = {cadence: Feed(SOURCE, self.subject, cadence) for cadence in self.cadences}
        self._counters: CounterSet | None = None
        self._carrier: NetdevCarrier | None = None

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. Never raises for hardware trouble: what failed is in `faults`, what is gone makes the reader begin anew."""
        faults = FaultList(SOURCE)
        values: dict[SeriesKey, Number] = {}
        try:
            if cadence is Cadence.SLOW:
                values[INFO.key, *self._facts()] = 1
                self._statistics.forget()
            else:
                values = self._numbers(faults, monotonic_s)
        except OSError as error:
            faults.add_error(self.place.folder, error)
        if faults.is_lost:
            self.close()
        readings = (Reading(self.place.link, values),) if values else ()
        return Snapshot(self._feeds[cadence], wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Give all handles back; the next read begins from nothing."""
        if self._counters is not None:
            self._counters.close()
        if self._carrier is not None:
            self._carrier.close()
        self._counters, self._carrier = None, None
        self._statistics.forget()

    def _numbers(self, faults: FaultList, now_s: float) -> dict[SeriesKey, Number]:
        if self._counters is None or self._carrier is None:
            self._lay_out()
        values: dict[SeriesKey, Number] = {}
        if self._counters is not None and self._carrier is not None:
            self._counters.read_into(values, faults, now_s)
            values |= self._carrier.read(faults)
        statistics = self._statistics.read(faults, now_s)
        if statistics and index_of(self._files, self.place.name) == self.place.index:
            return values | statistics  # else the name went to another interface meanwhile, and so did the question
        return values

    def _lay_out(self) -> None:
        """Which files there are: kernels differ, and a missing one is no fault. Raises OSError if the folder is gone."""
        folder = self.place.folder
        names = frozenset(self._files.listdir(folder))
        there = names | {f"statistics/{name}" for name in names_in(self._files, f"{folder}/statistics")}
        rows = FILES if self.place.has_rdma else {**FILES, **TRAFFIC_FILES}
        slots = {path: Slot(row.key) for path, row in rows.items() if path in there}
        slots |= {f"statistics/{name}": Slot((EVENTS.key, name)) for name in KERNEL_EVENTS if f"statistics/{name}" in there}
        self._counters = CounterSet(self._files, folder, slots)
        self._carrier = NetdevCarrier(self._files, folder, names)

    def _facts(self) -> tuple[str, ...]:
        """Values of the info row's own labels. Raises OSError if the interface is gone."""
        place = self.place
        self._files.resolve(place.folder)
        mtu = short_text(self._files, f"{place.folder}/mtu")
        bond = printable(link_name(self._files, f"{place.folder}/master"))
        return self.subject, place.driver, place.pci, place.numa_node, mtu if mtu.isdigit() else "", bond, str(place.is_vf).lower()
