"""A Metric is one row of the catalogue: the only place where a metric's name, unit, labels and help are spelt.

Knows the naming rules of Prometheus and of ../shared names (unit suffix, `_total`, entity labels). Knows no metric and no hardware.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum

PREFIX = "fabric_"
ENTITY_LABELS = ("fabric", "device", "port")
"""Labels an Entity supplies; every other label of a row takes its value from the SeriesKey, in the row's order."""

BUCKET, SUM, OBSERVATIONS = "le", "sum", "count"
"""Label of a histogram's bucket, and its other two parts."""
RESERVED_LABELS = frozenset({"job", "instance", "namespace", "pod", "container", "node", "quantile", BUCKET, "__name__"})
"""Labels that Prometheus or the scrape configuration own; ours would come out as `exported_*` (NVIDIA/gpu-operator#2938)."""


class Kind(Enum):
    """Prometheus type of a row. INFO is a gauge that is always 1 and carries slow text in labels. A HISTOGRAM's series end their key in a
    part: SUM, OBSERVATIONS, or the upper bound of a bucket, which counts all below it as well (the last one is `+Inf`)."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"
    HISTOGRAM = "histogram"

    @property
    def exposed_type(self) -> str:
        """The word after `# TYPE name` in text format 0.0.4, which knows no info type."""
        return "gauge" if self is Kind.INFO else self.value


class Unit(Enum):
    """Base unit of a row; the value is the suffix its public name must carry (before `_total`), empty where a bare count needs none."""

    COUNT = ""
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    SECONDS = "seconds"
    TIMESTAMP = "timestamp_seconds"
    RATIO = "ratio"
    LANES = "lanes"
    TRANSFERS_PER_SECOND = "transfers_per_second"
    TICKS = "ticks"
    STATE = "id"


class Tier(IntEnum):
    """How many series a site wants; a tier holds all before it. STANDARD is the default."""

    AGGREGATE = 0
    BASIC = 1
    STANDARD = 2
    FULL = 3


class Cadence(StrEnum):
    """How often a row's raw number is read: FAST (state, bytes, stall), NORMAL (errors, hardware counters), SLOW (identity)."""

    FAST = "fast"
    NORMAL = "normal"
    SLOW = "slow"

    __hash__ = str.__hash__
    """Enum's own is Python code; this one is hashed hundreds of times a pass, as a key and within a Feed."""


class Role(Enum):
    """What a number means to the rules, whatever its vendor calls it. Signals ask an entity for roles, never for names."""

    __hash__ = object.__hash__
    """Enum's own is Python code; members are single objects, and a key of many look-ups in each pass."""

    TX_BYTES = "tx_bytes"
    RX_BYTES = "rx_bytes"
    TX_BYTES_64 = "tx_bytes_64"
    """64-bit twin of TX_BYTES; better wherever it is present."""
    RX_BYTES_64 = "rx_bytes_64"
    TX_PACKETS = "tx_packets"
    RX_PACKETS = "rx_packets"
    STALL = "stall"
    """Ticks with data to send and nothing sent."""
    STATE = "state"
    PHYSICAL_STATE = "physical_state"
    CAPACITY = "capacity"
    """Data bytes per second the link can carry now."""
    SIGNALLING_RATE = "signalling_rate"
    """Rate of a link's symbols: tells how it trained, not what it carries."""
    POWER_STATE = "power_state"
    """0 at full speed; anything else is saving power, not a fault."""
    XIDS = "xids"
    """The driver's own reports of errors, by number."""
    PRESENCE = "presence"
    """What an NVLink that is not active is: catalog/nvlink.py."""
    EXPECTED_LANE_RATE = "expected_lane_rate"
    EXPECTED_WIDTH = "expected_width"
    WIDTH = "width"
    LANE_RATE = "lane_rate"
    SYMBOL_ERRORS = "symbol_errors"
    ERRORS = "errors"
    """Errors seen by this end of the link."""
    REMOTE_ERRORS = "remote_errors"
    """Errors that happened farther away and were only forwarded; alone they do not accuse this cable."""
    DISCARDS = "discards"
    RECOVERIES = "recoveries"
    LINK_DOWNS = "link_downs"
    OVERRUNS = "overruns"
    SATURATED = "saturated"
    RETRIES = "retries"
    RETRIES_EXCEEDED = "retries_exceeded"
    ECN_MARKED = "ecn_marked"
    CNP_SENT = "cnp_sent"
    CNP_HANDLED = "cnp_handled"
    CNP_IGNORED = "cnp_ignored"
    PAUSE = "pause"
    """Seconds in which the link was told (receive) or told its peer (transmit) to send nothing, by priority."""
    PAUSE_FRAMES = "pause_frames"
    PAUSE_STORMS = "pause_storms"
    HOST_ECN_MARKED = "host_ecn_marked"
    """Packets that the NIC itself marked because its host was slow; ECN_MARKED are those that the network marked."""
    HOST_STALL = "host_stall"
    """Share of time in which the NIC waited for PCIe."""
    CORRECTED_BITS = "corrected_bits"
    """Bits in error before FEC mended them."""
    LINE_CAPACITY = "line_capacity"
    """Bytes the line could have carried: what bit errors are divided by."""
    CARRIER = "carrier"
    """1 while the interface has carrier, else 0; STATE is an RDMA port's."""
    CARRIER_CHANGES = "carrier_changes"
    CARRIER_DOWNS = "carrier_downs"
    LINK_LAYER = "link_layer"
    """Only expected: the fabric of a link says which one it has (model/expected_ports.py)."""
    SPEED = "speed"
    """Bytes per second by the interface's driver: CAPACITY of a link whose RDMA device does not state it."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the catalogue.

    `labels` is the full label set; those in ENTITY_LABELS come from the entity, the rest from the SeriesKey.
    `raw` says where the number is found (a path below the port or device, a field id); empty for what we compute.
    `scale` turns the raw number into base units; applied once, by the source. `absent` says what a missing series means.
    `captured` is False for a row that no machine fixture can produce yet. Raises ValueError for a name that breaks the rules.
    """

    key: str
    name: str
    kind: Kind
    unit: Unit
    labels: tuple[str, ...]
    help: str
    tier: Tier
    raw: str = ""
    scale: float = 1
    role: Role | None = None
    cadence: Cadence = Cadence.NORMAL
    absent: str = ""
    captured: bool = True
    nvlink_tier: Tier | None = None
    """Tier of an NVLink's series, where a hundred links and more make a row too wide for the tier of ports."""
    sick_tier: Tier | None = None
    """Tier in which a series whose value is above 0 is shown already."""

    def __post_init__(self) -> None:
        problem = _name_problem(self)
        if problem:
            raise ValueError(f"metric row {self.key}: {problem}")

    @property
    def own_labels(self) -> tuple[str, ...]:
        """Labels whose values stand in the SeriesKey, in order; of a histogram the part last."""
        of_entity = ENTITY_LABELS if "device" in self.labels else ()  # a node counts its links by fabric: then that is no link's label
        own = tuple(label for label in self.labels if label not in of_entity)
        return (*own, BUCKET) if self.kind is Kind.HISTOGRAM else own


def _name_problem(row: Metric) -> str | None:
    """Why this row's name, help or labels break the rules of interface.md and prometheus.io, or None."""
    stem = row.name.removesuffix("_total") if row.kind is Kind.COUNTER else row.name
    if not row.name.startswith(PREFIX):
        return f"name {row.name} must start with {PREFIX}"
    if (row.kind is Kind.COUNTER) != row.name.endswith("_total"):
        return f"name {row.name}: exactly the counters end in _total"
    if (row.kind is Kind.INFO) != row.name.endswith("_info"):
        return f"name {row.name}: exactly the info rows end in _info"
    if row.unit.value and not stem.endswith("_" + row.unit.value):
        return f"name {row.name} must carry its unit {row.unit.value}"
    if not row.help or row.help != row.help.strip() or "\n" in row.help:
        return "help must be one line of text"
    if set(row.labels) & RESERVED_LABELS:
        return f"labels {sorted(set(row.labels) & RESERVED_LABELS)} belong to Prometheus or the scrape configuration"
    if len(set(row.labels)) != len(row.labels):
        return "a label stands twice"
    return None
