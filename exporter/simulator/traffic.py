"""What the ports of a simulated node carry: seed and virtual time → totals since the node started. Pure and closed-form.

Totals are computed from the time itself, never added up, so one step or many give the same numbers. A training job talks in bursts (in
step on all rails, both ways) and writes a checkpoint to storage now and then; loading data is a trickle. Knows no file and no width.
"""

import zlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from math import inf, isinf

from exporter.simulator.hcas import Hca, Use

NS_PER_S = 1_000_000_000
PACKET_BYTES = 4096
"""Payload of a full packet at the usual path MTU."""
PACKETS_PER_ACK = 16
"""Acknowledgements are coalesced; one small packet back per so many."""
BYTES_PER_WAIT_TICK = 400_000
"""One 8-byte tick of stall per so many bytes sent, 0.002 % of the busy time: a healthy fabric; the 32-bit counter lasts for days."""
PACKETS_PER_CNP = 5_000
PACKETS_PER_ECN_MARK = 20_000
"""RoCE only, per packets sent: a storage port sends only while a checkpoint is written, and then the way is crowded both ways."""
BYTES_PER_REQUEST = 1 << 20
MULTICAST_EVERY_NS = 10 * NS_PER_S
SYMBOL_ERROR_EVERY_NS = 12 * 3600 * NS_PER_S
"""One symbol error in twelve hours; a bit error ratio of 1e-15 would be 17 at NDR (1e-15 × 4e11 bit/s × 43,200 s)."""


BURST_SPREAD = 1.07
"""How much longer than usual a burst may be, at most."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """Every `period_s` one burst of about `busy_s` at `load` of line rate, beginning at `begin_s` of the period.

    The volume varies by ±5 % for all ports of a node together and ±1 % for one port; the length varies with it.
    Raises ValueError where a burst might not end within its period or would exceed line rate.
    """

    period_s: float
    begin_s: float
    busy_s: float
    load: float

    def __post_init__(self) -> None:
        if not (self.begin_s >= 0 and self.busy_s > 0 and self.begin_s + self.busy_s * BURST_SPREAD <= self.period_s):
            raise ValueError(f"a burst of {self.busy_s:g} s from {self.begin_s:g} s on does not fit into {self.period_s:g} s")
        if not 0 < self.load <= 1:
            raise ValueError(f"load {self.load} is not a share of line rate")


@dataclass(frozen=True, slots=True)
class Flow:
    """Bursts in one direction of every port of one use, from one time to another; they keep the step of the node's whole life."""

    name: str
    use: Use
    bursts: Bursts
    transmits: bool
    begins_s: float = 0.0
    ends_s: float = inf


def training(
    step_s: float = 8, communication_s: float = 1.2, checkpoint_every_s: float = 1800, checkpoint_s: float = 60
) -> tuple[Flow, ...]:
    """A training job: gradients at the end of each step, a checkpoint at the end of each interval (asynchronous: steps go on)."""
    gradients = Bursts(step_s, step_s - 1.1 * communication_s, communication_s, 0.92)
    checkpoint = Bursts(checkpoint_every_s, checkpoint_every_s - 1.1 * checkpoint_s, checkpoint_s, 0.7)
    loading = Bursts(step_s, 0, step_s / 2, 0.04)
    return (
        Flow("gradients out", Use.COMPUTE, gradients, transmits=True),
        Flow("gradients in", Use.COMPUTE, gradients, transmits=False),
        Flow("checkpoint", Use.STORAGE, checkpoint, transmits=True),
        Flow("loading", Use.STORAGE, loading, transmits=False),
    )


TRAINING = training()


@dataclass(frozen=True, slots=True)
class PortTotals:
    """Counts of one port since the node started, in bytes, packets, ticks or events; integers that never fall."""

    transmitted_bytes: int
    received_bytes: int
    transmitted_packets: int
    received_packets: int
    multicast_packets: int
    wait_ticks: int
    symbol_errors: int
    write_requests: int
    ecn_marked: int
    cnp_sent: int
    cnp_handled: int


class PortTraffic:
    """What one port carries by these flows: totals as a function of time alone. Keeps what makes the next answer about the same
    burst cheap. Safe for several threads."""

    def __init__(self, hca: Hca, flows: tuple[Flow, ...], seed: int) -> None:
        courses = [(flow, _FlowCourse(flow, hca, seed)) for flow in flows if flow.use is hca.use]
        self._sending = _Courses(course for flow, course in courses if flow.transmits)
        self._receiving = _Courses(course for flow, course in courses if not flow.transmits)
        self._is_ethernet = hca.link_layer == "Ethernet"
        self._symbol_key = key_of(seed, hca.name, "symbol")

    def sent(self, elapsed_s: float) -> int:
        """Bytes sent after that time. Raises ValueError for a negative time."""
        return self._sending.bytes(nanoseconds(elapsed_s))

    def totals(self, elapsed_s: float) -> PortTotals:
        """All totals after that time, resolved to nanoseconds. Raises ValueError for a negative time."""
        now_ns = nanoseconds(elapsed_s)
        sent, received = self._sending.bytes(now_ns), self._receiving.bytes(now_ns)
        multicast = now_ns // MULTICAST_EVERY_NS
        data_out, data_in = sent // PACKET_BYTES, received // PACKET_BYTES
        marked = data_out // PACKETS_PER_ECN_MARK if self._is_ethernet else 0
        return PortTotals(
            transmitted_bytes=sent,
            received_bytes=received,
            transmitted_packets=data_out + data_in // PACKETS_PER_ACK + multicast,
            received_packets=data_in + data_out // PACKETS_PER_ACK + multicast,
            multicast_packets=multicast,
            wait_ticks=sent // BYTES_PER_WAIT_TICK,
            symbol_errors=rare(SYMBOL_ERROR_EVERY_NS, self._symbol_key, now_ns),
            write_requests=received // BYTES_PER_REQUEST,
            ecn_marked=marked,
            cnp_sent=marked // 2,
            cnp_handled=data_out // PACKETS_PER_CNP if self._is_ethernet else 0,
        )


def port_totals(hca: Hca, flows: tuple[Flow, ...], seed: int, elapsed_s: float) -> PortTotals:
    """Totals of the port of `hca` after `elapsed_s` of virtual time. Raises ValueError for a negative time."""
    return PortTraffic(hca, flows, seed).totals(elapsed_s)


def nanoseconds(elapsed_s: float) -> int:
    """Virtual time in whole nanoseconds. Raises ValueError for a negative time."""
    if elapsed_s < 0:
        raise ValueError(f"time since start cannot be negative: {elapsed_s}")
    return round(elapsed_s * NS_PER_S)


class _Courses:
    """All flows of one direction: those that are over are summed up once, those to come are not asked. A day has dozens."""

    __slots__ = ("_courses", "_over", "_over_ns")

    def __init__(self, courses: Iterable["_FlowCourse"]) -> None:
        self._courses = sorted(courses, key=lambda course: course.first_ns)
        self._over_ns = list(accumulate((inf if course.last_ns is None else course.last_ns for course in self._courses), max))
        """When the first so many are over."""
        self._over = list(accumulate((course.whole() for course in self._courses), initial=0))

    def bytes(self, now_ns: int) -> int:
        """Of all of them."""
        over = bisect_right(self._over_ns, now_ns)
        total = self._over[over]
        for course in self._courses[over:]:
            if course.first_ns >= now_ns:
                break
            total += course.bytes(now_ns)
        return total


class _FlowCourse:
    """One flow of one port along time, from `first_ns` to `last_ns` (None: without end)."""

    __slots__ = ("_begin_ns", "_bursts", "_keys", "_missed", "_period_ns", "_rate", "_share", "first_ns", "last_ns")

    def __init__(self, flow: Flow, hca: Hca, seed: int) -> None:
        bursts = flow.bursts
        self._period_ns, self._begin_ns = round(bursts.period_s * NS_PER_S), round(bursts.begin_s * NS_PER_S)
        self._rate = int(bursts.load * hca.line_bytes_per_s)
        self._share = int(self._rate * bursts.busy_s)
        self._keys = key_of(seed, "", flow.name), key_of(seed, hca.name, flow.name)
        self.first_ns = nanoseconds(flow.begins_s)
        self.last_ns = None if isinf(flow.ends_s) else nanoseconds(flow.ends_s)
        self._bursts = (-1, 0, 0)
        self._missed = self._carried(self.first_ns) if self.first_ns else 0

    def bytes(self, now_ns: int) -> int:
        """Bytes of all whole bursts so far and of the one under way, within the flow's time."""
        if now_ns <= self.first_ns:
            return 0
        return self._carried(now_ns if self.last_ns is None else min(now_ns, self.last_ns)) - self._missed

    def whole(self) -> int:
        """Bytes of all of its time; 0 for one without end, which is never over."""
        return 0 if self.last_ns is None else self.bytes(self.last_ns)

    def _carried(self, now_ns: int) -> int:
        index, phase_ns = divmod(now_ns, self._period_ns)
        known, before, after = self._bursts
        if known != index:
            before, after = self._before(index), self._before(index + 1)
            self._bursts = (index, before, after)
        busy_ns = phase_ns - self._begin_ns
        return min(before + self._rate * busy_ns // NS_PER_S, after) if busy_ns > 0 else before

    def _before(self, index: int) -> int:
        """Bytes of the first `index` bursts: an even share each, plus noise that depends on the index alone, so nothing is summed up.

        Successive values differ by the even share ±(5 + 1) % (noise lies within 0 … 1), hence always grow.
        """
        together, alone = self._keys
        return index * self._share + (self._share * (5 * noise(together, index) + noise(alone, index)) // 100 >> 32 if index else 0)


def rare(every_ns: int, key: int, now_ns: int) -> int:
    """How many there were of an event that comes once per interval, at a moment of its own within each."""
    index, phase_ns = divmod(now_ns, every_ns)
    return index + (phase_ns >= noise(key, index) * every_ns >> 32)


def key_of(seed: int, *names: str) -> int:
    """32 bits for a seed and what the noise is of."""
    return zlib.crc32("/".join(names).encode(), seed & 0xFFFFFFFF)


def noise(key: int, index: int) -> int:
    """32 even bits from key and index (splitmix64, Steele, Lea, Flood 2014: same on every machine and Python)."""
    mixed = (key << 32 ^ index) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ mixed >> 31) >> 32
