"""One errand: read one device (or scan one source) at the cadences that are due, timed, with every surprise turned into a Fault.

Declares what the runtime asks of a source. The only place besides the web request boundary that catches any Exception.
"""

import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot
from exporter.runtime.clock import Clock

log = logging.getLogger("fabric_exporter.collect")


class DeviceReader(Protocol):
    """One device of a source. Never read by two threads at once."""

    @property
    def subject(self) -> str:
        """The device's name, unique within its source."""
        ...

    @property
    def cadences(self) -> Sequence[Cadence]:
        """Cadences at which it has something to read."""
        ...

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. Hardware trouble is a Fault in the Snapshot."""
        ...

    def close(self) -> None:
        """Give all handles back."""
        ...


class Scan(Protocol):
    """What a scan found."""

    @property
    def readers(self) -> Sequence[DeviceReader]:
        """A reader for each device there is now; the same object for a device that stayed."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """Readings and Faults of the scan itself; its feed has an empty subject."""
        ...


class Source(Protocol):
    """One kind of hardware."""

    @property
    def name(self) -> str:
        """The source's name, as in `fabric_exporter_source_up{source}`."""
        ...

    @property
    def looked_for(self) -> str:
        """What the source looks for and where, for a person whose page is empty."""
        ...

    def scan(self, wall_s: float, monotonic_s: float) -> Scan:
        """What devices there are now."""
        ...


@dataclass(frozen=True, slots=True)
class Errand:
    """Work for one thread: read `reader` at `cadences`, or scan `source` if there is no reader."""

    source: Source
    reader: DeviceReader | None
    cadences: tuple[Cadence, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Source and subject: no two errands of one place run at once."""
        return self.source.name, self.reader.subject if self.reader is not None else ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an Errand. `costs_s` is the wall time of each cadence's pass, `waited_s` the part of all of it without CPU. `scan` is
    None for a device's errand and for a scan that failed."""

    errand: Errand
    snapshots: tuple[Snapshot, ...]
    costs_s: Mapping[Cadence, float]
    waited_s: float
    scan: Scan | None = None

    @property
    def elapsed_s(self) -> float:
        """Wall time of the whole errand."""
        return sum(self.costs_s.values())


class TogetherReader(Protocol):
    """A DeviceReader that reads several cadences in one go, where that costs less."""

    def read_together(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One Snapshot for each cadence, in order."""
        ...


def run_errand(errand: Errand, clock: Clock) -> Outcome:
    """Do it now, in this thread. Never raises."""
    together: TogetherReader | None = getattr(errand.reader, "read_together", None) and errand.reader  # type: ignore[assignment]
    cpu_s, started_s = clock.thread_cpu_s(), clock.monotonic_s()
    if together is not None:
        try:
            snapshots = together.read_together(errand.cadences, clock.wall_s(), started_s)
        except Exception as error:  # noqa: BLE001  # a bug in one source must not cost the others; it is counted and shown once
            snapshots = tuple(_bug_snapshot(errand, cadence, error, clock) for cadence in errand.cadences)
        elapsed_s = clock.monotonic_s() - started_s
        return Outcome(errand, snapshots, _shares(elapsed_s, snapshots), max(0.0, elapsed_s - clock.thread_cpu_s() + cpu_s))
    return _run_one_by_one(errand, clock, cpu_s, started_s)


def _shares(elapsed_s: float, snapshots: tuple[Snapshot, ...]) -> dict[Cadence, float]:
    """What each cadence cost of a pass made together, by how many numbers it brought."""
    if len(snapshots) == 1:
        return {snapshots[0].feed.cadence: elapsed_s}
    sizes = [1 + sum([len(reading.values) for reading in snapshot.readings]) for snapshot in snapshots]
    each_s = elapsed_s / sum(sizes)
    return {snapshot.feed.cadence: each_s * size for snapshot, size in zip(snapshots, sizes, strict=True)}


def _run_one_by_one(errand: Errand, clock: Clock, cpu_s: float, started_s: float) -> Outcome:
    reader = errand.reader
    costs_s: dict[Cadence, float] = {}
    snapshots: list[Snapshot] = []
    scan: Scan | None = None
    for cadence in errand.cadences:
        try:
            if reader is None:
                scan = errand.source.scan(clock.wall_s(), started_s)
                snapshots.append(scan.snapshot)
            else:
                snapshots.append(reader.read(cadence, clock.wall_s(), started_s))
        except Exception as error:  # noqa: BLE001  # as above
            snapshots.append(_bug_snapshot(errand, cadence, error, clock))
        ended_s = clock.monotonic_s()
        costs_s[cadence], started_s = ended_s - started_s, ended_s
    waited_s = sum(costs_s.values()) - (clock.thread_cpu_s() - cpu_s)
    return Outcome(errand, tuple(snapshots), costs_s, max(0.0, waited_s), scan)


def not_started(errand: Errand, why: str, clock: Clock) -> Outcome:
    """What comes of an Errand for which there was no thread to be had: a Fault at each cadence."""
    source, subject = errand.place
    fault = Fault(source, subject or "scan", Reason.EXHAUSTED, f"no thread to read it: {why}; allow this process more threads or tasks")
    now = clock.wall_s(), clock.monotonic_s()
    snapshots = tuple(Snapshot(Feed(source, subject, cadence), *now, (), (fault,)) for cadence in errand.cadences)
    return Outcome(errand, snapshots, dict.fromkeys(errand.cadences, 0.0), 0.0)


def close_reader(reader: DeviceReader) -> None:
    """Close it. Never raises: a reader that cannot give its handles back is let go all the same."""
    try:
        reader.close()
    except Exception:  # the sampler must outlive it; the device is gone already, so no Snapshot can carry a Fault
        log.exception("bug device=%s reason=bug: close failed", reader.subject)


_bugs_shown: set[str] = set()


def _bug_snapshot(errand: Errand, cadence: Cadence, error: Exception, clock: Clock) -> Snapshot:
    source, subject = errand.source.name, errand.place[1] or "scan"
    detail = " ".join("".join(traceback.format_exception_only(error)).split())
    if detail not in _bugs_shown and len(_bugs_shown) < 100:
        _bugs_shown.add(detail)
        log.error("bug source=%s device=%s reason=bug", source, subject, exc_info=error)
    fault = Fault(source, subject, Reason.BUG, f"{detail}; this is a bug in fabric-exporter, the log holds the traceback")
    return Snapshot(Feed(*errand.place, cadence), clock.wall_s(), clock.monotonic_s(), (), (fault,))
