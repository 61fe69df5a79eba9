"""Scenarios as Python writes them: statements (key → value), the values' notation, and what a counter reads at a moment.

Knows the flat file's syntax; what a key means, `tests/nvml_library/__init__.py` tells. A key with a mistake is refused here, since the
library would pass by it in silence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

NS = 1_000_000_000
Type = Literal["double", "uint", "ulong", "ull", "sll", "int", "ushort"]
WIDTHS: Mapping[str, int] = {"uint": 32, "ulong": 64, "ull": 64, "sll": 64, "int": 32, "ushort": 16}


@dataclass(frozen=True, slots=True)
class Amount:
    """A value of one NVML type that rises by `per_second` with the fake clock."""

    type: Type
    base: int | float
    per_second: int | float = 0

    def __str__(self) -> str:
        return f"{self.type} {self.base!r}" + (f" rate {self.per_second!r} per second" if self.per_second else "")

    def at(self, clock_ns: int) -> int | float:
        """What the library answers at that time of the fake clock: exact, as wide as its type, whole numbers rounded down."""
        if self.type == "double":
            return self.base + self.per_second * (clock_ns / 1e9)
        number = int(self.base) + int(self.per_second) * clock_ns // NS
        whole = 1 << WIDTHS[self.type]
        wrapped = number % whole
        return wrapped - whole if self.type in {"sll", "int"} and wrapped >= whole // 2 else wrapped


@dataclass(frozen=True, slots=True)
class Ret:
    """An nvmlReturn_t in place of a value."""

    code: int

    def __str__(self) -> str:
        return f"ret {self.code}"


Value = Amount | Ret | int | str | Sequence[str]
"""A sequence is a list: the key stands once for each text."""
Statements = Mapping[str, Value]


def double(base: float, rate: float = 0.0) -> Amount:
    """A double."""
    return Amount("double", float(base), float(rate))


def uint(base: int, rate: int = 0) -> Amount:
    """An unsigned 32-bit number."""
    return Amount("uint", base, rate)


def ull(base: int, rate: int = 0) -> Amount:
    """An unsigned 64-bit number, as counters are."""
    return Amount("ull", base, rate)


def ret(code: int) -> Ret:
    """A return code: NotSupported is 3, InvalidArgument 2, NoPermission 4, GpuIsLost 15, Unknown 999."""
    return Ret(code)


NOT_SUPPORTED = Ret(3)

_G, _N = r"g(?:\d+|\*)", r"(?:\d+|\*)"
_CALL = r"call\.(?:nvml\w+|\*)\.(?:ret|sleep_ms|abort)"
_OF_GPU = (
    r"uuid|name|serial|board_part|pci|pci_id|pci_subsystem|minor|module|arch|mig(?:_pending|_uuids)?|persistence|virtualization|numa|lost|links"
    r"|links_max|pcie_(?:generation|width)(?:_max)?|cpus|memory_nodes|event_types|proc|mps_proc|prm|nvle|firmware|bw_mode|bw_best|bw_modes"
    r"|graphics_proc|memory_(?:used|total)|utilization|clocks_event_reasons|compute_mode"
    r"|c2c|fabric\.(?:state|status|cluster_uuid|clique|clique_entry|health_mask|summary)"
    r"|platform\.(?:ib_guid|rack_guid|chassis_serial|slot|tray|host|peer_type|module)|f\d+"
)
_OF_LINK = r"state|version|capability[0-5]|remote_type|remote_pci|counter[0-4]|f\d+"
_GLOBAL = (
    r"gpus|driver|nvml|cuda|bw_mode|init\.ret|ev|clock\.epoch_us|links\.beyond\.ret|fabric\.reject"
    r"|fields\.(?:batch_max|poison_inactive|poison|known_max|timestamp|latency_us)"
)
_KEY = re.compile(
    rf"(?:{_GLOBAL}|{_CALL}|{_G}\.(?:{_OF_GPU}|{_CALL}|all\.f\d+)|{_G}\.l{_N}\.(?:{_OF_LINK})|{_G}\.port{_N}\.prm\d+"
    rf"|{_G}\.g{_N}\.(?:ancestor|p2p\d))"
)


def text_of(statements: Statements) -> str:
    """The flat file. ValueError names a key that the library does not know or a value with a line break."""
    return "".join(line for key, value in statements.items() for line in _lines(key, value))


def _lines(key: str, value: Value) -> list[str]:
    if not _KEY.fullmatch(key):
        raise ValueError(f"the fake NVML library knows no key {key!r}")
    texts = [str(value)] if isinstance(value, str | int | Amount | Ret) else list(value)
    if any("\n" in text for text in texts):
        raise ValueError(f"{key}: a value is one line")
    return [f"{key} = {text}\n" for text in texts]


def answer(statements: Statements, key: str, clock_ns: int = 0) -> int | float | Ret | None:
    """What the library must answer for an exact key (no wildcards) at that time; None if no statement of that very key is there."""
    value = statements.get(key)
    if isinstance(value, Amount):
        return value.at(clock_ns)
    return value if isinstance(value, int | Ret) else None
