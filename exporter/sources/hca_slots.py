"""Which file of a port feeds which row: the catalogue turned into Slots for the files that a port has. Pure."""

from collections.abc import Mapping, Sequence

from exporter.catalog import limits
from exporter.catalog.hw_events import DIRECTIONS, HW_EVENTS_KNOWN, LEVEL_PREFIXES, LEVELS
from exporter.catalog.infiniband import (
    CLAMPS,
    CLAMPS_32,
    DEVICE_HW_EVENTS,
    HW_BYTES,
    HW_EVENTS,
    HW_LEVELS,
    HW_LIFESPAN,
    HW_OPERATION_BYTES,
    PORT_COUNTERS,
)
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.sources.counter_set import Slot

_ROWS = {(row.cadence, row.raw): row for row in PORT_COUNTERS}


def counter_slots(folder: str, names: Sequence[str], cadence: Cadence) -> Mapping[str, Slot]:
    """Slots of `folder` (counters or counters_ext) for the files there is a row for. Clamps are the PMA's; data and packets clamp at
    32 bit only where the driver shows the plain table, told by the missing unicast_* files."""
    clamps = dict(CLAMPS) if folder == "counters" else {}
    if folder == "counters" and not any(name.startswith("unicast_") for name in names):
        clamps |= CLAMPS_32
    rows = {name: _ROWS.get((cadence, f"{folder}/{name}")) for name in names}
    return {name: Slot(row.key, row.scale, clamps.get(name)) for name, row in rows.items() if row is not None}


def hw_slots(names: Sequence[str]) -> tuple[Mapping[str, Slot], int]:
    """Slots of a port's hw_counters, and how many unknown names were left out by the bound (numbered ones go first)."""
    unknown = [name for name in names if name not in HW_EVENTS_KNOWN and name not in DIRECTIONS and name != "lifespan"]
    families_last = sorted(unknown, key=lambda name: name[-1].isdigit())  # hfi1 numbers RcvHdrOvr0 to RcvHdrOvr159
    left_out = set(families_last[limits.HW_EVENTS_UNKNOWN_MAX :])
    return {name: _hw_slot(name) for name in names if name not in left_out}, len(left_out)


def device_hw_slots(names: Sequence[str]) -> Mapping[str, Slot]:
    """Slots of a device's own hw_counters folder (EFA)."""
    kept = [name for name in names if name != "lifespan"][: limits.HW_EVENTS_UNKNOWN_MAX]
    return {name: Slot((DEVICE_HW_EVENTS.key, printable(name))) for name in kept}


def _hw_slot(name: str) -> Slot:
    if name in DIRECTIONS:
        return Slot((HW_BYTES.key, DIRECTIONS[name]))
    if name == "lifespan":
        return Slot(HW_LIFESPAN.key, HW_LIFESPAN.scale)
    if name.startswith(LEVEL_PREFIXES) or name in LEVELS:
        return Slot((HW_LEVELS.key, printable(name)))
    if name.endswith(("_bytes", "Octets")):
        return Slot((HW_OPERATION_BYTES.key, printable(name)))
    return Slot((HW_EVENTS.key, printable(name)))
