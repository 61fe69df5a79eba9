"""What NCCL said it does, as values: network, GPUDirect RDMA, peer-to-peer, algorithms; and which reasons of failure follow. Reads no text.

nccl_log.py reads NCCL's log into these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.probes.collectives import BLOCKWISE, Collective
from exporter.probes.reasons import Failure

SOCKET = "Socket"
"""NCCL's name of its TCP transport; any other network is RDMA or a vendor's plugin."""
_FUNCTIONS = {
    Collective.ALL_REDUCE: "AllReduce", Collective.ALL_GATHER: "AllGather", Collective.REDUCE_SCATTER: "ReduceScatter",
    Collective.BROADCAST: "Broadcast",
}  # fmt: skip
"""NCCL tunes these; sends, receives and the all-to-all made of them always go straight."""


class Choice(NamedTuple):
    """What NCCL chose for one call. `function` is AllReduce and the like, "" up to 2.23, where the line does not say. `size_bytes` is as
    NCCL counts it: for all-gather and reduce-scatter the block of one rank since the function is named. `channels` is None if not said."""

    function: str
    size_bytes: int
    algorithm: str
    protocol: str
    channels: int | None


class InitTiming(NamedTuple):
    """How long one rank took to come together with the others, and the parts of it by NCCL's names (bootstrap, topo, …). Seconds."""

    rank: int
    ranks: int
    total_s: float
    parts_s: Mapping[str, float]


class SpeedChange(NamedTuple):
    """NCCL saw the rate of an HCA's port change while it ran; Mbit/s as NCCL has them, `after_mbit_per_s` None if it could not tell."""

    device: str
    port: int
    before_mbit_per_s: int
    after_mbit_per_s: int | None


@dataclass(frozen=True, slots=True)
class NcclWords:
    """All that one log said. Channels are counted as NCCL names them, in both directions.

    `networks` in order of choice; more than one means that ranks differ, which hangs them (NVIDIA/nccl#234). `hcas` are device:port.
    `saw_no_hca`: NCCL looked for HCAs and found none. `p2p` maps NCCL's kinds (CUMEM, IPC, direct pointer, indirect, MNNVL) to channels.
    `warnings` are the first ones, without their prefix; `failures` what they mean, in the order in which they came, so the cause first."""

    versions: Sequence[str] = ()
    networks: Sequence[str] = ()
    bootstrap_interfaces: Sequence[str] = ()
    hcas: Sequence[str] = ()
    saw_no_hca: bool = False
    net_channels: int = 0
    gdr_channels: int = 0
    shm_channels: int = 0
    p2p: Mapping[str, int] = field(default_factory=dict)
    choices: Sequence[Choice] = ()
    inits: Sequence[InitTiming] = ()
    ranks_ready: int = 0
    async_events: Sequence[str] = ()
    speed_changes: Sequence[SpeedChange] = ()
    warnings: Sequence[str] = ()
    failures: Sequence[Failure] = ()

    @property
    def network(self) -> str:
        """IB, Socket or a plugin's name; "" if NCCL did not say, as where it needed none."""
        return self.networks[0] if self.networks else ""

    @property
    def has_gdr(self) -> bool | None:
        """Whether any network channel reads or writes GPU memory directly; None if there is no channel over a network that could. In one
        direction only is usual where GPUs are not linked by NVLink (NCCL_NET_GDR_READ; NVIDIA/nccl#392)."""
        return self.gdr_channels > 0 if self.net_channels and self.network != SOCKET else None

    def choice(self, collective: Collective, size_bytes: int, ranks: int) -> Choice | None:
        """What NCCL chose for a collective of this whole size; None if it did not say, or does not choose."""
        function = _FUNCTIONS.get(collective)
        if function is None:
            return None
        block = size_bytes // ranks if collective in BLOCKWISE and collective is not Collective.ALL_TO_ALL else size_bytes
        sought = ((function, block), ("", size_bytes))
        return next((one for one in self.choices if (one.function, one.size_bytes) in sought), None)


def reasons(words: NcclWords, active_hcas: int) -> tuple[Failure, ...]:
    """Why the run failed or is slow, the cause first: what warnings mean, then what NCCL did without though this node has it.
    `active_hcas` are the ports that sysfs calls ACTIVE: without any, TCP is no fall-back (NVIDIA/nccl#451)."""
    found = list(words.failures)
    if active_hcas > 0 and words.network == SOCKET:
        found.append(Failure.NET_FALLBACK_SOCKET)
    if words.has_gdr is False:
        found.append(Failure.GDR_OFF)
    return tuple(dict.fromkeys(found))
