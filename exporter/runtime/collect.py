"""One errand: read one device (or scan one source) at the cadences that are due, timed, with every surprise turned into a Fault.

Declares what the runtime asks of a source. The only place besides the web request boundary that catches any Exception.
"""

import logging
import traceback
from collections.abc import Sequence
from typing import NamedTuple, Protocol

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


def is_elsewhere(source: Source) -> bool:
    """Whether the source's reads wait for another process (`is_elsewhere`): then they never run in the sampler's own thread, and how long
    one takes says nothing of the device."""
    return bool(getattr(source, "is_elsewhere", False))


class Errand(NamedTuple):
    """Work for one thread: read `reader` at `cadences`, or scan `source` if there is no reader."""

    source: Source
    reader: DeviceReader | None
    cadences: tuple[Cadence, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Source and subject: no two errands of one place run at once."""
        return self.source.name, self.reader.subject if self.reader is not None else ""


class Outcome(NamedTuple):
    """What came of an Errand: one Snapshot for each of its cadences. `elapsed_s` is the wall time of all, `waited_s` the part of it without
    CPU (all of it where nobody asked to measure). `scan` is None for a device's errand and for a scan that failed."""

    errand: Errand
    snapshots: tuple[Snapshot, ...]
    elapsed_s: float
    waited_s: float
    scan: Scan | None = None


class TogetherReader(Protocol):
    """A DeviceReader that reads several cadences in one go, where that costs less."""

    def read_together(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One Snapshot for each cadence, in order."""
        ...


def run_errand(errand: Errand, clock: Clock, *, measure_wait: bool = False) -> Outcome:
    """Do it now, in this thread. Never raises. Telling waiting from working costs two more system calls: done on request."""
    cpu_s = clock.thread_cpu_s() if measure_wait else 0.0
    started_s = clock.monotonic_s()
    scan: Scan | None = None
    if errand.reader is None:
        snapshots, scan = _scan(errand, clock)
    else:
        snapshots = read_guarded(errand.source, errand.reader, errand.cadences, clock.wall_s(), started_s)
    elapsed_s = clock.monotonic_s() - started_s
    waited_s = max(0.0, elapsed_s - clock.thread_cpu_s() + cpu_s) if measure_wait else elapsed_s
    return Outcome(errand, snapshots, elapsed_s, waited_s, scan)


def read_guarded(
    source: Source, reader: DeviceReader, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float
) -> tuple[Snapshot, ...]:
    """One Snapshot for each cadence; an exception becomes a Fault in its place."""
    together: TogetherReader | None = getattr(reader, "read_together", None) and reader  # type: ignore[assignment]
    if together is not None:
        try:
            return together.read_together(cadences, wall_s, monotonic_s)
        except Exception as error:  # noqa: BLE001  # a bug in one source must not cost the others; it is counted and shown once
            return tuple(_bug_snapshot((source.name, reader.subject), cadence, error, wall_s, monotonic_s) for cadence in cadences)
    snapshots: list[Snapshot] = []
    for cadence in cadences:
        try:
            snapshots.append(reader.read(cadence, wall_s, monotonic_s))
        except Exception as error:  # noqa: BLE001  # as above
            snapshots.append(_bug_snapshot((source.name, reader.subject), cadence, error, wall_s, monotonic_s))
    return tuple(snapshots)


def _scan(errand: Errand, clock: Clock) -> tuple[tuple[Snapshot, ...], Scan | None]:
    wall_s, monotonic_s = clock.wall_s(), clock.monotonic_s()
    try:
        scan = errand.source.scan(wall_s, monotonic_s)
    except Exception as error:  # noqa: BLE001  # as above
        return (_bug_snapshot(errand.place, errand.cadences[0], error, wall_s, monotonic_s),), None
    return (scan.snapshot,), scan


def not_started(errand: Errand, why: str, clock: Clock) -> Outcome:
    """What comes of an Errand for which there was no thread to be had: a Fault at each cadence."""
    source, subject = errand.place
    fault = Fault(source, subject or "scan", Reason.EXHAUSTED, f"no thread to read it: {why}; allow this process more threads or tasks")
    now = clock.wall_s(), clock.monotonic_s()
    snapshots = tuple(Snapshot(Feed(source, subject, cadence), *now, (), (fault,)) for cadence in errand.cadences)
    return Outcome(errand, snapshots, 0.0, 0.0)


def close_reader(reader: DeviceReader) -> None:
    """Close it. Never raises: a reader that cannot give its handles back is let go all the same."""
    try:
        reader.close()
    except Exception:  # the sampler must outlive it; the device is gone already, so no Snapshot can carry a Fault
        log.exception("bug device=%s reason=bug: close failed", reader.subject)


_bugs_shown: set[str] = set()


def _bug_snapshot(place: tuple[str, str], cadence: Cadence, error: Exception, wall_s: float, monotonic_s: float) -> Snapshot:
    source, subject = place[0], place[1] or "scan"
    detail = " ".join("".join(traceback.format_exception_only(error)).split())
    if detail not in _bugs_shown and len(_bugs_shown) < 100:
        _bugs_shown.add(detail)
        log.error("bug source=%s device=%s reason=bug", source, subject, exc_info=error)
    fault = Fault(source, subject, Reason.BUG, f"{detail}; this is a bug in fabric-exporter, the log holds the traceback")
    return Snapshot(Feed(*place, cadence), wall_s, monotonic_s, (), (fault,))
