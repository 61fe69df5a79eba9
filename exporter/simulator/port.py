"""One port of a simulated node along virtual time: what each of its files says, by its traffic and by whatever befalls it.

Knows which file shows which number; what a fault of a name does to a port is faults/ports.py's. Every change carries its own time, so the
files depend on when things happened and never on when somebody looked.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from exporter.catalog.infiniband import CLAMPS
from exporter.model.quantity import BYTES_PER_IB_WORD, BYTES_PER_S_PER_GBIT
from exporter.simulator.counter_book import CounterBook, Moment, Ramps
from exporter.simulator.hcas import Hca
from exporter.simulator.layout import COUNTERS, hw_counters, port_folder
from exporter.simulator.mlx5_statistics import statistics, statistics_path, statistics_text
from exporter.simulator.port_traffic import Carriage, ChangingTraffic
from exporter.simulator.traffic import Flow, PortTotals

ACTIVE = ("4: ACTIVE", "5: LinkUp")
ETHTOOL = "ethtool/"
"""Before the name of a statistic of the driver's."""
_RATE_WHEN_DOWN = {"InfiniBand": "10 Gb/sec (4X SDR)", "Ethernet": "40 Gb/sec (4X QDR)"}
"""What mlx5 prints for a port that is down (linux-rdma/rdma-core#847)."""
_AT_START = {"carrier_changes": 2, "carrier_up_count": 1, "carrier_down_count": 1}
"""Of the interface (netdevs.py)."""


class Change(NamedTuple):
    """What one fault does to a port while it lasts. `state`: texts of `state` and `phys_state`, None if it stays up; `rate`: text of
    `rate`, "" if it stays as built; `slowness`: how many times longer bursts take; `ramps`: what happens to counters, by name."""

    state: tuple[str, str] | None = None
    rate: str = ""
    slowness: float = 1.0
    ramps: Ramps = Ramps()


class Port:
    """The only port of an HCA. `names` are its counters: `counters/…`, `hw_counters/…` and, on Ethernet, `ethtool/…`."""

    def __init__(self, hca: Hca, flows: tuple[Flow, ...], seed: int) -> None:
        self.hca = hca
        self._folder = port_folder(hca)
        self._netdev = f"{self._folder.partition('/infiniband/')[0]}/net/{hca.netdev}"
        self._is_ethernet = hca.link_layer == "Ethernet"
        statistics_now = [ETHTOOL + name for name, _ in statistics(hca, ChangingTraffic(hca, (), seed).totals(0.0), 0.0)]
        self.names = frozenset(
            [*(f"counters/{name}" for name in COUNTERS), *(f"hw_counters/{name}" for name in hw_counters(hca))]
            + (statistics_now if self._is_ethernet else [])
        )
        self._traffic = ChangingTraffic(hca, flows, seed)
        self._book = CounterBook()
        self._changes: dict[object, Change] = {}
        self._carrier = dict(_AT_START)
        self._paths = {name: f"{self._folder}/{name}" for name in self.names if not name.startswith(ETHTOOL)}
        self._shown = dict.fromkeys(self._paths.values(), 0)
        self._said: dict[str, bytes] = {}
        self._is_changed = False

    @property
    def rate(self) -> str:
        """The rate it trained at."""
        return next((change.rate for change in reversed(self._changes.values()) if change.rate), self.hca.rate)

    @property
    def state(self) -> tuple[str, str]:
        """Texts of `state` and `phys_state`."""
        return next((change.state for change in reversed(self._changes.values()) if change.state is not None), ACTIVE)

    @property
    def line_bytes_per_s(self) -> float:
        """Data bytes per second that one direction can carry at that rate."""
        return float(self.rate.split()[0]) * BYTES_PER_S_PER_GBIT

    def begin(self, key: object, change: Change, elapsed_s: float) -> None:
        """Something befalls the port at that time, until `end` of the same key."""
        self._turn({**self._changes, key: change}, elapsed_s)

    def end(self, key: object, elapsed_s: float) -> None:
        """It is over; what was counted stays. Nothing happens for a key that never began."""
        self._turn({known: change for known, change in self._changes.items() if known != key}, elapsed_s)

    def put(self, name: str, value: int, elapsed_s: float) -> None:
        """A counter says this now and goes on from there."""
        totals = self._traffic.totals(elapsed_s)
        raw = self._raw(totals, elapsed_s) | self._statistics(totals, elapsed_s)
        self._book.put(name, value, raw.get(name, 0), Moment(elapsed_s, totals.received_packets))

    def restart(self, elapsed_s: float) -> None:
        """The device starts anew: every counter at 0. All files are written at the next look, for nobody knows what they say."""
        totals = self._traffic.totals(elapsed_s)
        raw = self._raw(totals, elapsed_s) | self._statistics(totals, elapsed_s)
        for name in self.names:
            self._book.put(name, 0, raw.get(name, 0), Moment(elapsed_s, totals.received_packets))
        self._carrier = dict(_AT_START)
        self._shown = dict.fromkeys(self._shown, -1)
        self._said = {}
        self._is_changed = True

    def changes(self, elapsed_s: float) -> Iterator[tuple[str, bytes]]:
        """Path and new text of each file that says something else than at the last look."""
        totals = self._traffic.totals(elapsed_s)
        now = Moment(elapsed_s, totals.received_packets)
        raw, meddled = self._raw(totals, elapsed_s), self._book.names
        yield from self._moved(raw.keys() | meddled if meddled else raw, raw, now)
        yield from self._said_anew(totals, now, meddled)

    def bytes_at(self, elapsed_s: float) -> Iterator[tuple[str, bytes]]:
        """The same of the two byte counters alone."""
        totals = self._traffic.totals(elapsed_s)
        raw = _byte_counters(totals)
        yield from self._moved(raw, raw, Moment(elapsed_s, totals.received_packets))

    def _moved(self, names: Iterable[str], raw: Mapping[str, int], now: Moment) -> Iterator[tuple[str, bytes]]:
        """Path and new text of each of these counters that says something else than at the last look; `raw` is without any fault."""
        book, shown, paths, meddled = self._book, self._shown, self._paths, self._book.names
        for name in names:
            path = paths.get(name)
            if path is None:
                continue
            number = raw.get(name, 0)
            if name in meddled:
                number = book.value(name, number, now)
            number = min(number, CLAMPS.get(name.removeprefix("counters/"), number))
            if shown[path] != number:
                shown[path] = number
                yield path, b"%d\n" % number

    def forget(self, path: str) -> None:
        """Somebody else wrote that file: write it again at the next look."""
        if path in self._shown:
            self._shown[path] = -1
        self._said.pop(path, None)
        self._is_changed = True

    def _said_anew(self, totals: PortTotals, now: Moment, meddled: frozenset[str]) -> Iterator[tuple[str, bytes]]:
        texts: dict[str, bytes] = {}
        if self._is_ethernet:
            raw = statistics(self.hca, totals, now.elapsed_s)
            pairs = ((name, self._book.value(ETHTOOL + name, number, now)) for name, number in raw) if meddled else raw
            texts[statistics_path(self.hca)] = statistics_text(pairs)
        if self._is_changed:
            self._is_changed = False
            texts |= self._texts()
        for path, text in texts.items():
            if self._said.get(path) != text:
                self._said[path] = text
                yield path, text

    def _texts(self) -> Mapping[str, bytes]:
        """Files that say how the link is."""
        (state, physical), is_up = self.state, self.state == ACTIVE
        rate = self.rate if is_up else _RATE_WHEN_DOWN[self.hca.link_layer]
        texts = {f"{self._folder}/{name}": text for name, text in (("state", state), ("phys_state", physical), ("rate", rate))}
        netdev: dict[str, object] = {
            "operstate": "up" if is_up else "down",
            "carrier": int(is_up),
            "speed": int(self.line_bytes_per_s * 1000 // BYTES_PER_S_PER_GBIT) if is_up else -1,
            **self._carrier,
        }
        texts |= {f"{self._netdev}/{name}": str(value) for name, value in netdev.items()}
        return {path: f"{text}\n".encode() for path, text in texts.items()}

    def _turn(self, changes: dict[object, Change], elapsed_s: float) -> None:
        totals = self._traffic.totals(elapsed_s)
        now = Moment(elapsed_s, totals.received_packets)
        was_up = self.state == ACTIVE
        self._changes = changes
        is_up = self.state == ACTIVE
        self._book.turn(_together([change.ramps for change in changes.values()]),
                        self._raw(totals, elapsed_s) | self._statistics(totals, elapsed_s), now)  # fmt: skip
        slowness = max((change.slowness for change in changes.values()), default=1.0)
        self._traffic.turn(Carriage(is_up, self.line_bytes_per_s / self.hca.line_bytes_per_s, slowness), elapsed_s)
        if was_up != is_up:
            self._count_edge(went_down=was_up)
        self._is_changed = True

    def _count_edge(self, *, went_down: bool) -> None:
        self._carrier["carrier_changes"] += 1
        self._carrier["carrier_down_count" if went_down else "carrier_up_count"] += 1
        if went_down:
            self._book.add("counters/link_downed", 1)
            self._book.add(ETHTOOL + "link_down_events_phy", 1)

    def _raw(self, totals: PortTotals, elapsed_s: float) -> dict[str, int]:  # noqa: ARG002  # the shape of _statistics
        """Each file that traffic moves and its number without any fault."""
        found = {
            **_byte_counters(totals),
            "counters/port_xmit_packets": totals.transmitted_packets,
            "counters/port_rcv_packets": totals.received_packets,
            "counters/unicast_xmit_packets": totals.transmitted_packets - totals.multicast_packets,
            "counters/unicast_rcv_packets": totals.received_packets - totals.multicast_packets,
            "counters/multicast_xmit_packets": totals.multicast_packets,
            "counters/multicast_rcv_packets": totals.multicast_packets,
            "counters/port_xmit_wait": totals.wait_ticks,
            "counters/symbol_error": totals.symbol_errors,
            "hw_counters/rx_write_requests": totals.write_requests,
        }
        if self._is_ethernet:
            found["hw_counters/np_ecn_marked_roce_packets"] = totals.ecn_marked
            found["hw_counters/np_cnp_sent"] = totals.cnp_sent
            found["hw_counters/rp_cnp_handled"] = totals.cnp_handled
        return found

    def _statistics(self, totals: PortTotals, elapsed_s: float) -> dict[str, int]:
        return {ETHTOOL + name: number for name, number in statistics(self.hca, totals, elapsed_s)} if self._is_ethernet else {}


def _byte_counters(totals: PortTotals) -> dict[str, int]:
    return {
        "counters/port_xmit_data": totals.transmitted_bytes // BYTES_PER_IB_WORD,
        "counters/port_rcv_data": totals.received_bytes // BYTES_PER_IB_WORD,
    }


def _together(ramps: list[Ramps]) -> Ramps:
    """What all of them do: growth adds up, the last one that pins a counter counts."""
    per_second: dict[str, float] = {}
    per_packet: dict[str, float] = {}
    pinned: dict[str, int] = {}
    for one in ramps:
        for name, rate in one.per_second.items():
            per_second[name] = per_second.get(name, 0.0) + rate
        for name, rate in one.per_packet.items():
            per_packet[name] = per_packet.get(name, 0.0) + rate
        pinned |= one.pinned
    return Ramps(per_second, per_packet, pinned)
