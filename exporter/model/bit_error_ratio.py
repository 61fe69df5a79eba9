"""NVLink's packed bit error ratios. Pure.

Encoding as NVIDIA/DCGM common/DcgmUtilities.cpp reads it: eight bits of exponent, four bits of mantissa above them.
"""

EXPONENT_BITS, EXPONENT_MASK, MANTISSA_MASK = 8, 0xFF, 0xF
NONE_EXPONENT = 0xFF
"""Exponent of "no error seen": effective 15e-255 is a mark, no ratio; symbol ratios have their floor there too
(NVIDIA/DCGM common/DcgmGPUHardwareLimits.h)."""


def bit_error_ratio(packed: int) -> float:
    """Errors per bit; 0.0 for the marks that say there were none (mantissa 0, or the exponent at its end)."""
    exponent = packed & EXPONENT_MASK
    mantissa = packed >> EXPONENT_BITS & MANTISSA_MASK
    if mantissa == 0 or exponent == NONE_EXPONENT:
        return 0.0
    return float(f"{mantissa}e-{exponent}")  # the nearest float; mantissa * 10**-exponent is not always
