"""Faults in the log: each (subject, reason) once, then only counted. A log line says what, where, why and what to do."""

import logging
from collections.abc import Iterable

from exporter.model.fault import Fault, Reason

log = logging.getLogger("fabric_exporter.faults")
REMEMBERED_MAX = 4096
"""Subjects remembered; beyond that further ones are counted only."""

_QUIET = frozenset({Reason.ABSENT, Reason.UNSUPPORTED})
"""Reasons that are normal on some hardware: worth a line, not a warning."""


class FaultLog:
    """Writes new faults, and when a hung device answers again."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, Reason]] = set()

    def write(self, faults: Iterable[Fault]) -> None:
        """Log those not seen before."""
        for fault in faults:
            # What this process is short of concerns all its files alike: one line for the source, not one for each file.
            mark = (fault.source, "" if fault.reason is Reason.EXHAUSTED else fault.subject, fault.reason)
            if mark in self._seen or len(self._seen) >= REMEMBERED_MAX:
                continue
            self._seen.add(mark)
            level = logging.INFO if fault.reason in _QUIET else logging.WARNING
            log.log(level, "cannot read source=%s device=%s reason=%s: %s", fault.source, fault.subject, fault.reason.value, fault.detail)

    def answers_again(self, source: str, subject: str, elapsed_s: float) -> None:
        """A device that was flagged as hung came back."""
        self._seen.discard((source, subject, Reason.TIMEOUT))
        log.warning("answers again source=%s device=%s elapsed_s=%.1f", source, subject, elapsed_s)

    def stretched(self, source: str, subject: str, cadence: str, interval_s: float) -> None:
        """The duty guard began or ceased to read a device less often than configured."""
        log.warning("duty guard changed the interval source=%s device=%s cadence=%s interval_s=%g", source, subject, cadence, interval_s)
