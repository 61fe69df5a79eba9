"""The burst sampler: reads the byte counters of every port many times a second in a thread of its own, and folds them on the spot.

Knows when to read, how to be gentle and what to do about a read that does not come back; what the numbers mean is signals/bursts.py's.
It backs off while its reads take more than a fifth of the time: nobody has measured what firmware pays for them on a busy node. A port
whose read hangs keeps its thread until the kernel lets go, and another thread samples the rest.
"""

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import median

from exporter.model.entity import Link
from exporter.runtime.clock import Clock
from exporter.signals.bursts import Course, Direction, Histogram
from exporter.sources.port_bytes import PortBytes

log = logging.getLogger("fabric_exporter.bursts")
DUTY_MAX, DUTY_LOW = 0.2, 0.05
"""Share of the time that passes may take before they come half as often, and below which they come twice as often again, at most as often
as configured [D]."""
JUDGED_PASSES = 20
"""Passes whose median says how long one takes: one that was disturbed does not count."""
PERIOD_MAX_S = 1.6
REST_S = 15.0
"""A port whose counter refuses is left alone for so long: a driver that answers EINVAL writes the kernel log at each read."""
STUCK_S = 2.0
"""A read that has not come back for so long hangs."""


class Sampled:
    """One port: its counters, both directions folded, and what failed last (None if nothing did)."""

    def __init__(self, port: PortBytes) -> None:
        self.port = port
        self.transmit, self.receive = Direction(), Direction()
        self.lock = threading.Lock()
        self.error: OSError | None = None
        self.rests_until_s = float("-inf")

    def read(self, now_s: float, period_s: float) -> None:
        """One sample. A read that fails tells nothing, the port rests, and what comes after that begins anew."""
        if now_s < self.rests_until_s:
            return
        try:
            seen = self.port.read()
            self.error = None
        except OSError as error:
            seen, self.error = None, error
            self.rests_until_s = now_s + REST_S
        with self.lock:
            if seen is None:
                self.transmit.forget()
                self.receive.forget()
            else:
                self.transmit.add(seen.transmitted, seen.transmitted_s, period_s)
                self.receive.add(seen.received, seen.received_s, period_s)

    def courses(self, capacity: float) -> Mapping[str, tuple[Course, Histogram]]:
        """What each direction says by now, for a port that can carry so many bytes per second."""
        with self.lock:
            return {name: (direction.course(capacity), direction.histogram)
                    for name, direction in (("transmit", self.transmit), ("receive", self.receive))}  # fmt: skip


class BurstSampler:
    """Of one node. `adopt` says which ports there are; any thread may call it. `period_s` is how often each is read now."""

    def __init__(self, clock: Clock, interval_s: float) -> None:
        self.interval_s = self.period_s = interval_s
        self._clock = clock
        self.clock_s = clock.monotonic_s
        """By which samples are timed."""
        self._ports: tuple[Sampled, ...] = ()
        self._leaving: deque[Sampled] = deque()
        """To be closed by the thread that reads: a handle that is closed under a read may by then be another file's."""
        self._took_s: deque[float] = deque(maxlen=JUDGED_PASSES)
        self._term = 0
        self._current: tuple[Sampled, float] | None = None
        """What is read now and since when."""
        self._held: set[Sampled] = set()
        """Ports whose read hangs."""
        self._stop = threading.Event()
        self._is_started = False

    def adopt(self, ports: Sequence[Sampled]) -> None:
        """These from now on. Those that left are closed by the thread that reads, with its next pass."""
        self._leaving.extend([port for port in self._ports if port not in ports and port not in self._held])
        self._ports = tuple(ports)

    def start(self) -> None:
        """Sample in a thread of its own until stop()."""
        if not self._is_started:
            self._is_started = True
            self._lead()

    def stop(self) -> None:
        """End; a thread whose read hangs ends with the process."""
        self._stop.set()

    @property
    def held(self) -> frozenset[Link]:
        """Links whose read hangs now."""
        return frozenset([port.port.link for port in self._held.copy()])

    def sample(self) -> None:
        """One pass over all ports."""
        began_s, term = self._clock.monotonic_s(), self._term
        while self._leaving:
            self._leaving.popleft().port.close()
        for port in self._ports:
            if port in self._held:
                continue
            now_s = self._clock.monotonic_s()
            self._current = port, now_s
            port.read(now_s, self.period_s)
            if self._term != term:  # it hung, and another thread has taken over since
                self._held.discard(port)
                if port not in self._ports:
                    port.port.close()
                return
        self._current = None
        self._judge(self._clock.monotonic_s() - began_s)

    def watch(self) -> None:
        """Called now and then by another thread: whether a read hangs; then a new thread goes on without that port."""
        current = self._current
        if current is None or not self._is_started or self._clock.monotonic_s() - current[1] < STUCK_S:
            return
        self._held.add(current[0])
        self._current = None
        self._term += 1
        log.warning("a byte counter does not answer; bursts of its port are not seen link=%s", current[0].port.link)
        self._lead()

    def _judge(self, took_s: float) -> None:
        """Sample less often while passes take too long, and as configured again once they do not."""
        self._took_s.append(took_s)
        if len(self._took_s) < JUDGED_PASSES:
            return
        usual_s = median(self._took_s)
        if usual_s > DUTY_MAX * self.period_s and self.period_s < PERIOD_MAX_S:
            self._turn(min(2 * self.period_s, PERIOD_MAX_S), usual_s)
        elif usual_s < DUTY_LOW * self.period_s and self.period_s > self.interval_s:
            self._turn(max(self.period_s / 2, self.interval_s), usual_s)

    def _turn(self, period_s: float, usual_s: float) -> None:
        self.period_s = period_s
        self._took_s.clear()
        log.warning("bursts are sampled each %g s now (sources.bursts.interval is %g s): a pass takes %.1f ms", period_s, self.interval_s,
                    usual_s * 1e3)  # fmt: skip

    def _lead(self) -> None:
        threading.Thread(target=self._run, args=(self._term,), name="bursts", daemon=True).start()

    def _run(self, term: int) -> None:
        next_s = self._clock.monotonic_s()
        while self._term == term and not self._stop.wait(max(0.0, next_s - self._clock.monotonic_s())):
            self.sample()
            now_s = self._clock.monotonic_s()
            next_s += self.period_s * max(1.0, (now_s - next_s) // self.period_s + 1.0)
        if self._term == term:
            for port in (*self._ports, *self._leaving):
                port.port.close()
