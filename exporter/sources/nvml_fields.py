"""NVML's array of field values as bytes: laid out once, filled by each call, unpacked by the type each value says it has.

Building the array and reading it through ctypes costs 4 ms for 990 values, this 0.1 ms (research/nvlink.md section 1.7 [M]). Layout of
nvmlFieldValue_t (nvml.h): u32 field, u32 scope, i64 timestamp, i64 latency, u32 value type, u32 nvmlReturn, 8 bytes of value. Imports no
binding: the library's function is a parameter.
"""

import ctypes
import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

from exporter.model.snapshot import Number
from exporter.sources.nvml_session import NOT_SUPPORTED, Answers, NvmlError

WORDS = 5
"""64-bit words of one value: field and scope, timestamp, latency, type and return code, value."""
SIZE_BYTES = WORDS * 8
_HEAD = struct.Struct("=II")
_TYPES = {0: struct.Struct("=d"), 1: struct.Struct("=I4x"), 2: struct.Struct("=Q"), 3: struct.Struct("=Q"), 4: struct.Struct("=q"),
          5: struct.Struct("=i4x"), 6: struct.Struct("=H6x")}  # fmt: skip
"""nvmlValueType_t → the union's bytes: double, unsigned int, unsigned long, unsigned long long, signed long long, int, unsigned short."""
_WHOLE_WORD = frozenset({1, 2, 3, 6} if sys.byteorder == "little" else {2, 3})
"""Types that the 64-bit word they lie in spells as well: unsigned ones, since the rest of the word is blank."""


def number_of_union(value_type: int, raw: bytes | bytearray) -> Number | None:
    """The number of an nvmlValue_t of that type; None for a type that nvml.h does not list, and for a double that is no number."""
    layout = _TYPES.get(value_type)
    number: Number | None = layout.unpack(raw)[0] if layout is not None else None
    return number if number is not None and math.isfinite(number) else None


class PynvmlBatch:
    """`function` is nvmlDeviceGetFieldValues, `structure` the binding's own nvmlFieldValue_t, of which only the size matters.

    Raises ValueError if that size is not the layout's.
    """

    def __init__(self, handle: Any, pairs: Sequence[tuple[int, int]], function: Any, structure: Any) -> None:
        if ctypes.sizeof(structure) != SIZE_BYTES:
            raise ValueError(f"nvmlFieldValue_t has {ctypes.sizeof(structure)} bytes, expected {SIZE_BYTES}")
        self.pairs = tuple(pairs)
        self._handle = handle
        self._function = function
        self._count = ctypes.c_int32(len(self.pairs))
        self._blank = b"".join(_HEAD.pack(field, scope).ljust(SIZE_BYTES, b"\0") for field, scope in self.pairs)
        self._storage = bytearray(self._blank)
        self._array = (ctypes.c_char * len(self._storage)).from_buffer(self._storage)
        words = memoryview(self._storage).cast("Q")
        self._kinds, self._values = words[3::WORDS], words[4::WORDS]
        self._usual_kinds: list[int] = []

    def read(self) -> Answers:
        """One call. The array is blank before it, so that no old number and no half of one can be taken for an answer."""
        self._storage[:] = self._blank
        code = self._function(self._handle, self._count, ctypes.byref(self._array))
        if code:
            raise NvmlError("nvmlDeviceGetFieldValues", code)
        if self._kinds.tolist() == self._usual_kinds:
            return Answers(self._values.tolist(), {})
        return self._decode()

    def _decode(self) -> Answers:
        """Each value by its own type and return code. If all are plain 64-bit ones, the next call may take the short way."""
        numbers: list[Number] = []
        refused: dict[int, int] = {}
        whole = True
        for position in range(len(self.pairs)):
            at = position * SIZE_BYTES
            value_type, code = _HEAD.unpack_from(self._storage, at + 24)
            number = number_of_union(value_type, self._storage[at + 32 : at + SIZE_BYTES]) if code == 0 else None
            if number is None:
                refused[position] = code or NOT_SUPPORTED
            whole = whole and code == 0 and value_type in _WHOLE_WORD
            numbers.append(0 if number is None else number)
        self._usual_kinds = self._kinds.tolist() if whole else []
        return Answers(numbers, refused)
