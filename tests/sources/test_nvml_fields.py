"""NVML's array of field values as bytes: laid out as nvml.h says, by a C compiler's word, and decoded whatever a driver puts into it."""

import ctypes
import json
import math
import struct
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sources.nvml_fields import SIZE_BYTES, PynvmlBatch, number_of_union
from exporter.sources.nvml_session import NOT_SUPPORTED, NvmlError
from tests.nvml_library import header_path
from tests.requires import need

PACKED = ("d", "I", "Q", "Q", "q", "i", "H")
"""Members of nvmlValue_t as struct writes them, by the number of the type: dVal, uiVal, ulVal, ullVal, sllVal, siVal, usVal."""
PROBE = """
#include <nvml.h>
#include <stddef.h>
#include <stdio.h>
#define AT(member) (int)offsetof(nvmlFieldValue_t, member)
#define SIZE(member) (int)sizeof(((nvmlValue_t *)0)->member)
int main(void)
{
    printf("{\\"size\\": %d, \\"at\\": [%d, %d, %d, %d, %d, %d, %d], \\"members\\": [%d, %d, %d, %d, %d, %d, %d], \\"types\\": [",
           (int)sizeof(nvmlFieldValue_t), AT(fieldId), AT(scopeId), AT(timestamp), AT(latencyUsec), AT(valueType), AT(nvmlReturn),
           AT(value), SIZE(dVal), SIZE(uiVal), SIZE(ulVal), SIZE(ullVal), SIZE(sllVal), SIZE(siVal), SIZE(usVal));
    printf("%d, %d, %d, %d, %d, %d, %d, %d]}", NVML_VALUE_TYPE_DOUBLE, NVML_VALUE_TYPE_UNSIGNED_INT, NVML_VALUE_TYPE_UNSIGNED_LONG,
           NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, NVML_VALUE_TYPE_SIGNED_LONG_LONG, NVML_VALUE_TYPE_SIGNED_INT,
           NVML_VALUE_TYPE_UNSIGNED_SHORT, NVML_VALUE_TYPE_COUNT);
    return 0;
}
"""


@cache
def layout() -> dict[str, Any]:
    """What a C compiler makes of the header."""
    compiler = need("cc", "apt-get install gcc libc6-dev")
    with TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text(PROBE, encoding="utf-8")
        subprocess.run([compiler, "-isystem", str(header_path().parent), "-o", str(program), str(source)], check=True, timeout=60)
        told = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=10).stdout
    found: dict[str, Any] = json.loads(told)
    return found


class Value(NamedTuple):
    """What a driver puts into one place: a type, a return code, and the bytes of the member that belongs to the type."""

    type: int
    code: int
    raw: bytes


class Driver:
    """nvmlDeviceGetFieldValues over plain bytes: writes `values` where they belong and no byte more, and keeps what it found there."""

    def __init__(self, values: Sequence[Value], code: int = 0) -> None:
        self.values = values
        self.code = code
        self.found: bytes = b""

    def __call__(self, _handle: object, count: ctypes.c_int32, reference: Any) -> int:
        """As the library is called."""
        array = memoryview(reference._obj).cast("B")
        self.found = bytes(array)
        for position, value in enumerate(self.values[: count.value]):
            at = position * SIZE_BYTES
            array[at + 8 : at + 32] = struct.pack("=qqII", 1_700_000_000_000_000, 250, value.type & 0xFFFFFFFF, value.code & 0xFFFFFFFF)
            array[at + 32 : at + 32 + len(value.raw)] = value.raw
        return self.code


def batch_of(driver: Driver, pairs: Sequence[tuple[int, int]]) -> PynvmlBatch:
    """A batch over it."""
    return PynvmlBatch("handle", pairs, driver, ctypes.c_char * SIZE_BYTES)


def value(kind: int, number: float, code: int = 0) -> Value:
    """A number of that type."""
    return Value(kind, code, struct.pack("=" + PACKED[kind], number))


NUMBERS = st.one_of(
    *(st.builds(value, st.just(kind), st.integers(0, 2**bits - 1)) for kind, bits in ((1, 32), (2, 64), (3, 64), (6, 16))),
    *(st.builds(value, st.just(kind), st.integers(-(2**bits), 2**bits - 1)) for kind, bits in ((4, 63), (5, 31))),
    st.builds(value, st.just(0), st.floats()),
)
VALUES = st.one_of(
    NUMBERS,
    st.builds(Value._replace, NUMBERS, code=st.integers(1, 1000)),
    st.builds(Value, st.integers(7, 2**32 - 1), st.just(0), st.binary(min_size=8, max_size=8)),
)


def test_the_layout_is_the_header_s() -> None:
    """Size, offsets, types and members, as a C compiler sees them."""
    told = layout()

    assert [told["size"], told["at"], told["types"]] == [SIZE_BYTES, [0, 4, 8, 16, 24, 28, 32], list(range(len(PACKED) + 1))]
    assert told["members"] == [struct.calcsize("=" + packed) for packed in PACKED]


def test_a_structure_of_another_size_is_refused() -> None:
    """A binding with another layout would be read at wrong places."""
    with pytest.raises(ValueError, match="48 bytes, expected 40"):
        PynvmlBatch("handle", [(138, 0)], Driver([]), ctypes.c_char * 48)


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=6))
def test_any_answers_are_decoded_by_their_own_types(passes: list[list[Value]]) -> None:
    """Pass after pass, whatever the one before was: exact numbers, and refusals for codes, unknown types and what is no number."""
    driver = Driver([])
    batch = batch_of(driver, [(138, 0), (139, 17), (91, 0)])
    for values in passes:
        driver.values = values
        answers = batch.read()

        expected = [_number_of(one) for one in values]
        assert {at: answers.numbers[at] for at, number in enumerate(expected) if number is not None} == {
            at: number for at, number in enumerate(expected) if number is not None
        }
        assert answers.refused == {at: values[at].code or NOT_SUPPORTED for at, number in enumerate(expected) if number is None}


@given(st.lists(VALUES, min_size=2, max_size=2))
def test_the_array_is_blank_before_each_call(values: list[Value]) -> None:
    """Ids and scopes, all else 0: no half of an old number can be taken for a new one."""
    pairs = [(138, 3), (0xFFFF, 0xFFFFFFFE)]
    driver = Driver(values)
    batch = batch_of(driver, pairs)
    seen = []
    for _ in range(3):
        batch.read()
        seen.append(driver.found)

    assert seen == [b"".join(struct.pack("=II", *pair) + bytes(32) for pair in pairs)] * 3


def test_a_short_number_after_a_long_one_is_the_short_one() -> None:
    """The union's other bytes are blank again, also in the short way that is taken while types stay the same."""
    driver = Driver([value(3, 2**64 - 1)])
    batch = batch_of(driver, [(138, 0)])
    told = []
    for one in (value(3, 2**64 - 1), value(3, 7), value(1, 5), value(1, 6), value(6, 4), value(6, 3), value(3, 2**53 + 1)):
        driver.values = [one]
        told.append(batch.read().numbers[0])

    assert told == [2**64 - 1, 7, 5, 6, 4, 3, 2**53 + 1]


def test_a_call_that_fails_has_no_numbers() -> None:
    """Not those before, and not in the next pass either."""
    driver = Driver([value(3, 9)])
    batch = batch_of(driver, [(138, 0)])
    batch.read()
    driver.code = 15
    with pytest.raises(NvmlError) as failed:
        batch.read()
    driver.code, driver.values = 0, []

    assert [failed.value.code, batch.read().numbers] == [15, [0.0]]


@given(st.integers(), st.binary(min_size=8, max_size=8))
def test_any_bytes_of_any_type_are_a_number_or_none(kind: int, raw: bytes) -> None:
    """Never NaN, never infinite."""
    number = number_of_union(kind, raw)

    assert number is None or math.isfinite(number)
    assert (number is None) == (kind not in range(7) or (kind == 0 and not math.isfinite(struct.unpack("=d", raw)[0])))


def _number_of(one: Value) -> int | float | None:
    if one.code or one.type >= len(PACKED):
        return None
    number: int | float = struct.unpack("=" + PACKED[one.type], one.raw)[0]
    return number if math.isfinite(number) else None
