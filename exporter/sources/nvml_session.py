"""What we ask of NVML, as a small face: values in, values out, NvmlError for what a call refuses. Knows NVML's numbers; imports no binding.

`exporter.sources.nvml.Pynvml` is the driver's library, `exporter.simulator.fake_nvml.FakeNvml` the shipped fake of the same shape. There is
no call here that sets, clears or resets anything. Names and numbers: nvml.h (API 13).
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from exporter.model.fault import Reason
from exporter.model.snapshot import Number

WHOLE_GPU = 0
"""Scope of a field that is about the GPU and not about one link. The sum over all links (scope 0xFFFFFFFF) is never asked for: its bit
error ratios have another value for "no error", and what it says with one link down is not documented."""

INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND = 2, 3, 4, 6, 13
DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, GPU_IS_LOST, VERSION_MISMATCH, UNKNOWN_ERROR = 9, 12, 15, 18, 999

_REASONS = {
    1: Reason.DRIVER,
    INVALID_ARGUMENT: Reason.UNSUPPORTED,  # a field or link that this driver or GPU does not have
    NOT_SUPPORTED: Reason.UNSUPPORTED,
    NO_PERMISSION: Reason.DENIED,
    NOT_FOUND: Reason.ABSENT,
    DRIVER_NOT_LOADED: Reason.ABSENT,
    10: Reason.TIMEOUT,
    LIBRARY_NOT_FOUND: Reason.ABSENT,
    FUNCTION_NOT_FOUND: Reason.UNSUPPORTED,
    GPU_IS_LOST: Reason.LOST,
    16: Reason.LOST,  # needs a reset before it answers again
    VERSION_MISMATCH: Reason.DRIVER,
    20: Reason.EXHAUSTED,
    23: Reason.EXHAUSTED,
    25: Reason.UNSUPPORTED,
    26: Reason.UNSUPPORTED,
    28: Reason.LOST,
    UNKNOWN_ERROR: Reason.UNKNOWN,
}
_WORDS = {
    1: "NVML is not initialised: the driver was unloaded",
    INVALID_ARGUMENT: "invalid argument",
    NOT_SUPPORTED: "not supported",
    NO_PERMISSION: "no permission; run as a user who may ask this",
    DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    10: "the driver gave up waiting for the GPU",
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not found; set sources.nvml.library, or mount the driver's libraries into the container",
    FUNCTION_NOT_FOUND: "this driver's library has no such call",
    GPU_IS_LOST: "the GPU is lost: it fell off the bus or needs a reset",
    16: "the GPU needs a reset",
    17: "the operating system refused",
    VERSION_MISMATCH: "library and kernel driver are of different versions: a driver was upgraded; it is tried again in a fresh process",
    20: "out of memory",
    23: "insufficient resources",
    25: "the driver does not know this version of the call",
    27: "not ready",
    UNKNOWN_ERROR: "unknown error; a container that lost its devices after a daemon-reload says so: restart it",
}

PROCESS_WIDE = frozenset({1, VERSION_MISMATCH})
"""Codes after which only a fresh process that loads the library anew may get an answer. UNKNOWN_ERROR is one only if every GPU says so:
one GPU that says so is sick, and costs the others nothing."""


def reason_of_code(code: int) -> Reason:
    """The Reason for an nvmlReturn; IO for those the table does not name."""
    return _REASONS.get(code, Reason.IO)


def words_of_code(code: int) -> str:
    """A line for a person on an nvmlReturn."""
    return _WORDS.get(code, f"NVML error {code}")


class NvmlError(Exception):
    """A call that gave no answer: its name and nvmlReturn."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call}: {words_of_code(code)}")
        self.call = call
        self.code = code

    @property
    def reason(self) -> Reason:
        """Why, in the house's words."""
        return reason_of_code(self.code)


class DeviceQuestion(Enum):
    """One number about a GPU."""

    MIG_MODE = "nvmlDeviceGetMigMode"
    """1 while the GPU is partitioned (MIG), else 0."""
    MINOR_NUMBER = "nvmlDeviceGetMinorNumber"
    """N of its device file /dev/nvidiaN."""
    BANDWIDTH_MODE = "nvmlDeviceGetNvlinkBwMode"
    """Blackwell and later: which of its bandwidth modes NVLink is set to."""


class LinkQuestion(Enum):
    """One number about a link by a call of its own, for drivers and GPUs that lack the field."""

    STATE = "state"
    VERSION = "version"
    REMOTE_TYPE = "remote_type"
    REPLAY = "replay"
    RECOVERY = "recovery"
    CRC_FLIT = "crc_flit"
    CRC_DATA = "crc_data"
    ECC_DATA = "ecc_data"


class GpuFacts(NamedTuple):
    """Who a GPU is. `pci` as sysfs writes it (`0000:18:00.0`); `module_id` its place on the board, None where the driver does not say."""

    uuid: str
    pci: str
    name: str
    module_id: int | None


class FabricFacts(NamedTuple):
    """What the GPU says of its place in an NVLink domain. `health_mask` and `summary` are None where the driver's answer lacks them."""

    state: int
    status: int
    cluster_uuid: str
    clique_id: int
    health_mask: int | None = None
    summary: int | None = None


class PlatformFacts(NamedTuple):
    """Where in a rack the GPU sits (nvmlPlatformInfo)."""

    chassis_serial: str
    slot: int
    tray: int
    host_id: int
    module_id: int
    peer_type: int


class Occupancy(NamedTuple):
    """Who uses a GPU now, and how much of it; each None where the driver does not say. `processes` compute or draw on it, as the driver
    counts them on the whole host; `memory_used_bytes` is without what the driver keeps for itself where it tells that apart; `utilisation`
    is that of its last sampling period (a sixth of a second to a second). `slowdown`: the hardware slows it down (heat, power brake).
    `recovery_action` as field 230 has it: 0 for none."""

    processes: int | None = None
    memory_used_bytes: int | None = None
    utilisation: float | None = None
    mig: bool | None = None
    compute_mode: int | None = None
    slowdown: bool | None = None
    recovery_action: int | None = None


class Answers(NamedTuple):
    """One number for each pair that was asked; `refused` says which of them (by position) carry no answer, with their nvmlReturn. A refused
    number is meaningless."""

    numbers: Sequence[Number]
    refused: Mapping[int, int]


class FieldBatch(Protocol):
    """Fields of one GPU that are asked for in one call, again and again."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(field id, scope) in order."""
        ...

    def read(self) -> Answers:
        """Ask. Raises NvmlError if the whole call failed."""
        ...


class Nvml(Protocol):
    """A session. GPUs are named by an index that is good until `close` only: it may change when one is lost. Every method may raise
    NvmlError; none changes anything on the GPU."""

    def open(self) -> None:
        """Load the library and attach."""
        ...

    def close(self) -> None:
        """Let go of every GPU. Never raises."""
        ...

    def driver_version(self) -> str:
        """`570.86.15`."""
        ...

    def gpu_count(self) -> int:
        """How many GPUs the driver shows."""
        ...

    def facts(self, gpu: int) -> GpuFacts:
        """Who it is."""
        ...

    def batch(self, gpu: int, pairs: Sequence[tuple[int, int]]) -> FieldBatch:
        """Prepare a field call. Asks nothing yet."""
        ...

    def ask(self, gpu: int, question: DeviceQuestion) -> int:
        """One number about the GPU."""
        ...

    def ask_link(self, gpu: int, link: int, question: LinkQuestion) -> int:
        """One number about one of its links."""
        ...

    def peer_pci(self, gpu: int, link: int) -> str:
        """PCI address of the link's far end as sysfs writes it; `ffffffff:ff:ff.0` where there is none to name."""
        ...

    def port_counters(self, gpu: int, wanted: Sequence[tuple[int, int]]) -> Answers:
        """Counters of the port's registers (PRM), each by (counter id, local port)."""
        ...

    def fabric(self, gpu: int) -> FabricFacts:
        """Its place in an NVLink domain."""
        ...

    def platform(self, gpu: int) -> PlatformFacts:
        """Its place in a rack."""
        ...

    def firmware(self, gpu: int) -> Sequence[tuple[str, str]]:
        """(part, version) of the NVLink firmware it runs."""
        ...

    def node_bandwidth_mode(self) -> int:
        """nvmlSystemGetNvlinkBwMode; root only."""
        ...

    def processes(self, gpu: int) -> Sequence[int]:
        """Ids of processes that compute on it, as the driver's own PID namespace numbers them."""
        ...

    def occupancy(self, gpu: int) -> Occupancy:
        """Who uses it; what cannot be told is None, and nothing is raised but for a GPU that does not answer at all."""
        ...

    def mig_uuids(self, gpu: int) -> Sequence[str]:
        """UUIDs of the MIG devices it is partitioned into now."""
        ...

    def watch_xids(self) -> None:
        """From now on keep Xid events of all GPUs for `xids`."""
        ...

    def xids(self) -> Sequence[tuple[int, int]]:
        """(GPU index, Xid) of each event since the last call; never waits."""
        ...
