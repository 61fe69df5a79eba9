"""What a probe's supervisor and its worker processes say to each other: orders one way, answers the other, each one line of JSON.

Strict both ways: a line is a known message with exactly its fields, of their types and within bounds, or a ValueError. Knows no process."""

import json
import math
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, get_type_hints

from exporter.probes.collectives import Collective
from exporter.probes.reasons import Failure

LINE_MAX_BYTES = 256 << 10
TEXT_MAX = 4096
LIST_MAX = 8192
"""Longest list: 64 GPUs have 4,032 pairs."""
INTEGER_MAX = 2**53
"""What every reader of JSON reads exactly."""


@dataclass(frozen=True, slots=True)
class StartRank:
    """The first order to a rank: load the libraries, take the GPU (UUID or index) and two buffers for messages of `buffer_bytes`. With
    `wants_id` it answers with a unique id as well. More than `memory_bytes` on the GPU, NCCL's share included, is a failure."""

    libcuda: str
    libnccl: str
    gpu: str
    rank: int
    ranks: int
    buffer_bytes: int
    memory_bytes: int
    channels_max: int
    wants_id: bool


@dataclass(frozen=True, slots=True)
class Join:
    """Come together with the other ranks, by deadline."""

    unique_id: str
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One collective over and over; `held`: launch a batch of them before the GPU may begin, so that launching is not measured. Not so at
    first, when NCCL connects. `deadline_s` is for a batch."""

    number: int
    collective: Collective
    size_bytes: int
    iterations: int
    held: bool
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Check:
    """One collective, with every element that arrives compared."""

    number: int
    collective: Collective
    size_bytes: int
    seed: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class StartCopies:
    """The first order to the process that copies between GPUs: take all of them."""

    libcuda: str
    gpus: tuple[str, ...]
    buffer_bytes: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Copies from `sources` to `targets` (places in the list of GPUs), all at the same time, `repeats` times each after one for warming."""

    number: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    size_bytes: int
    repeats: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Finish:
    """Part from the others in peace, give everything back, end."""

    deadline_s: float


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop whatever runs and end at once. Heeded in the middle of any other order."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The libraries are there and the GPU is taken. `unique_id` is "" unless it was wanted."""

    nccl: str
    cuda_driver: str
    path: str
    gpu: str
    unique_id: str


@dataclass(frozen=True, slots=True)
class Joined:
    """All ranks are together. `memory_bytes` is what this one has taken since its context was made."""

    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds on the GPU of each iteration, and of the barrier before it: for how long this rank waited for the others."""

    number: int
    times_s: tuple[float, ...]
    waits_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """How many elements were wrong; the first one's place and the rank whose data belongs there (-1: none wrong, or a sum of all). `spilt`:
    something wrote outside a buffer."""

    number: int
    wrong: int
    first: int
    source: int
    spilt: bool


@dataclass(frozen=True, slots=True)
class CopiesReady:
    """All GPUs are taken; `indirect` lists sources and targets (`indirect[i]` to `indirect[i + 1]` for even i) that go through the host."""

    indirect: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """Seconds on the GPU of each repeat of each copy: of the first pair, then of the next."""

    number: int
    times_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The process ends. `memory_bytes`: the most that it had taken on its GPU since its context was made, as far as it looked."""

    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not go on and ends."""

    reason: Failure
    words: str


Order = StartRank | Join | Measure | Check | StartCopies | Copy | Finish | Abort
Answer = Loaded | Joined | Measured | Checked | CopiesReady | Copied | Finished | Failed
_ORDERS: tuple[type[Any], ...] = (StartRank, Join, Measure, Check, StartCopies, Copy, Finish, Abort)
_ANSWERS: tuple[type[Any], ...] = (Loaded, Joined, Measured, Checked, CopiesReady, Copied, Finished, Failed)
_TYPES = {kind.__name__: get_type_hints(kind) for kind in (*_ORDERS, *_ANSWERS)}


def line_of(message: Order | Answer) -> bytes:
    """The message as one line, its end included."""
    words: dict[str, object] = {"message": type(message).__name__}
    for field in fields(message):
        value = getattr(message, field.name)
        words[field.name] = value.value if isinstance(value, Enum) else value
    return json.dumps(words, separators=(",", ":")).encode("ascii") + b"\n"


def order_of(line: bytes) -> Order:
    """The order in a line. Raises ValueError."""
    found: Order = _read(line, _ORDERS)
    return found


def answer_of(line: bytes) -> Answer:
    """The answer in a line. Raises ValueError."""
    found: Answer = _read(line, _ANSWERS)
    return found


def _read(line: bytes, kinds: tuple[type[Any], ...]) -> Any:  # one of these kinds
    if len(line) > LINE_MAX_BYTES:
        raise ValueError(f"a message of {len(line)} bytes")
    try:
        words = json.loads(line)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is one
        raise ValueError(f"no JSON: {error}") from None
    kind = next((one for one in kinds if isinstance(words, dict) and words.get("message") == one.__name__), None)
    if kind is None:
        raise ValueError("no known message")
    wanted = _TYPES[kind.__name__]
    if words.keys() - {"message"} != wanted.keys():
        raise ValueError(f"{kind.__name__} with the fields {', '.join(sorted(map(str, words)))[:TEXT_MAX]}")
    return kind(**{name: _value(words[name], wanted[name], f"{kind.__name__}.{name}") for name in wanted})


def _value(value: object, wanted: Any, name: str) -> object:
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        try:
            return wanted(value)
        except ValueError:
            raise ValueError(f"{name}: {str(value)[:40]!r} is none of its values") from None
    if wanted in {bool, int, float, str}:
        if not _plain(value, wanted):
            raise ValueError(f"{name}: {str(value)[:40]!r} is no {wanted.__name__} within its bounds")
        return wanted(value)
    member = wanted.__args__[0]
    if not isinstance(value, list) or len(value) > LIST_MAX or not all(_plain(one, member) for one in value):
        raise ValueError(f"{name}: no list of {member.__name__}")
    return tuple(member(one) for one in value)


def _plain(value: object, wanted: type) -> bool:
    if wanted is str:
        return isinstance(value, str) and len(value) <= TEXT_MAX
    if wanted is bool or isinstance(value, bool):
        return wanted is bool and isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and abs(value) <= INTEGER_MAX
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) <= INTEGER_MAX
