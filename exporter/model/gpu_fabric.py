"""A GPU's place in its NVLink domain: which field of its health mask says what, and whether all of it together is well. Pure.

Layout: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_…
"""

from collections.abc import Mapping
from typing import NamedTuple

STATE_UNSUPPORTED, STATE_COMPLETED = 0, 3
STATUS_WELL = 0
HEALTHY, UNHEALTHY, LIMITED_CAPACITY = 1, 2, 3
"""Values of the summary besides 0, unsupported (as H100 always says: leptonai/gpud)."""
TRUE, FALSE = 1, 2
NOTHING_INCORRECT = 1
NIL_UUID = "00000000-0000-0000-0000-000000000000"


class _Bits(NamedTuple):
    shift: int
    mask: int
    bad: int | None
    """The value that is a fault; None for the field whose every value from 2 on is one."""


_FIELDS: Mapping[str, _Bits] = {
    "degraded_bw": _Bits(0, 0x3, TRUE),
    "route_recovery": _Bits(2, 0x3, TRUE),
    "route_unhealthy": _Bits(4, 0x3, TRUE),
    "access_timeout_recovery": _Bits(6, 0x3, TRUE),
    "incorrect_configuration": _Bits(8, 0xF, None),
    "partition_assigned": _Bits(12, 0x3, FALSE),
    "gfm_connected": _Bits(14, 0x3, FALSE),
}


def health_fields(mask: int) -> Mapping[str, int]:
    """Each supported field and its value as nvml.h numbers it: 1 true and 2 false, or the kind of what is configured wrongly."""
    values = {name: mask >> bits.shift & bits.mask for name, bits in _FIELDS.items()}
    return {name: value for name, value in values.items() if value}


def is_healthy(state: int, status: int, cluster_uuid: str, mask: int | None, summary: int | None) -> bool | None:
    """Whether the GPU joined its domain and says nothing bad of it; None while it has not finished joining, or has no domain.

    "Completed" alone does not do: a GPU with status Insufficient Resources and no cluster says it too (Azure/azhpc-images#506). A nil
    cluster with status 0 is a node without a domain beyond itself (HGX), which is well.
    """
    if state != STATE_COMPLETED:
        return None
    if status != STATUS_WELL or summary in (UNHEALTHY, LIMITED_CAPACITY):
        return False
    fields = health_fields(mask or 0)
    if cluster_uuid == NIL_UUID and fields.get("partition_assigned") == FALSE:
        fields = {name: value for name, value in fields.items() if name != "partition_assigned"}  # nothing to be assigned to
    return not any(_is_bad(_FIELDS[name], value) for name, value in fields.items())


def _is_bad(bits: _Bits, value: int) -> bool:
    return value > NOTHING_INCORRECT if bits.bad is None else value == bits.bad
