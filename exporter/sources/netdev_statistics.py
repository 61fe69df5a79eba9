"""Reads the ethtool statistics of one interface: names once, values with one call a pass, each under its row by the allow-list.

Knows when names and values might not belong together, and then shows nothing rather than a number under a wrong name. Knows no file.
"""

import errno

from exporter.catalog import limits
from exporter.catalog.ethtool_names import FAMILIES, Target, target_of
from exporter.model.fault import Reason
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.device_place import is_pci_address
from exporter.sources.ethtool import STATISTICS_MAX, Ethtool, TableChangedError
from exporter.sources.fault_list import FaultList
from exporter.sources.netdev_place import NetdevPlace
from exporter.sources.sysfs import reason_of

_RESTING = frozenset({Reason.UNSUPPORTED, Reason.DENIED})


class NetdevStatistics:
    """Statistics of the interface at `place`. Asks nothing of a driver without an allow-list, nor of a virtual function: what a VF shows of
    the physical port is its PF's."""

    def __init__(self, ethtool: Ethtool, place: NetdevPlace) -> None:
        self.subject = f"ethtool -S {place.name}"
        self._ethtool = ethtool
        self._place = place
        self._is_asked = place.driver in FAMILIES and not place.is_vf
        self._count = 0
        self._slots: list[tuple[int, Target]] | None = None
        self._awake_s = float("-inf")
        self._rest_s = limits.FILE_REST_S

    def read(self, faults: FaultList, now_s: float) -> dict[SeriesKey, Number]:
        """One pass: at most one call if the names are known. A driver that refuses is left alone for a while, then for longer."""
        if not self._is_asked or now_s < self._awake_s:
            return {}
        try:
            if self._slots is None and self._is_elsewhere(faults):
                self._sleep(now_s)
                return {}
            values = self._values()
        except TableChangedError:
            self.forget()
            faults.add(self.subject, Reason.IO, "the driver's statistics changed twice within one pass; tried again at the next")
            return {}
        except OSError as error:
            self.forget()
            self._refused(error, faults, now_s)
            return {}
        self._rest_s = limits.FILE_REST_S
        return self._shown(values)

    def forget(self) -> None:
        """Learn the names anew at the next pass: other priorities under PFC give other names, be there as many as before."""
        self._slots = None

    def _values(self) -> tuple[int, ...]:
        """Values that belong to the slots. If there are more or fewer than there were names, both are read again, once."""
        if self._slots is not None:
            try:
                return self._ethtool.values(self._place.name, self._count)
            except TableChangedError:
                self.forget()
        self._learn()
        return self._ethtool.values(self._place.name, self._count) if self._slots else ()

    def _is_elsewhere(self, faults: FaultList) -> bool:
        """True if the interface of that name in this process's network namespace is another one than /sys shows (a container that has the
        host's /sys and a network of its own). Its numbers under this one's name would be wrong."""
        pci, bus = self._place.pci, self._ethtool.bus(self._place.name)
        is_other = bool(pci) and is_pci_address(bus) and bus != pci
        if is_other:
            here = f"in this process's network namespace that name is another interface ({bus}, not {pci})"
            faults.add(self.subject, Reason.ABSENT, f"{here}; use the host's network")
        return is_other

    def _learn(self) -> None:
        names = self._ethtool.names(self._place.name)
        if len(names) > STATISTICS_MAX:
            raise OSError(errno.EFBIG, f"the driver has {len(names)} statistics")
        self._count = len(names)
        taken: dict[SeriesKey, tuple[int, Target]] = {}
        for position, statistic in enumerate(names):
            target = target_of(self._place.driver, statistic)
            if target is not None:
                taken.setdefault(target.series, (position, target))
        self._slots = list(taken.values())

    def _shown(self, values: tuple[int, ...]) -> dict[SeriesKey, Number]:
        shown: dict[SeriesKey, Number] = {}
        for position, target in self._slots or ():
            value = values[position]
            if target.most is None or value <= target.most:
                shown[target.series] = value if target.divisor == 1 else value / target.divisor
        return shown

    def _refused(self, error: OSError, faults: FaultList, now_s: float) -> None:
        if error.errno == errno.EFBIG:
            faults.add(self.subject, Reason.LIMIT, f"{error.strerror}; none is read")
        elif error.errno == errno.ENODEV:
            # /sys shows it, so it is not lost: a container with the host's /sys and a network of its own.
            faults.add(self.subject, Reason.ABSENT, "no such interface in this process's network namespace; use the host's network")
        else:
            faults.add_error(self.subject, error)
        if error.errno in {errno.EFBIG, errno.ENODEV} or reason_of(error) in _RESTING:
            self._sleep(now_s)

    def _sleep(self, now_s: float) -> None:
        """Leave the driver alone for a while, the next time for twice as long."""
        self._awake_s = now_s + self._rest_s
        self._rest_s = min(2 * self._rest_s, limits.FILE_REST_MAX_S)
