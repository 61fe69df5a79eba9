"""Xids as NVML's events tell them: for nodes whose kernel log cannot be read. They name no link, and only count from the start of watching.

Knows the session's events; how a tally becomes a series is xid_readings.py's.
"""

from collections.abc import Mapping

from exporter.model.snapshot import Reading
from exporter.model.xid import EventKey, EventKind, Tally
from exporter.sources.fault_list import FaultList
from exporter.sources.nvml_session import FUNCTION_NOT_FOUND, PROCESS_WIDE, Nvml, NvmlError, words_of_code
from exporter.sources.xid_readings import event_readings


class XidEvents:
    """Counts events of all GPUs of one session, if `wanted`."""

    def __init__(self, nvml: Nvml, *, wanted: bool) -> None:
        self._nvml = nvml
        self._wanted = wanted
        self._watches = False
        self._tallies: dict[EventKey, Tally] = {}

    def watch(self, faults: FaultList) -> None:
        """Ask for events of the session that was just opened. GPUs that do not know them are not watched."""
        if not self._wanted:
            return
        try:
            self._nvml.watch_xids()
            self._watches = True
        except NvmlError as error:
            self._watches = False
            self._blame(error, faults)

    def readings(self, names: Mapping[int, str], wall_s: float, faults: FaultList) -> tuple[Reading, ...]:
        """Every Xid so far, by the GPUs' names (by index); nothing if events are not watched."""
        if not self._watches:
            return ()
        try:
            for gpu, xid in self._nvml.xids():
                if gpu in names:
                    self._count(EventKey(EventKind.XID, names[gpu], str(xid), ""), wall_s)
        except NvmlError as error:
            self._watches = False  # one lost GPU ends the whole set; the next session has a set of its own
            self._blame(error, faults)
            return ()
        return event_readings(self._tallies, {name: name for name in names.values()}, ())

    def _count(self, key: EventKey, wall_s: float) -> None:
        before = self._tallies.get(key)
        self._tallies[key] = Tally((before.times if before is not None else 0) + 1, wall_s)

    def _blame(self, error: NvmlError, faults: FaultList) -> None:
        if error.code in PROCESS_WIDE:
            raise error
        if error.code != FUNCTION_NOT_FOUND:
            faults.add("events", error.reason, f"Xid events: {words_of_code(error.code)}")
