"""Tallies of driver events as Readings: addresses become GPU names, and what has not happened yet is 0. Pure.

An event that names no link stands under a link with an empty port: rules that go over links must leave that one out.
"""

from collections.abc import Collection, Mapping

from exporter.catalog.xid import NVLINK_SXIDS, NVLINK_XIDS, OFF_BUS, SXID, UNKNOWN_DEVICE, XID, XID_LAST
from exporter.model.entity import Device, Entity, Fabric, Link
from exporter.model.quoted import printable
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.model.xid import EventKey, EventKind, Tallies, Tally


def event_readings(tallies: Tallies, gpus: Mapping[str, str], switches: Collection[str]) -> tuple[Reading, ...]:
    """One Reading for each entity. `gpus` are the names of the GPUs that are known, by PCI address, `switches` the addresses of the
    NVSwitches; each has its NVLink codes from 0. A device that is neither is called by its address."""
    values: dict[Entity, dict[SeriesKey, Number]] = {}
    for address in sorted(gpus):
        name = printable(gpus[address])
        values[_link(name)] = {(XID.key, str(xid)): 0 for xid in NVLINK_XIDS}
        values[Device(name)] = {OFF_BUS.key: 0}
    for address in sorted(switches):
        values[_link(address)] = {(SXID.key, str(sxid)): 0 for sxid in NVLINK_SXIDS}
    for key, tally in sorted(tallies.items()):
        _enter(key, tally, gpus.get(key.pci, key.pci) or UNKNOWN_DEVICE, values)
    return tuple(Reading(entity, numbers) for entity, numbers in values.items())


def _enter(key: EventKey, tally: Tally, address_or_name: str, values: dict[Entity, dict[SeriesKey, Number]]) -> None:
    """One tally into the values of its entities."""
    name = printable(address_or_name)
    if key.kind is EventKind.OFF_BUS:
        _add(values.setdefault(Device(name), {}), OFF_BUS.key, tally.times)
        return
    row = XID if key.kind is EventKind.XID else SXID
    _add(values.setdefault(_link(name, key.port), {}), (row.key, key.code), tally.times)
    if key.kind is EventKind.XID:
        times = values.setdefault(Device(name), {})
        last: SeriesKey = (XID_LAST.key, key.code)
        times[last] = max(times.get(last, 0.0), tally.last_wall_s)


def _add(numbers: dict[SeriesKey, Number], key: SeriesKey, times: int) -> None:
    numbers[key] = numbers.get(key, 0) + times


def _link(device: str, port: str = "") -> Link:
    return Link(Fabric.NVLINK, device, port)
