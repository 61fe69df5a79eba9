"""The grammar of sysfs InfiniBand attribute text: plain numbers, `4: ACTIVE`, `400 Gb/sec (4X NDR)`. Pure; knows no file.

Kernel text: torvalds/linux drivers/infiniband/core/sysfs.c. Other writers of the same files (VF drivers, test trees, old kernels) leave
out the number, the width or the generation; what is not said is None, never guessed beyond what the number itself proves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.fault import Reason
from exporter.model.quantity import BYTES_PER_S_PER_GBIT, UINT64_MAX

LOGICAL_STATES: Mapping[str, int] = {"NOP": 0, "DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4, "ACTIVE_DEFER": 5}
PHYSICAL_STATES: Mapping[str, int] = {
    "SLEEP": 1, "POLLING": 2, "DISABLED": 3, "PORTCONFIGURATIONTRAINING": 4, "LINKUP": 5, "LINK_UP": 5, "LINKERRORRECOVERY": 6,
    "PHY TEST": 7,
}  # fmt: skip
ACTIVE, LINK_UP = 4, 5

SIGNALLING_GBIT_PER_LANE: Mapping[str, float] = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10.3125, "FDR": 14.0625}
"""Lane speeds with line coding that costs data rate; from EDR on the kernel prints the data rate itself."""

DATA_SHARE: Mapping[str, float] = {"SDR": 0.8, "DDR": 0.8, "QDR": 0.8, "FDR": 64 / 66}
"""Data bits per printed bit: 8b/10b up to QDR, 64b/66b at FDR (IBTA volume 1, annex on link speeds)."""

_DIGITS = b"0123456789\n"
_SURELY_64_BIT = 19
"""Digits that any 64-bit counter may have; a longer text is looked at."""
_STATE = re.compile(r"(?:(\d{1,3}):\s*)?(\S.*)?", re.ASCII)
_RATE = re.compile(r"(\d{1,7}(?:\.\d{1,6})?) Gb/sec(?:\s*\((\d{1,2})X(?:\s+([A-Za-z0-9]{1,8}))?\))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """A port's printed rate. `width_lanes` and `generation` (SDR … XDR) are None where the text does not say."""

    bytes_per_s: int
    width_lanes: int | None
    generation: str | None

    @property
    def lane_bytes_per_s(self) -> float | None:
        """Printed rate of one lane in bytes per second, a whole number where it is one; None without a width."""
        if not self.width_lanes:
            return None
        whole, rest = divmod(self.bytes_per_s, self.width_lanes)
        return self.bytes_per_s / self.width_lanes if rest else whole

    def data_bytes_per_s(self, *, coded: bool) -> float:
        """Data bytes per second. `coded` is True for the InfiniBand link layer only: a 10GbE NIC prints `10 Gb/sec (1X QDR)` and that
        is 10 Gb/s of data."""
        return self.bytes_per_s * DATA_SHARE.get(self.generation or "", 1) if coded else self.bytes_per_s


def numbers_of(raws: Sequence[bytes]) -> list[int] | None:
    """All of them as counters, or None if any is not a plain unsigned 64-bit number (then ask number_of one by one)."""
    if not raws or b"".join(raws).translate(None, _DIGITS):
        return None
    try:
        numbers = list(map(int, raws))
    except ValueError:
        return None
    longest = max(map(len, raws))
    if longest <= _SURELY_64_BIT or (longest < READ_SIZE_BYTES and max(numbers) <= UINT64_MAX):
        return numbers
    return None


def number_of(raw: bytes) -> int | Reason:
    """One counter; UNSUPPORTED for `N/A (no PMA)` (kernels before about 4.20, prometheus/node_exporter#966), PARSE for anything else
    that is not an unsigned 64-bit number."""
    text = raw.strip() if len(raw) < READ_SIZE_BYTES else b""  # cut off: whatever it began with, it is no counter
    if text.startswith(b"N/A"):
        return Reason.UNSUPPORTED
    if not text.isdigit() or int(text) > UINT64_MAX:
        return Reason.PARSE
    return int(text)


def state_of(raw: bytes, names: Mapping[str, int]) -> int | None:
    """The number before the colon; without one the number the name stands for; None if neither is there."""
    match = _STATE.fullmatch(raw.decode("utf-8", "replace").strip())
    if match is None:
        return None
    number, name = match.groups()
    return int(number) if number is not None else names.get((name or "").upper())


def rate_of(raw: bytes) -> Rate | None:
    """`400 Gb/sec (4X NDR)` and its shorter forms; None for any other text. A missing generation is inferred only where the lane speed
    proves SDR (`10 Gb/sec (4X)` of kernels before 4.x)."""
    match = _RATE.fullmatch(raw.decode("utf-8", "replace").strip())
    if match is None:
        return None
    gbit, width = float(match[1]), int(match[2]) if match[2] else None
    generation = match[3].upper() if match[3] else None
    if generation is None and width and gbit / width == SIGNALLING_GBIT_PER_LANE["SDR"]:
        generation = "SDR"
    return Rate(round(gbit * BYTES_PER_S_PER_GBIT), width or None, generation)
