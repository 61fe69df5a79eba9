"""The burst sampler: what it folds, that it is gentle, and that a counter that hangs costs its own port alone."""

import errno
import threading
import time
from collections.abc import Callable

import pytest

from exporter.catalog.signals import BURST, BURST_BUSY, SAMPLES
from exporter.model.fault import Reason
from exporter.model.metric import OBSERVATIONS, Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.burst_sampler import PERIOD_MAX_S, STUCK_S, BurstSampler
from exporter.runtime.burst_source import BurstSource
from exporter.runtime.clock import ManualClock, SystemClock
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import profile_named
from tests.runtime.fakes import PATIENCE_S

PERIOD_S = 0.1
PORT = "class/infiniband/mlx5_0/ports/1"


class Bench:
    """A simulated node in training, a sampler on it and its source, in virtual time."""

    def __init__(self) -> None:
        self.node = SimulatedNode(profile_named("hgx-h100"), 7)
        self.tree: MemoryTree = self.node.tree()
        self.clock = ManualClock()
        self.sampler = BurstSampler(self.clock, PERIOD_S)
        self.source = BurstSource(self.tree, self.sampler, lambda name: name != "mlx5_9")
        self.scan()

    def scan(self) -> None:
        """Which devices there are now."""
        self.readers = {reader.subject: reader for reader in self.source.scan(0.0, self.clock.monotonic_s()).readers}

    def run(self, seconds: float) -> "Bench":
        """Sample for so long."""
        until_s = self.clock.monotonic_s() + seconds
        while self.clock.monotonic_s() < until_s:
            self.node.life.glance(self.clock.monotonic_s())
            self.sampler.sample()
            self.clock.advance(self.sampler.period_s)
        return self

    def read(self, device: str = "mlx5_0") -> Snapshot:
        """What the source says of a device."""
        return self.readers[device].read(Cadence.NORMAL, 0.0, self.clock.monotonic_s())


def test_it_samples_wanted_devices_and_tells_their_bursts() -> None:
    """Training talks for 1.2 s of 8 at 0.92 of line rate; the histogram has every sample but the first."""
    bench = Bench().run(88.0)
    (reading,) = bench.read().readings
    values = reading.values

    assert "mlx5_9" not in bench.readers
    assert str(reading.entity) == "infiniband/mlx5_0/1"
    assert round(values[BURST.key, "transmit", "p95"] / 1e9) == 46
    assert 0.14 < values[BURST_BUSY.key, "receive"] < 0.18
    assert values[SAMPLES.key, "transmit", "+Inf"] == values[SAMPLES.key, "transmit", OBSERVATIONS] == 880


def test_a_port_without_samples_says_nothing() -> None:
    """Before the second sample there is no interval."""
    assert Bench().run(0.05).read().readings == ()


def test_a_counter_that_fails_is_a_fault_and_begins_anew() -> None:
    """The other ports go on; what is sampled after the gap is no interval across it."""
    bench = Bench().run(10.0)
    bench.tree.fail(f"{PORT}/counters/port_rcv_data", errno.EINVAL)
    bench.run(1.0)
    broken, other = bench.read(), bench.read("mlx5_1")
    bench.tree.fail(f"{PORT}/counters/port_rcv_data", None)
    again = bench.run(30.0).read()

    assert [(fault.reason, fault.subject) for fault in broken.faults] == [(Reason.UNSUPPORTED, "infiniband/mlx5_0/1")]
    assert (broken.readings, other.faults) == ((), ())
    assert again.faults == ()
    assert again.readings[0].values[BURST.key, "receive", "max"] < 50e9


def test_a_device_that_leaves_and_returns_is_sampled_again() -> None:
    """Its handles are of the old one: the next scan after a failed pass makes new ones."""
    bench = Bench().run(5.0)
    gone = bench.tree.remove("class/infiniband/mlx5_0")
    bench.run(1.0)
    lost = bench.read()
    bench.scan()
    left = "mlx5_0" in bench.readers
    bench.tree.add(gone)
    bench.scan()
    bench.run(20.0)

    assert (bool(lost.faults), left) == (True, False)
    assert bench.read().readings[0].values[SAMPLES.key, "transmit", OBSERVATIONS] > 100


def test_handles_are_given_back_by_the_thread_that_reads() -> None:
    """Not by the one that finds a device gone: a handle closed under a read may by then be another file's."""
    bench = Bench().run(1.0)
    during = bench.tree.handles_open
    bench.sampler.adopt(())
    left = bench.tree.handles_open
    bench.sampler.sample()

    assert (left, bench.tree.handles_open) == (during, 0)


def test_a_counter_that_refuses_is_left_alone_for_a_while() -> None:
    """A driver that answers EINVAL writes the kernel log at each read: two tries in sixteen seconds, not 160."""
    bench = Bench().run(1.0)
    path = f"{PORT}/counters/port_rcv_data"
    bench.tree.fail(path, errno.EINVAL)
    bench.run(1.0)
    opened = bench.tree.opened[path]
    bench.run(16.0)

    assert bench.tree.opened[path] - opened == 1


class SlowClock(ManualClock):
    """Each look at it takes so long: a pass over ports reads the time three times a port."""

    look_s = 0.0

    def monotonic_s(self) -> float:
        """Time that goes on while one looks."""
        self.advance(self.look_s)
        return super().monotonic_s()


def test_it_backs_off_while_passes_are_slow_and_comes_back() -> None:
    """Never more often than configured, never slower than its bound."""
    bench = Bench()
    clock = SlowClock()
    bench.sampler = BurstSampler(clock, PERIOD_S)
    bench.source = BurstSource(bench.tree, bench.sampler, lambda name: name == "mlx5_0")
    bench.scan()
    clock.look_s = 0.02
    periods = []
    for _ in range(200):
        bench.sampler.sample()
        periods.append(bench.sampler.period_s)
    slowest = bench.sampler.period_s
    clock.look_s = 0.0
    for _ in range(200):
        bench.sampler.sample()

    assert periods == sorted(periods)
    assert PERIOD_S < slowest <= PERIOD_MAX_S
    assert bench.sampler.period_s == PERIOD_S


class HangingFiles:
    """A tree in which reads of one file wait until they are let go."""

    def __init__(self, tree: MemoryTree, path: str) -> None:
        self._tree = tree
        self._path = path
        self._held: set[int] = set()
        self.go_on = threading.Event()
        self.hangs = False

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """As the tree's, but for that file."""
        return self._read

    def open(self, path: str) -> int:
        """As the tree's."""
        handle = self._tree.open(path)
        if path.endswith(self._path):
            self._held.add(handle)
        return handle

    def close(self, handle: int) -> None:
        """As the tree's."""
        self._tree.close(handle)

    def listdir(self, path: str) -> list[str]:
        """As the tree's."""
        return self._tree.listdir(path)

    def resolve(self, path: str) -> str:
        """As the tree's."""
        return self._tree.resolve(path)

    def _read(self, handle: int, size: int, offset: int, /) -> bytes:
        if self.hangs and handle in self._held:
            self.go_on.wait(PATIENCE_S)
        return self._tree.pread(handle, size, offset)


def waited_for(happens: Callable[[], bool]) -> bool:
    """Whether it happens in time."""
    end_s = time.monotonic() + PATIENCE_S
    while not happens() and time.monotonic() < end_s:
        time.sleep(0.01)
    return happens()


@pytest.mark.parametrize("stops", [False, True])
def test_a_counter_that_hangs_keeps_one_thread_and_no_other_port(stops: bool) -> None:  # noqa: FBT001  # a parameter
    """Another thread samples the rest; the port is sampled again once the kernel lets go, and nothing is left running in the end."""
    node = SimulatedNode(profile_named("hgx-h100"), 7)
    files = HangingFiles(node.tree(), "mlx5_3/ports/1/counters/port_rcv_data")
    sampler = BurstSampler(SystemClock(), 0.01)
    source = BurstSource(files, sampler, lambda _: True)
    readers = {reader.subject: reader for reader in source.scan(0.0, 0.0).readers}

    def samples(device: str) -> float:
        values = [reading.values for reading in readers[device].read(Cadence.NORMAL, 0.0, 0.0).readings]
        return sum(one.get((SAMPLES.key, "transmit", OBSERVATIONS), 0) for one in values)

    sampler.start()
    assert waited_for(lambda: samples("mlx5_3") > 3)
    files.hangs = True
    time.sleep(STUCK_S + 0.1)
    source.scan(0.0, 0.0)
    before = samples("mlx5_4")
    assert waited_for(lambda: samples("mlx5_4") > before)
    assert [str(link) for link in sampler.held] == ["infiniband/mlx5_3/1"]
    hanging = readers["mlx5_3"].read(Cadence.NORMAL, 0.0, 0.0)
    assert (hanging.readings, [fault.reason for fault in hanging.faults]) == ((), [Reason.TIMEOUT])
    held = sum(readers["mlx5_3"].ports[0].courses(50e9)["transmit"][1].buckets)
    if stops:
        sampler.stop()
    files.hangs = False
    files.go_on.set()
    assert waited_for(lambda: not sampler.held)
    assert stops or waited_for(lambda: samples("mlx5_3") > held)
    sampler.stop()
    assert waited_for(lambda: not [thread for thread in threading.enumerate() if thread.name == "bursts"])
