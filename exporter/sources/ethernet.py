"""The Ethernet source: which physical interfaces /sys/class/net holds, and a reader for each that the site wants read.

Knows the class folder, the filter and that no two interfaces are one link; where an interface sits is netdev_place.py's.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass, replace

from exporter.model.entity import Link
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot
from exporter.sources.ethtool import Ethtool
from exporter.sources.fault_list import FaultList
from exporter.sources.netdev import SOURCE, NetdevReader
from exporter.sources.netdev_place import CLASS, NetdevPlace, place_of
from exporter.sources.sysfs import Files, reason_of


@dataclass(frozen=True, slots=True)
class NetdevScan:
    """Readers of the interfaces there are now (the same object for one that stayed) and what the listing itself showed."""

    readers: tuple[NetdevReader, ...]
    snapshot: Snapshot


class EthernetSource:
    """Scans the class folder. An interface that the filter leaves out is not looked at; none is asked anything that could hang."""

    name = SOURCE

    def __init__(self, files: Files, ethtool: Ethtool, wants: Callable[[str], bool], *, root: str = "/sys") -> None:
        self.looked_for = f"physical Ethernet interfaces in {root.rstrip('/')}/{CLASS}"
        self._files = files
        self._ethtool = ethtool
        self._wants = wants
        self._readers: dict[str, NetdevReader] = {}

    def scan(self, wall_s: float, monotonic_s: float) -> NetdevScan:
        """What is there now. A folder that cannot be listed keeps the readers there were; one that is not there has none."""
        faults = FaultList(SOURCE)
        places = self._places(faults)
        if places is not None:
            self._readers = {place.name: self._reader_of(place) for place in places}
        feed = Feed(SOURCE, "", Cadence.NORMAL)
        return NetdevScan(tuple(self._readers.values()), Snapshot(feed, wall_s, monotonic_s, (), tuple(faults.faults)))

    def _places(self, faults: FaultList) -> list[NetdevPlace] | None:
        """Each wanted interface of ours, no two with one link; None if they cannot be listed now."""
        try:
            names = sorted(self._files.listdir(CLASS))
        except OSError as error:
            if error.errno != errno.ENOENT:
                faults.add_error(CLASS, error)
                return None
            faults.add(CLASS, Reason.ABSENT, "is not there: the container does not see the host's /sys")
            return []
        found: list[NetdevPlace] = []
        for name in names:
            place = self._place(name, faults) if self._wants(name) else None
            if place is not None:
                found.append(place)
        return _one_link_each(found)

    def _place(self, name: str, faults: FaultList) -> NetdevPlace | None:
        try:
            return place_of(self._files, name)
        except OSError as error:
            if reason_of(error) is not Reason.LOST and error.errno != errno.ENOTDIR:  # no `device`: virtual; or it went meanwhile
                faults.add_error(f"{CLASS}/{name}", error)
            return None

    def _reader_of(self, place: NetdevPlace) -> NetdevReader:
        known = self._readers.get(place.name)
        return known if known is not None and known.place == place else NetdevReader(self._files, self._ethtool, place)


def _one_link_each(places: list[NetdevPlace]) -> list[NetdevPlace]:
    """The first interface of an RDMA port feeds it; a further one (a subfunction's, a macvlan in hardware) is a link of its own."""
    taken: set[Link] = set()
    kept: list[NetdevPlace] = []
    for place in places:
        kept.append(replace(place, link=place.own) if place.link in taken else place)
        taken.add(kept[-1].link)
    return kept
