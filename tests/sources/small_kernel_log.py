"""A kernel log source over a log in memory, driven by hand, and what a page would show of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.catalog.xid import ROWS
from exporter.exposition.text import label_pairs
from exporter.model.fault import Fault
from exporter.model.metric import Cadence
from exporter.model.snapshot import Number, Reading, metric_key
from exporter.runtime.kernel_log_state import KeptKernelLogState
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.sources.kernel_log import KernelLogSource

BOOT, WALL_S, UP_S = "boot-1", 1.8e9, 8_000.0
"""A machine that has been up for a while."""
GPU, SWITCH = "0000:3b:00.0", "0000:c5:00.0"
XID_74 = "NVRM: Xid (PCI:0000:3B:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 7(0x10000, 0x0)"
XID_31 = "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python3, Ch 00000008"
SXID = "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 33 LTSSM Fault Up"
OFF_BUS = "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."

Shown = dict[tuple[str, ...], Number]


@dataclass
class Rig:
    """One process on one machine; `restart` and `crash` give the next one."""

    log: MemoryKernelLog = field(default_factory=MemoryKernelLog)
    memory: KeptKernelLogState = field(default_factory=lambda: KeptKernelLogState(None))
    boot_id: str = BOOT
    gpus: Mapping[str, str] = field(default_factory=lambda: {GPU: "gpu1"})
    switches: Collection[str] = (SWITCH,)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = KernelLogSource(self.log, self.memory, self.boot_id, gpus=lambda: self.gpus, switches=lambda: self.switches)

    def restart(self) -> "Rig":
        """Stop as the daemon does, and start again."""
        for reader in self.source.scan(WALL_S, UP_S).readers:
            reader.close()
        return Rig(self.log, self.memory, self.boot_id, self.gpus, self.switches)

    def crash(self) -> "Rig":
        """The process is gone without a word."""
        self.log.close()
        return Rig(self.log, self.memory, self.boot_id, self.gpus, self.switches)

    def readings(self, after_s: float = 0.0) -> tuple[Reading, ...]:
        """One scan and one pass, so long after WALL_S."""
        scan = self.source.scan(WALL_S + after_s, UP_S + after_s)
        snapshots = [scan.snapshot, *(reader.read(Cadence.FAST, WALL_S + after_s, UP_S + after_s) for reader in scan.readers)]
        self.faults = [fault for snapshot in snapshots for fault in snapshot.faults]
        return snapshots[-1].readings

    def read(self, after_s: float = 0.0) -> Shown:
        """(name without fabric_, label values in the row's order) → value, of one pass."""
        return shown(self.readings(after_s))

    def events(self, after_s: float = 0.0) -> Shown:
        """Counters above 0 of one pass."""
        return {labels: value for labels, value in self.read(after_s).items() if value and labels[0].endswith("_total")}


def shown(readings: tuple[Reading, ...]) -> Shown:
    """What a page would show: fails for a series that its row cannot show, or that two readings claim."""
    rows, found = {row.key: row for row in ROWS}, Shown()
    for reading in readings:
        for key, value in reading.values.items():
            row = rows[metric_key(key)]
            pairs = label_pairs(row, reading.entity, key)
            assert pairs is not None, (reading.entity, key)
            place = (row.name.removeprefix("fabric_"), *(text for _, text in pairs))
            assert place not in found
            found[place] = value
    return found
