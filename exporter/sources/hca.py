"""Reads one HCA: lays out its ports once, reads them at their cadences, and starts anew when the device goes and returns."""

import os
from collections.abc import Sequence
from typing import Protocol

from exporter.catalog import limits
from exporter.catalog.infiniband import COUNTERS_VISIBLE, DEVICE_INFO, EXCLUDED_INFO, PORT_INFO
from exporter.model.entity import Device, Link
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.rails import NOWHERE, PortPlace
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.counter_set import CounterSet
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FileSet
from exporter.sources.hca_layout import CLASS, HcaLayout, PortLayout, is_limited_pf, look
from exporter.sources.hca_slots import device_hw_slots
from exporter.sources.port_reader import PortReader
from exporter.sources.sweep import Part, Sweep, Understand, read_sweeps
from exporter.sources.sysfs import Files

SOURCE = "infiniband"
_FULL_DRIVERS = frozenset({"mlx4_core", "mlx5_core", "mlx4_ib", "mlx5_ib"})
_NO_SWEEP = (None, 0.0)
_INFO_FILES = ("board_id", "fw_ver", "hca_type")


class PortPlaces(Protocol):
    """Who knows which GPU a device's ports serve. Asked by several threads."""

    def of(self, device: str, monotonic_s: float) -> PortPlace:
        """The labels of its ports as they are now."""
        ...


class NoPlaces:
    """Knows nothing: the labels stay empty."""

    def of(self, device: str, monotonic_s: float) -> PortPlace:  # noqa: ARG002
        """Nowhere, whatever the device."""
        return NOWHERE


class HcaReader:
    """One device below class/infiniband. Not thread-safe: one read at a time. Opens nothing before the first read."""

    cadences = (Cadence.FAST, Cadence.NORMAL, Cadence.SLOW)

    def __init__(self, files: Files, name: str, *, hw_counters: bool, places: PortPlaces | None = None) -> None:
        self.subject = printable(name)
        self._name = name
        self._files = files
        self._hw_counters = hw_counters
        self._limited: bool | None = None
        self._layout: HcaLayout | None = None
        self._list_again_s = float("-inf")
        self._sweeps: dict[tuple[Cadence, ...], tuple[Sweep, float]] = {}
        self._texts = FileSet(files, f"{CLASS}/{name}", _INFO_FILES, changed=self._sweeps.clear)
        self._feeds = {cadence: Feed(SOURCE, self.subject, cadence) for cadence in self.cadences}
        self._is_unlisted = False
        self._ports: tuple[PortReader, ...] = ()
        self._port_places: PortPlaces = places or NoPlaces()
        self._place = NOWHERE
        self._device_counters: CounterSet | None = None
        self._places: tuple[Reading, ...] = ()

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. Never raises for hardware trouble: what failed is in `faults`, what is gone makes the reader lay out anew."""
        return self.read_together((cadence,), wall_s, monotonic_s)[0]

    def read_together(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One pass of each cadence, in one sweep while all is as usual."""
        (snapshots,) = read_sweeps([self.sweep(cadences, monotonic_s)], lambda _: True, wall_s, monotonic_s)
        return self.read_slowly(cadences, wall_s, monotonic_s) if snapshots is None else snapshots

    def sweep(self, cadences: tuple[Cadence, ...], monotonic_s: float) -> Sweep | None:
        """The quick way through these cadences; None while there is none."""
        sweep, until_s = self._sweeps.get(cadences, _NO_SWEEP)
        return sweep if monotonic_s < until_s else None

    def read_slowly(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One pass of each cadence, file set by file set; if all is as usual, the next one is a sweep."""
        snapshots = tuple(self._read_slowly(cadence, wall_s, monotonic_s) for cadence in cadences)
        if self._layout is not None and not any(snapshot.faults for snapshot in snapshots):
            self._sweeps[cadences] = self._sweep_of(cadences)
        return snapshots

    def _sweep_of(self, cadences: tuple[Cadence, ...]) -> tuple[Sweep, float]:
        """The quick way through these cadences, and how long it is good for."""
        sweep = Sweep(self._files, SOURCE, {self._feeds[cadence]: self._parts(cadence) for cadence in cadences})
        return sweep, min(sweep.until_s, self._list_again_s) if Cadence.SLOW in cadences else sweep.until_s

    def _parts(self, cadence: Cadence) -> list[Part]:
        if cadence is Cadence.SLOW:
            places = [Part(place.entity, None, _always(place), ()) for place in self._places]
            return [Part(Device(self.subject), self._texts, self._info_of, ()), *places]
        states = cadence is Cadence.FAST
        parts = [
            Part(port.link, port.texts if states else None, port.states_of if states else None, port.sets[cadence]) for port in self._ports
        ]
        if cadence is Cadence.NORMAL and self._device_counters is not None:
            parts.append(Part(Device(self.subject), None, None, (self._device_counters,)))
        return parts

    def _read_slowly(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        faults = FaultList(SOURCE)
        readings: tuple[Reading, ...] = ()
        try:
            readings = self._read(cadence, faults, monotonic_s)
        except OSError as error:
            faults.add_error(f"{CLASS}/{self._name}", error)
        if faults.is_lost:
            self.close()
        kept = tuple([reading for reading in readings if reading.values])
        return Snapshot(self._feeds[cadence], wall_s, monotonic_s, kept, tuple(faults.faults))

    def close(self) -> None:
        """Give all handles back and forget the layout; the next read starts from nothing."""
        self._drop_ports()
        self._texts.close()
        self._sweeps.clear()
        self._layout = None
        self._limited = None

    def _read(self, cadence: Cadence, faults: FaultList, now_s: float) -> tuple[Reading, ...]:
        if self._limited is None:
            self._limited = is_limited_pf(self._files, self._name)
        if self._limited:
            excluded: SeriesKey = (EXCLUDED_INFO.key, "limited_pf")
            return (Reading(Device(self.subject), {excluded: 1}),) if cadence is Cadence.SLOW else ()
        if self._layout is None or self._is_list_due(cadence, now_s):
            self._lay_out(faults, now_s)
        if cadence is Cadence.SLOW:
            return self._identity(faults, now_s)
        readings = tuple([port.read(cadence, faults, now_s) for port in self._ports])
        if cadence is Cadence.NORMAL and self._device_counters is not None:
            values: dict[SeriesKey, Number] = {}
            self._device_counters.read_into(values, faults, now_s)
            readings = (*readings, Reading(Device(self.subject), values))
        return readings

    def _is_list_due(self, cadence: Cadence, now_s: float) -> bool:
        """Whether to list the device's folders: with each slow pass (not when these come oftener than LIST_AGAIN_S, for listing costs more
        than all reads), and with each normal one while some folder could not be listed, whose counters are missing until then."""
        return (cadence is Cadence.SLOW and now_s >= self._list_again_s) or (cadence is Cadence.NORMAL and self._is_unlisted)

    def _lay_out(self, faults: FaultList, now_s: float) -> None:
        """List the device again; keep the open files if nothing changed."""
        layout = look(self._files, self._name)
        self._list_again_s = now_s + limits.LIST_AGAIN_S
        self._is_unlisted = any(port.unlisted for port in layout.ports)
        for port in layout.ports:
            for folder, code in port.unlisted:
                faults.add_error(folder, OSError(code, os.strerror(code), folder))
        place = self._port_places.of(self._name, now_s)
        if layout == self._layout:
            if place != self._place:
                self._adopt_place(layout, place)
            return
        self._drop_ports()
        self._layout = layout
        self._ports = tuple(
            PortReader(self._files, layout, port, hw_counters=self._hw_counters, changed=self._sweeps.clear) for port in layout.ports
        )
        if layout.device_hw_counters and self._hw_counters:
            slots = device_hw_slots(layout.device_hw_counters)
            self._device_counters = CounterSet(self._files, f"{CLASS}/{self._name}/hw_counters", slots, self._sweeps.clear)
        self._adopt_place(layout, place)

    def _adopt_place(self, layout: HcaLayout, place: PortPlace) -> None:
        """Say from now on that the ports sit there."""
        self._place = place
        self._places = tuple(_place_of(layout, port, reader.link, place) for port, reader in zip(layout.ports, self._ports, strict=True))
        self._sweeps.clear()

    def _drop_ports(self) -> None:
        for port in self._ports:
            port.close()
        if self._device_counters is not None:
            self._device_counters.close()
        self._ports, self._device_counters = (), None

    def _identity(self, faults: FaultList, now_s: float) -> tuple[Reading, ...]:
        layout = self._layout
        if layout is None:
            return ()
        for port, reader in zip(layout.ports, self._ports, strict=True):
            self._remark(layout, port, reader, faults)
        return Reading(Device(self.subject), self._info(faults, now_s)), *self._places

    def _remark(self, layout: HcaLayout, port: PortLayout, reader: PortReader, faults: FaultList) -> None:
        """Faults that concern the port as a whole."""
        if not _shows_counters(port) and not port.unlisted and layout.driver in _FULL_DRIVERS:
            faults.add(port.folder, Reason.ABSENT, "has state but neither counters nor hw_counters: seen from outside the host's network "
                       "namespace; use the host's network or mount the host's /sys")  # fmt: skip
        if reader.hw_names_left_out:
            faults.add(f"{port.folder}/hw_counters", Reason.LIMIT,
                       f"has too many files of unknown names; {reader.hw_names_left_out} are not read")  # fmt: skip

    def _info(self, faults: FaultList, now_s: float) -> dict[SeriesKey, Number]:
        """The info series. A label is empty where the file is missing, as not every driver has every file, or cannot be read."""
        seen = self._texts.read(now_s)
        folder = self._texts.folder
        failures = [(name, error) for name, error in seen.failures if name == folder or not isinstance(error, FileNotFoundError)]
        faults.add_failures(folder, failures)
        return self._info_of(seen.names, seen.raws, faults)

    def _info_of(self, names: tuple[str, ...], raws: Sequence[bytes], faults: FaultList) -> dict[SeriesKey, Number]:  # noqa: ARG002
        texts = dict(zip(names, raws, strict=True))
        return {(DEVICE_INFO.key, *(texts.get(name, b"").decode("utf-8", "replace").strip() for name in _INFO_FILES)): 1}


def _always(reading: Reading) -> Understand:
    """What a Part without files says: always the same."""
    return lambda _names, _raws, _faults: dict(reading.values)


def _place_of(layout: HcaLayout, port: PortLayout, link: Link, place: PortPlace) -> Reading:
    """Where a port sits and whether it shows counters: a matter of listings alone."""
    facts: SeriesKey = (PORT_INFO.key, layout.pci, layout.numa_node, printable(layout.netdev_of(port.number)), layout.driver,
                        port.link_layer, "" if layout.is_vf is None else str(layout.is_vf).lower(),
                        place.gpu, place.rail, place.role)  # fmt: skip
    visible: dict[SeriesKey, Number] = {} if port.unlisted else {COUNTERS_VISIBLE.key: int(_shows_counters(port))}
    return Reading(link, {facts: 1, **visible})


def _shows_counters(port: PortLayout) -> bool:
    return port.counters is not None or port.hw_counters is not None
