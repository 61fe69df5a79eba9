"""What an NVLink source says of the joins between GPUs, for the topology: asked once, outside of any sampler."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from exporter.catalog import gpu as rows
from exporter.catalog.nvlink import INFO
from exporter.model.entity import Device, Link
from exporter.model.expected_links import GPU, SWITCH
from exporter.model.fault import Fault
from exporter.model.metric import Cadence
from exporter.model.node_topology import NvlinkCounts
from exporter.model.snapshot import Reading, Snapshot
from exporter.runtime.collect import Source


def asked(source: Source, wall_s: float, monotonic_s: float) -> tuple[Mapping[str, NvlinkCounts], Sequence[Fault]]:
    """The active NVLinks of each GPU by its PCI address, and what could not be read of them."""
    scan = source.scan(wall_s, monotonic_s)
    snapshots: list[Snapshot] = [scan.snapshot]
    for reader in scan.readers:
        snapshots += [reader.read(cadence, wall_s, monotonic_s) for cadence in (Cadence.FAST, Cadence.NORMAL, Cadence.SLOW)]
    readings = [reading for snapshot in snapshots for reading in snapshot.readings]
    return counts_in(readings), [fault for snapshot in snapshots for fault in snapshot.faults]


def counts_in(readings: Iterable[Reading]) -> Mapping[str, NvlinkCounts]:
    """Counts by PCI address out of Readings of the NVLink source. A GPU that does not say who it is is missing."""
    listed = list(readings)
    addresses: dict[str, str] = {}
    counts: dict[str, NvlinkCounts] = {}
    for entity, values in listed:
        for key, value in values.items():
            if not isinstance(entity, Device):
                continue
            if key == rows.LINKS_EXPECTED.key:
                counts[entity.name] = replace(counts.get(entity.name, NvlinkCounts()), expected=int(value))
            elif isinstance(key, tuple) and key[0] == rows.INFO.key:
                _, _, pci, _, _, cluster, clique = key
                addresses[entity.name] = pci
                counts[entity.name] = replace(counts.get(entity.name, NvlinkCounts()), domain=f"{cluster}/{clique}".strip("/"))
    for entity, values in listed:
        for key in values:
            if isinstance(entity, Link) and isinstance(key, tuple) and key[0] == INFO.key and entity.device in counts:
                counts[entity.device] = _with(counts[entity.device], key[1], key[2])
    return {addresses[name]: found for name, found in counts.items() if name in addresses}


def _with(counts: NvlinkCounts, kind: str, pci: str) -> NvlinkCounts:
    """One link more, that leads there."""
    if kind == SWITCH:
        return replace(counts, switched=counts.switched + 1)
    if kind == GPU and pci:
        return replace(counts, peers={**counts.peers, pci: counts.peers.get(pci, 0) + 1})
    return counts
