"""Whether the numbers of one block agree: time, algorithm and bus bandwidth are one measurement printed three times.

So a shifted column, a lost digit or two rows run together show. Knows no layout; numbers come as they were printed.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from exporter.probes.nccl_tests.printed_numbers import Printed, Range, relative_error
from exporter.probes.nccl_tests.programs import Ratios
from exporter.probes.nccl_tests.result import Timing

GB_PER_S = 1e9
"""nccl-tests' GB is 10^9 bytes."""
US_PER_S = 1e6


class Block(NamedTuple):
    """What was printed for one block. `time_us` is None where the column is CPU time, which has nothing to do with the bandwidths."""

    time_us: Printed | None
    algbw: Printed
    busbw: Printed
    wrong: int | None


def timing(block: Block, size_bytes: int, ratios: Iterable[Ratios], ranks: int) -> Timing | None:
    """The block as a value, its bandwidth normalised to size / time whichever way the release prints it. None if the three numbers cannot
    belong together for any of the ratios."""
    for ratio in ratios:
        if _agree(block, size_bytes, ratio):
            has_bus = ranks > 1 and ratio.bus > 0
            return Timing(
                time_s=block.time_us.value / US_PER_S if block.time_us else None,
                algbw=block.algbw.value / (ratio.algorithm or 1.0) * GB_PER_S,
                busbw=block.busbw.value * GB_PER_S if has_bus else None,
                wrong=block.wrong,
                uncertainty=_uncertainty(block, ratio),
            )
    return None


def _agree(block: Block, size_bytes: int, ratio: Ratios) -> bool:
    """Whether one bandwidth (size / time, in GB/s) explains all three numbers."""
    possible = Range(0.0, math.inf)
    if block.time_us is not None:
        inverse = block.time_us.range.inverse()
        bytes_per_us_in_gb = size_bytes / GB_PER_S * US_PER_S
        possible = Range(inverse.low * bytes_per_us_in_gb, inverse.high * bytes_per_us_in_gb if size_bytes else 0.0)
    if not possible.scaled(ratio.algorithm).meets(block.algbw.range):
        return False
    if ratio.algorithm:
        possible = possible.common(block.algbw.range.scaled(1 / ratio.algorithm))
    return possible.scaled(ratio.bus).meets(block.busbw.range)


def _uncertainty(block: Block, ratio: Ratios) -> float | None:
    bandwidths = [relative_error(block.algbw)] if ratio.algorithm else []
    bandwidths += [relative_error(block.busbw)] if ratio.bus else []
    time = relative_error(block.time_us) if block.time_us else 0.0
    known = [error for error in bandwidths if error is not None]
    return time + max(known) if time is not None and known and len(known) == len(bandwidths) else None


def time_is_well_formed(number: Printed, *, in_milliseconds: bool) -> bool:
    """Whether a release prints a time with so many decimals: v1 three of a millisecond; later 2, 1 or 0, fewer only for long times
    (100 and 10,000 us up to 2.17.3, what fits 7 characters since), then 1.0e+06. A digit that was cut off shows here."""
    if in_milliseconds:
        return number.decimals == 3
    if number.decimals is None:
        return number.value >= 999_999.5
    return number.decimals == 2 or (number.decimals == 1 and number.value >= 99.9) or (number.decimals == 0 and number.value >= 9999.0)


def bandwidth_is_well_formed(number: Printed) -> bool:
    """The same for bandwidths: 2 decimals, fewer where the number would not fit 6 characters (since 2.17.3), at last 1e+06."""
    if number.decimals is None:
        return number.value >= 99_999.5
    return number.decimals == 2 or (number.decimals == 1 and number.value >= 999.9) or (number.decimals == 0 and number.value >= 9999.0)
