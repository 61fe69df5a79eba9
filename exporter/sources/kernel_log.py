"""The kernel log source: Xids, SXids and lost GPUs, counted once each since the machine started, whoever restarts meanwhile.

Knows when the log is read and what is remembered; records are kmsg.py's, the driver's wording xid_lines.py's, series xid_readings.py's.
"""

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from exporter.catalog.xid import EVENT_KEYS_MAX, KMSG_SAVE_RECORDS, LOG_LOST
from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Reading, Snapshot
from exporter.model.xid import EventKey, KernelLogState, counted, key_of
from exporter.sources.fault_list import FaultList
from exporter.sources.kmsg import PATH, KernelLog, Records
from exporter.sources.sysfs import reason_of
from exporter.sources.xid_lines import event_of
from exporter.sources.xid_readings import event_readings

SOURCE, SUBJECT = "kernel_log", "kmsg"
_ADVICE = {
    Reason.DENIED: "give this service CAP_SYSLOG (AmbientCapabilities=CAP_SYSLOG; in Kubernetes capabilities.add: [SYSLOG]) and the device "
    "itself, or set sources.kernel_log.enabled: false",
    Reason.ABSENT: "the container does not see the host's; mount it, or set sources.kernel_log.enabled: false",
    Reason.LOST: "mount the host's in its place, or set sources.kernel_log.enabled: false",
}


class KernelLogMemory(Protocol):
    """Where the state of reading outlives this process (runtime/kernel_log_state.py), or this source (a reload)."""

    def load(self) -> KernelLogState | None:
        """What was saved last; None if nothing was."""
        ...

    def save(self, state: KernelLogState) -> None:
        """Remember this instead. Called by the thread that reads: must not wait for a disk."""
        ...


@dataclass(frozen=True, slots=True)
class KernelLogScan:
    """The log's reader, or none if it cannot be opened."""

    readers: tuple["KernelLogReader", ...]
    snapshot: Snapshot


class KernelLogSource:
    """One log. `boot_id` tells whose records the remembered sequence numbers are ("" if unknown). `gpus` names the GPUs that are known by
    PCI address, and `switches` lists the NVSwitches' addresses (nvswitches.py); both are asked again and again, and no line of the log
    adds to them."""

    name = SOURCE

    def __init__(self, log: KernelLog, memory: KernelLogMemory, boot_id: str, *, gpus: Callable[[], Mapping[str, str]],
                 switches: Callable[[], Collection[str]], path: str = PATH) -> None:  # fmt: skip
        self.looked_for = f"Xid and SXid lines of the NVIDIA driver in {path}"
        self.is_readable = False
        """Whether the log could be opened at the newest scan: if not, NVML's events are what is left."""
        self._log = log
        self._path = path
        self._switches = switches
        self._reader = KernelLogReader(log, memory, boot_id, gpus, path)

    def scan(self, wall_s: float, monotonic_s: float) -> KernelLogScan:
        """Open the log unless it is open, and see which NVSwitches there are."""
        faults = FaultList(SOURCE)
        try:
            self._log.open()
        except OSError as error:
            add_log_error(faults, self._path, error)
        self.is_readable = not faults.faults
        self._reader.switches = tuple(self._switches())
        readers = (self._reader,) if self.is_readable else ()
        return KernelLogScan(readers, Snapshot(Feed(SOURCE, "", Cadence.NORMAL), wall_s, monotonic_s, (), tuple(faults.faults)))


class KernelLogReader:
    """Reads what came since the last pass. Readings are made anew only when something changed."""

    subject = SUBJECT
    cadences: Sequence[Cadence] = (Cadence.FAST,)

    def __init__(self, log: KernelLog, memory: KernelLogMemory, boot_id: str, gpus: Callable[[], Mapping[str, str]], path: str) -> None:
        self.switches: tuple[str, ...] = ()
        self._log = log
        self._memory = memory
        self._gpus = gpus
        self._path = path
        remembered = memory.load()
        is_this_boots = remembered is not None and remembered.boot_id == boot_id
        self._state = remembered if remembered is not None and is_this_boots else KernelLogState(boot_id)
        self._saved_sequence = self._state.sequence
        self._lost = 0
        self._caught_up_wall_s = 0.0
        self._made_of: tuple[object, ...] = ()
        self._readings: tuple[Reading, ...] = ()

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. A log that cannot be read any more is closed, and brings a Fault and no numbers."""
        faults = FaultList(SOURCE)
        readings: tuple[Reading, ...] = ()
        try:
            seen = self._log.records()
        except OSError as error:
            self._log.close()
            add_log_error(faults, self._path, error)
        else:
            self._take(seen, wall_s, monotonic_s, faults)
            if seen.is_drained:
                self._caught_up_wall_s = wall_s
            readings = self._shown()
        return Snapshot(Feed(SOURCE, SUBJECT, cadence), wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Give the handle back and remember how far the log was read."""
        self._log.close()
        self._save()

    def _take(self, seen: Records, wall_s: float, monotonic_s: float, faults: FaultList) -> None:
        """Count what is new. A record that was read before, by whatever process, is passed over."""
        known = self._state.sequence
        fresh = [record for record in seen.records if known is None or record.sequence > known]
        if not fresh:
            if known is not None and seen.is_drained and seen.records:
                # Older than what is remembered as read: a virtual machine was set back. Go on from here rather than be blind.
                self._state = replace(self._state, sequence=min(known, seen.records[-1].sequence))
            return
        newest = fresh[-1].sequence
        before = known if known is not None else fresh[0].sequence - 1
        events: list[tuple[EventKey, float]] = []
        for record in fresh:
            event = event_of(record.text) if record.is_kernels else None
            if event is not None:
                events.append((key_of(event), happened_wall_s(record.usec, wall_s, monotonic_s, self._caught_up_wall_s)))
        tallies, crowded = counted(self._state.tallies, events, EVENT_KEYS_MAX) if events else (self._state.tallies, 0)
        self._state = KernelLogState(self._state.boot_id, newest, tallies)
        if events or newest - (self._saved_sequence or 0) >= KMSG_SAVE_RECORDS:
            self._save()
        self._complain(newest - before - len(fresh), crowded, faults)

    def _complain(self, lost: int, crowded: int, faults: FaultList) -> None:
        """Faults for records that nobody read, and for events that are not told apart."""
        if lost > 0:
            self._lost += lost
            faults.add(self._path, Reason.LIMIT, f"{lost} records were overwritten before they could be read; Xids among them are not "
                       "counted; enlarge the log with log_buf_len= on the kernel's command line")  # fmt: skip
        if crowded:
            faults.add(self._path, Reason.LIMIT, f"more than {EVENT_KEYS_MAX} kinds of code, device and link; {crowded} further events are "
                       "counted without their link or under other")  # fmt: skip

    def _shown(self) -> tuple[Reading, ...]:
        """Readings of the present state; the same object while nothing changed. Never empty: a node without GPUs has a log, too."""
        made_of = (self._state.tallies, self._gpus(), self.switches, self._lost)
        if made_of != self._made_of:
            tallies, gpus, switches, lost = made_of
            self._readings = (Reading(NODE, {LOG_LOST.key: lost}), *event_readings(tallies, gpus, switches))
            self._made_of = (tallies, dict(gpus), switches, lost)
        return self._readings

    def _save(self) -> None:
        self._memory.save(self._state)
        self._saved_sequence = self._state.sequence


def happened_wall_s(usec: int, wall_s: float, monotonic_s: float, not_before_s: float) -> float:
    """Unix time of a record stamped `usec` after boot, read in a pass that began at `wall_s` and `monotonic_s`. The kernel's log clock
    drifts from CLOCK_MONOTONIC by seconds in months, so it is held between `not_before_s`, when the log was last read to its end, and
    now."""
    return min(wall_s, max(not_before_s, wall_s - monotonic_s + usec / 1e6))


def add_log_error(faults: FaultList, path: str, error: OSError) -> None:
    """One Fault that says why the log cannot be read and what to do."""
    reason = Reason.ABSENT if error.errno == errno.ENOENT else reason_of(error)
    faults.add(path, reason, f"{error.strerror or error}; {_ADVICE.get(reason, 'it is tried again')}")
