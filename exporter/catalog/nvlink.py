"""Rows of NVLink links as NVML shows them, one link of one GPU each. Data, no behaviour.

`device` is the GPU, `port` the link's index on it. `raw` names the NVML field ids (nvml.h, NVML_FI_DEV_…) or the call; which GPU answers
which is found out by asking (nvlink_fields.py). Counters are the driver's own: they start anew at a reboot and at a GPU reset. Switches'
counters are not in NVML: what a switch port sends and drops is not to be seen from a node.
"""

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit

LINK = ("device", "port")
NAME = "fabric_nvlink_"
UNSUPPORTED = "this GPU or driver does not count it"
BLACKWELL = "only Blackwell and later count it"


def _counter(key: str, name: str, unit: Unit, raw: str, help_text: str, tier: Tier = Tier.STANDARD, role: Role | None = None,
             labels: tuple[str, ...] = (), cadence: Cadence = Cadence.NORMAL, absent: str = UNSUPPORTED,
             scale: float = 1) -> Metric:  # fmt: skip
    return Metric("nvlink_" + key, f"{NAME}{name}_total", Kind.COUNTER, unit, (*LINK, *labels), help_text, tier, raw, scale, role, cadence,
                  absent)  # fmt: skip


def _gauge(key: str, name: str, unit: Unit, raw: str, help_text: str, tier: Tier = Tier.STANDARD, role: Role | None = None,
           labels: tuple[str, ...] = (), cadence: Cadence = Cadence.NORMAL, absent: str = UNSUPPORTED,
           scale: float = 1) -> Metric:  # fmt: skip
    return Metric("nvlink_" + key, NAME + name, Kind.GAUGE, unit, (*LINK, *labels), help_text, tier, raw, scale, role, cadence, absent)


_NO_BYTES = "the link is not active (asking about it would spoil the answer of its neighbours), or the GPU does not count (V100)"
TRANSMITTED = _counter("transmitted", "transmit_bytes", Unit.BYTES, "fields 202 (bytes), 138 (KiB)",
    "Payload bytes sent over the link since the driver was loaded or the GPU reset.", Tier.BASIC, Role.TX_BYTES, cadence=Cadence.FAST,
    absent=_NO_BYTES)  # fmt: skip
RECEIVED = _counter("received", "receive_bytes", Unit.BYTES, "fields 204 (bytes), 139 (KiB)",
    "Payload bytes received over the link since the driver was loaded or the GPU reset.", Tier.BASIC, Role.RX_BYTES,
    cadence=Cadence.FAST, absent=_NO_BYTES)  # fmt: skip
STATE = _gauge("state", "state_id", Unit.STATE, "field 165, nvmlDeviceGetNvLinkState",
    "State of the link (0 inactive, 1 active, 2 asleep to save power, 3 active with its traffic disabled).", Tier.BASIC, Role.STATE,
    cadence=Cadence.FAST, absent="the GPU has no such link, or did not answer")  # fmt: skip
PRESENCE = _gauge("presence", "presence_id", Unit.STATE, "",
    "What a link that is not active is: 0 nobody knows whether it should be, 2 asleep, 3 traffic disabled, 4 down (it is expected), "
    "5 never wired, 6 hidden by MIG.", Tier.BASIC, Role.PRESENCE, cadence=Cadence.FAST, absent="the link is active")  # fmt: skip

ERRORS = _counter("errors", "errors", Unit.COUNT, "fields 161 163, 206-212 219 221, error counter call",
    "Errors that this end of the link saw, by kind (crc and replay before Blackwell, packet and symbol kinds from there on).",
    role=Role.ERRORS, labels=("kind",))  # fmt: skip
RECOVERIES = _counter("recoveries", "recoveries", Unit.COUNT, "fields 162, 213-215",
    "Times the link retrained: result any is all of them; Blackwell and later also tell successful from failed.",
    role=Role.RECOVERIES, labels=("result",))  # fmt: skip
TRANSMIT_WAIT = _counter("transmit_wait", "transmit_wait_ticks", Unit.TICKS, "PRM counter 201",
    "Ticks in which the link had data to send and sent none; the length of a tick is not documented.", role=Role.STALL,
    absent=BLACKWELL + ", and the driver may refuse to tell an ordinary user")  # fmt: skip
LINK_DOWNS = _counter("downs", "link_downed", Unit.COUNT, "PRM counter 1",
    "Times the link went down, by the port's own register.", role=Role.LINK_DOWNS,
    absent=BLACKWELL + ", and the driver may refuse to tell an ordinary user")  # fmt: skip
BLOCKS = _counter("blocks", "blocks_transmitted", Unit.COUNT, "field 294",
    "Blocks sent by the layer that repeats what the far end did not get (PLR), repeated ones included.", absent=BLACKWELL)  # fmt: skip
BLOCKS_REPEATED = _counter("blocks_repeated", "blocks_retransmitted", Unit.COUNT, "field 295",
    "Blocks sent again because the far end did not get them (PLR).", role=Role.RETRIES, absent=BLACKWELL)  # fmt: skip
BIT_ERROR_RATIO = _gauge("bit_error_ratio", "bit_error_ratio", Unit.RATIO, "fields 220 222 291-293",
    "Errors per bit as the driver states them: effective (after FEC), symbol, raw (before FEC); 0 where it states that there were none.",
    labels=("kind",), absent=BLACKWELL)  # fmt: skip
RATE = _gauge("rate", "signalling_rate_bytes_per_second", Unit.BYTES_PER_SECOND, "field 164 (MB/s)",
    "Rate of the link's symbols in one direction, in bytes per second: what it trained at, not what it can carry (25, 25, 50 GB/s of "
    "25.8, 26.6, 53.1).", Tier.FULL, role=Role.SIGNALLING_RATE, absent="the link is not active", scale=1e6)  # fmt: skip
POWER_STATE = _gauge("power_state", "power_state_id", Unit.STATE, "field 167",
    "Power state of the link (0 full speed, 1 low: idle saving, no fault).", Tier.FULL, Role.POWER_STATE,
    absent="the link is not active")  # fmt: skip
INFO = Metric("nvlink_info", NAME + "info", Kind.INFO, Unit.COUNT, (*LINK, "peer_type", "peer_pci", "peer_port", "version"),
    "The link's far end (gpu, switch, ibmnpu), its PCI address and the port there, and the version of NVLink; a label is empty where the "
    "driver does not say. Value is always 1.", Tier.STANDARD, "field 146 166, remote type and PCI calls", cadence=Cadence.SLOW,
    absent="the link is not active: a port that leads nowhere has no far end")  # fmt: skip

PACKETS_TRANSMITTED = _counter("packets_transmitted", "transmit_packets", Unit.COUNT, "field 201", "Packets sent over the link.",
    Tier.FULL, Role.TX_PACKETS, absent=BLACKWELL)  # fmt: skip
PACKETS_RECEIVED = _counter("packets_received", "receive_packets", Unit.COUNT, "field 203", "Packets received over the link.",
    Tier.FULL, Role.RX_PACKETS, absent=BLACKWELL)  # fmt: skip
FEC = _counter("fec", "fec_codewords", Unit.COUNT, "fields 235-250",
    "Codewords by how many symbols FEC had to correct in them; nearly all in bin 0, a trickle in 1 and 2, none above is healthy.",
    Tier.FULL, Role.CORRECTED_BITS, labels=("bin",), absent=BLACKWELL + "; read only while the full tier is configured")  # fmt: skip
RAW_ERRORS = _counter("raw_errors", "raw_errors", Unit.COUNT, "fields 289 290", "Bit errors before FEC, by lane of the link.", Tier.FULL,
    labels=("lane",), absent="only the newest drivers count it")  # fmt: skip
REGISTER_EVENTS = _counter("register_events", "register_events", Unit.COUNT, "PRM counters",
    "The port's recovery and repetition registers that only grow, by the driver's name; times are in units that are not documented.",
    Tier.FULL, labels=("event",), absent=BLACKWELL)  # fmt: skip
REGISTER_LEVELS = _gauge("register_levels", "register_level", Unit.COUNT, "PRM counters",
    "The port's registers about its last recovery, by the driver's name; units are not documented.", Tier.FULL, labels=("name",),
    absent=BLACKWELL)  # fmt: skip
DATA_RATE = _gauge("data_rate", "data_rate_raw", Unit.COUNT, "field 296",
    "What the driver calls the data rate after FEC overhead, in its own unit, which is not documented.", Tier.FULL, cadence=Cadence.SLOW,
    absent="only the newest drivers say so")  # fmt: skip

ROWS = (STATE, PRESENCE, TRANSMITTED, RECEIVED, ERRORS, RECOVERIES, TRANSMIT_WAIT, LINK_DOWNS, BLOCKS, BLOCKS_REPEATED, BIT_ERROR_RATIO,
        RATE, POWER_STATE, INFO, PACKETS_TRANSMITTED, PACKETS_RECEIVED, FEC, RAW_ERRORS, REGISTER_EVENTS, REGISTER_LEVELS,
        DATA_RATE)  # fmt: skip

ACTIVE, ASLEEP, TRAFFIC_DISABLED = 1, 2, 3
"""Values of STATE besides 0 (nvml.h: NVML_NVLINK_STATE_…)."""
PRESENCE_UNKNOWN, PRESENCE_DOWN, PRESENCE_UNWIRED, PRESENCE_MIG = 0, 4, 5, 6
"""Values of PRESENCE besides those it shares with STATE."""
PEER_TYPES = {0: "gpu", 1: "ibmnpu", 2: "switch"}
"""nvmlIntNvLinkDeviceType_t; 0xFF is unknown."""
VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
"""nvmlNvlinkVersion_t is an enumeration, not the version (an RTX 3090 says 5 and means 3.1: Syllo/nvtop#469)."""
