"""Reads one branch of the PCI tree: every device below one root port, and each bridge above them, once a pass however many share it.

Knows which end of a link faces which; what a function's files mean is pci_function.py's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from exporter.catalog.pcie import INFO, SPEED, SPEED_EXPECTED, WIDTH, WIDTH_EXPECTED
from exporter.model.entity import Device, Fabric, Link
from exporter.model.link_capability import UNKNOWN, Capability, expectation
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_function import FunctionReader
from exporter.sources.pci_tree import PciDevice
from exporter.sources.sysfs import Files

SOURCE = "pcie"
UPSTREAM = "upstream"
"""The port label of a device's own link."""


class LinkMemory(Protocol):
    """What was learned about PCI functions. Asked and told by several threads."""

    def believed(self, address: str, identity: str, wall_s: float) -> Capability:
        """The bound that long watching sets on what this function is expected to do; nothing known sets none."""
        ...

    def note(self, address: str, identity: str, seen: Capability, wall_s: float) -> None:
        """The function runs like this now."""
        ...


class NoMemory:
    """Learns nothing: what both ends can do and what is configured is all that is expected."""

    def believed(self, address: str, identity: str, wall_s: float) -> Capability:  # noqa: ARG002  # the Protocol's shape
        """No bound."""
        return UNKNOWN

    def note(self, address: str, identity: str, seen: Capability, wall_s: float) -> None:
        """Forgotten at once."""


class _Shown(NamedTuple):
    """What was made of a function's values and of what was learned of it."""

    seen: Mapping[SeriesKey, Number]
    learned: Capability
    values: FixedValues


class BranchReader:
    """The devices below one root port (or one alone on a root bus). `configured`: pattern of a device's name or a bridge's address, and
    what its link should do at most. Not thread-safe: one read at a time. Opens nothing before the first read."""

    cadences = (Cadence.NORMAL, Cadence.SLOW)

    def __init__(self, files: Files, subject: str, devices: Sequence[PciDevice], memory: LinkMemory,
                 configured: Mapping[str, Capability]) -> None:  # fmt: skip
        self.subject = subject
        self.devices = tuple(devices)
        self.was_lost = False
        self._memory = memory
        self._functions = {function.address: FunctionReader(files, function.folder) for device in devices for function in device.functions}
        self._partners = _partners_of(self.devices)
        self._configured = _configured_of(self.devices, self._partners, configured)
        self._links = tuple(
            (Link(Fabric.PCIE, device.name, UPSTREAM if function.address == device.address else function.address), function.address)
            for device in devices
            for function in device.functions
        )
        self._feeds = {cadence: Feed(SOURCE, subject, cadence) for cadence in self.cadences}
        self._is_laid_out = False
        self._shown: dict[str, _Shown] = {}
        self._readings: tuple[Reading, ...] = ()

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. Never raises for hardware trouble: what failed is in `faults`, and costs the function that failed."""
        faults = FaultList(SOURCE)
        if cadence is Cadence.SLOW or not self._is_laid_out:
            for function in self._functions.values():
                function.look_again(faults)
            self._is_laid_out = True
            self._shown.clear()
        readings = self._identities(faults) if cadence is Cadence.SLOW else self._now(faults, wall_s, monotonic_s)
        if faults.is_lost:
            self.was_lost = True
            self._is_laid_out = False
        return Snapshot(self._feeds[cadence], wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Give all handles back; the next read starts from nothing."""
        for function in self._functions.values():
            function.close()
        self._is_laid_out = False

    def _now(self, faults: FaultList, wall_s: float, now_s: float) -> tuple[Reading, ...]:
        """Each function read once; a Reading for each device and function it depends on. The same object while nothing changes."""
        seen = [(address, function.read_now(faults, now_s)) for address, function in self._functions.items()]
        before = {address: shown.values for address, shown in self._shown.items()}
        shown = {address: self._with_expectation(address, values, wall_s) for address, values in seen}
        if len(before) < len(shown) or any(shown[address] is not values for address, values in before.items()):
            self._readings = tuple([Reading(link, shown[address]) for link, address in self._links if shown[address]])
        return self._readings

    def _with_expectation(self, address: str, values: Mapping[SeriesKey, Number], wall_s: float) -> FixedValues:
        """What the link does, and what it should; the same object as before while neither changes. What it does is remembered."""
        function, before = self._functions[address], self._shown.get(address)
        learned = self._memory.believed(address, function.identity, wall_s)
        if before is not None and before.seen is values and before.learned == learned:
            return before.values
        does = Capability(_whole(values.get(SPEED.key)), _whole(values.get(WIDTH.key)))
        if does != UNKNOWN:
            self._memory.note(address, function.identity, does, wall_s)
            learned = self._memory.believed(address, function.identity, wall_s)
        partners = [self._functions[partner].capability for partner in self._partners[address]]
        should = expectation(function.capability, partners, (*self._configured[address], learned))
        expected: dict[SeriesKey, Number | None] = {SPEED_EXPECTED.key: should.transfers_per_s, WIDTH_EXPECTED.key: should.lanes}
        whole = {**values, **{key: number for key, number in expected.items() if number is not None}}
        self._shown[address] = _Shown(values, learned, _laid_out(whole, before))
        return self._shown[address].values

    def _identities(self, faults: FaultList) -> tuple[Reading, ...]:
        for function in self._functions.values():
            function.remark(faults)
        return tuple(Reading(Device(device.name), {(INFO.key, device.address, device.place.numa_node): 1}) for device in self.devices)


def _laid_out(values: Mapping[SeriesKey, Number], before: _Shown | None) -> FixedValues:
    """As FixedValues, with the places there were if the keys are the same."""
    is_same = before is not None and tuple(before.values.places) == tuple(values)
    places = before.values.places if before is not None and is_same else {key: at for at, key in enumerate(values)}
    return FixedValues(places, list(values.values()))


def _whole(number: Number | None) -> int | None:
    return None if number is None else int(number)


def _partners_of(devices: Sequence[PciDevice]) -> Mapping[str, frozenset[str]]:
    """The functions at the other end of each function's link. Down from the root complex ports face down and up in turn: root port,
    switch upstream port, switch downstream port, device. Several functions of one card share the port above them."""
    partners: dict[str, set[str]] = {function.address: set() for device in devices for function in device.functions}
    for device in devices:
        chain = [function.address for function in device.functions]
        for above, below in zip(chain[::2], chain[1::2], strict=False):
            partners[above].add(below)
            partners[below].add(above)
    return {address: frozenset(others) for address, others in partners.items()}


def _configured_of(devices: Sequence[PciDevice], partners: Mapping[str, frozenset[str]],
                   configured: Mapping[str, Capability]) -> Mapping[str, tuple[Capability, ...]]:  # fmt: skip
    """What is configured for each function's link, at whichever end a pattern names it. Patterns are anchored."""
    names: dict[str, set[str]] = {address: {address} for address in partners}
    for device in devices:
        names[device.address].add(device.name)
    patterns = [(re.compile(pattern), capability) for pattern, capability in configured.items()]
    matched = {
        address: [capability for pattern, capability in patterns if any(pattern.fullmatch(name) for name in said)]
        for address, said in names.items()
    }
    return {
        address: tuple(capability for end in (address, *sorted(others)) for capability in matched[end])
        for address, others in partners.items()
    }
