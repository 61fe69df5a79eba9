"""NVLink's packed bit error ratios: mantissa times a power of ten, and marks that mean there were no errors."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.bit_error_ratio import bit_error_ratio

MANTISSAS, EXPONENTS = st.integers(1, 15), st.integers(0, 254)


def packed(mantissa: int, exponent: int) -> int:
    """As the driver packs them."""
    return mantissa << 8 | exponent


@given(MANTISSAS, EXPONENTS)
def test_a_ratio_is_the_float_next_to_its_decimal(mantissa: int, exponent: int) -> None:
    """Exactly: 3e-15, not 3.0000000000000003e-15."""
    assert bit_error_ratio(packed(mantissa, exponent)) == float(Fraction(mantissa, 10**exponent))


@given(st.integers(0, 15))
def test_an_exponent_at_its_end_means_no_errors(mantissa: int) -> None:
    """15e-255 of the effective ratio is a mark, no ratio (NVIDIA/DCGM); so is the symbol ratio's floor."""
    assert bit_error_ratio(packed(mantissa, 255)) == 0.0


@given(st.integers(0, 255))
def test_a_mantissa_of_0_means_no_errors(exponent: int) -> None:
    """Whatever the exponent."""
    assert bit_error_ratio(packed(0, exponent)) == 0.0


@given(MANTISSAS, MANTISSAS, EXPONENTS)
def test_more_errors_never_give_a_smaller_ratio(one: int, other: int, exponent: int) -> None:
    """Rising with the mantissa, falling with the exponent, never 0 where there were errors."""
    low, high = sorted((bit_error_ratio(packed(one, exponent)), bit_error_ratio(packed(other, exponent))))

    assert [low, high] == [bit_error_ratio(packed(mantissa, exponent)) for mantissa in sorted((one, other))]
    assert bit_error_ratio(packed(one, exponent)) > (bit_error_ratio(packed(one, exponent + 1)) if exponent < 254 else 0.0)


@given(st.integers(-(2**63), 2**64))
def test_any_number_is_a_ratio_or_none(number: int) -> None:
    """Bits above the mantissa mean nothing; nothing is ever refused, negative or without a value."""
    assert 0.0 <= bit_error_ratio(number) <= 15.0
    assert bit_error_ratio(number) == bit_error_ratio(number & 0xFFF)


@pytest.mark.parametrize(("number", "ratio"), [(0x10C, 1e-12), (0xB0D, 1.1e-12), (0xFFF, 0.0), (0, 0.0), (0x100, 1.0)])
def test_known_values(number: int, ratio: float) -> None:
    """1e-12 is what DCGM fails an effective ratio above."""
    assert bit_error_ratio(number) == ratio
