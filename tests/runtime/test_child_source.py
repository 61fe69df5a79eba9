"""The NVLink source as the sampler sees it, over the real child and the C stand-in of the driver's library."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.child_source import ChildReader, ChildSource
from exporter.runtime.collect import Errand, is_elsewhere, run_errand
from exporter.runtime.learned_nvlinks import LearnedNvlinks
from exporter.runtime.reader_group import ReaderGroup
from tests.nvml_library import FakeDriver
from tests.nvml_library.profiles import uuid
from tests.runtime.real_child import BACK_OFF_S, GPUS, NAMES, SHORT_S, Nursery, nursery

FAST = (Cadence.FAST,)
HELD = {"0000:1b:00.0": "gpu0"}


class Names:
    """What the PCI bus shows, and a slot map that numbers further addresses in their order."""

    def __init__(self, on_bus: Mapping[str, str]) -> None:
        self.on_bus = on_bus
        self.asked: list[tuple[str, ...]] = []

    def slots(self, present: Collection[str]) -> Mapping[str, str]:
        """Names for all of these."""
        self.asked.append(tuple(present))
        return {address: f"gpu{number}" for number, address in enumerate(present)}


class Home:
    """A source over a worker."""

    def __init__(self, house: Nursery, on_bus: Mapping[str, str] = NAMES) -> None:
        self.house = house
        self.names = Names(on_bus)
        self.learned = LearnedNvlinks(None)
        self.source = ChildSource(house.worker, lambda: self.names.on_bus, self.names.slots, self.learned)

    def scan(self) -> dict[str, ChildReader]:
        """Readers by subject after a scan."""
        return {reader.subject: reader for reader in self.source.scan(1.0, 2.0).readers}

    def scan_faults(self) -> tuple[Fault, ...]:
        """What a scan had to complain of."""
        return self.source.scan(1.0, 2.0).snapshot.faults

    def read(self, readers: Mapping[str, ChildReader], cadences: tuple[Cadence, ...] = FAST) -> list[Snapshot]:
        """One pass of these."""
        return self.source.read(list(readers.values()), cadences, 1.0, 2.0)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """A worker on a well machine; no child outlives the test."""
    made = nursery(FakeDriver(tmp_path / "driver"), monkeypatch)
    yield made
    made.end()


def feeds(snapshots: list[Snapshot]) -> list[tuple[str, Cadence]]:
    """Who and when of each."""
    return [(snapshot.feed.subject, snapshot.feed.cadence) for snapshot in snapshots]


def faults(snapshots: list[Snapshot]) -> list[tuple[str, Cadence, Reason]]:
    """The faults of those that brought nothing."""
    return [(one.feed.subject, one.feed.cadence, fault.reason) for one in snapshots if not one.readings for fault in one.faults]


def test_gpus_that_the_bus_names_need_one_question(house: Nursery) -> None:
    """And no name from elsewhere."""
    home = Home(house)

    assert tuple(home.scan()) == GPUS
    assert home.names.asked == []
    assert len(house.driver.calls("nvmlInitWithFlags")) == 1


def test_gpus_without_a_name_get_one_in_one_further_question(house: Nursery) -> None:
    """Beside those of the bus, which keep theirs: a container may see the driver and no PCI bus, or half of one."""
    home = Home(house, HELD)

    assert tuple(home.scan()) == GPUS
    assert home.names.asked == [tuple(NAMES)]


def test_names_are_given_once(house: Nursery) -> None:
    """A fresh child is told all of them with its first question: it would else know no GPU until the second, and who reads in between
    would take them for lost."""
    home = Home(house, {})
    home.scan()
    house.worker.restart()
    house.driver.forget_calls()
    again = home.scan()

    assert tuple(again) == GPUS
    assert home.names.asked == [tuple(NAMES)]
    assert len(house.driver.calls("nvmlSystemGetDriverVersion")) == 1


def test_readers_stay_while_the_gpu_does(house: Nursery) -> None:
    """The same object, or the sampler would take it for another device; a fresh child changes nothing."""
    home = Home(house)
    before = home.scan()
    house.worker.restart()

    assert home.scan() == before
    assert len(house.children) == 2


def test_silence_clears_no_reader_and_an_absent_driver_clears_all(house: Nursery) -> None:
    """A hung driver's GPUs are still there; without a driver, or released, there are none."""
    home = Home(house)
    home.scan()
    house.driver.change({"call.nvmlDeviceGetCount_v2.sleep_ms": "forever"})
    house.be_quick(term_s=SHORT_S)
    hung, trouble = home.scan(), home.source.trouble
    house.worker.release()
    released = home.scan()

    assert tuple(hung) == GPUS
    assert trouble is not None
    assert trouble.reason is Reason.TIMEOUT
    assert released == {}
    assert [(fault.reason, "resume" in fault.detail) for fault in home.scan_faults()] == [(Reason.RELEASED, True)]


def test_facts_are_those_of_the_newest_scan(house: Nursery) -> None:
    """Places on the board, names by index; processes are unknown where nobody asks for them, and after trouble."""
    home = Home(house)
    home.scan()
    facts = home.source.facts
    house.worker.release()
    home.scan()

    assert facts.indices == dict(enumerate(GPUS))
    assert facts.module_ids == dict(zip(NAMES, (2, 1, 4, 3), strict=True))
    assert facts.processes is None
    assert home.source.facts.module_ids == facts.module_ids


def test_a_question_brings_each_gpu_and_cadence_in_order(house: Nursery) -> None:
    """One message there and back, however many."""
    home = Home(house)
    readers = home.scan()
    cadences = (Cadence.FAST, Cadence.NORMAL)

    found = home.read(readers, cadences)

    assert feeds(found) == [(name, cadence) for name in GPUS for cadence in cadences]
    assert all(snapshot.readings for snapshot in found)


def test_a_single_reader_and_a_group_read_the_same(house: Nursery) -> None:
    """By itself at one cadence or several; in a group with all others, in one question."""
    home = Home(house)
    readers = home.scan()
    one = readers["gpu1"]
    house.driver.forget_calls()

    alone = one.read(Cadence.FAST, 1.0, 2.0)
    several = one.read_together((Cadence.FAST, Cadence.NORMAL), 1.0, 2.0)
    group = ReaderGroup(home.source, list(readers.values())).read_together(FAST, 1.0, 2.0)

    assert feeds([alone, *several]) == [("gpu1", Cadence.FAST), ("gpu1", Cadence.FAST), ("gpu1", Cadence.NORMAL)]
    assert feeds(list(group)) == [(name, Cadence.FAST) for name in GPUS]
    assert is_elsewhere(home.source)


def test_a_group_that_may_not_be_entered_is_not_read(house: Nursery) -> None:
    """The sampler abandoned it."""
    home = Home(house)
    readers = list(home.scan().values())

    assert list(home.source.read_many(readers, FAST, lambda _: False, 1.0, 2.0)) == []
    assert list(home.source.read_many([], FAST, lambda _: True, 1.0, 2.0)) == []


def test_a_child_without_an_answer_is_a_fault_of_each_gpu_and_cadence(house: Nursery) -> None:
    """Nothing else: no exception, no number, and the times are those of the pass."""
    home = Home(house)
    readers = home.scan()
    house.driver.change({"g2.call.nvmlDeviceGetFieldValues.abort": 1})
    cadences = (Cadence.FAST, Cadence.SLOW)

    found = home.read(readers, cadences)

    assert faults(found) == [(name, cadence, Reason.DRIVER) for name in GPUS for cadence in cadences]
    assert {(one.wall_s, one.monotonic_s) for one in found} == {(1.0, 2.0)}


def test_a_fresh_child_is_made_to_scan_before_it_reads(house: Nursery) -> None:
    """After a crash the next pass is whole again, and no GPU is said to be lost that nobody had looked for."""
    home = Home(house)
    readers = home.scan()
    house.driver.change({"g2.call.nvmlDeviceGetFieldValues.abort": 1})
    home.read(readers)
    house.driver.remove("g2.call.nvmlDeviceGetFieldValues.abort")
    house.clock.advance(BACK_OFF_S)

    found = home.read(readers)

    assert (faults(found), feeds(found)) == ([], [(name, Cadence.FAST) for name in GPUS])
    assert len(house.children) == 2


def test_a_fresh_child_that_finds_no_driver_says_so_of_each_gpu(house: Nursery) -> None:
    """Not that the GPU is lost: the driver is not there at all."""
    home = Home(house)
    readers = home.scan()
    house.worker.restart()
    house.driver.change({"init.ret": 9})

    assert faults(home.read(readers)) == [(name, Cadence.FAST, Reason.ABSENT) for name in GPUS]


def test_a_gpu_that_vanishes_between_scan_and_read_is_lost_and_the_others_are_read(house: Nursery) -> None:
    """Another reader's scan, after which the child does not know it any more."""
    home = Home(house)
    readers = home.scan()
    house.worker.restart()
    house.driver.change({"gpus": len(GPUS) - 1})

    found = home.read(readers, (Cadence.FAST, Cadence.NORMAL))

    assert feeds(found) == [(name, cadence) for name in GPUS for cadence in (Cadence.FAST, Cadence.NORMAL)]
    assert faults(found) == [("gpu3", Cadence.FAST, Reason.LOST), ("gpu3", Cadence.NORMAL, Reason.LOST)]
    assert all(one.readings for one in found[:-2])


def test_a_lost_gpu_costs_only_itself(house: Nursery) -> None:
    """The driver says so, call by call."""
    home = Home(house)
    readers = home.scan()
    house.driver.change({"g1.lost": 1})

    assert faults(home.read(readers)) == [("gpu1", Cadence.FAST, Reason.LOST)]


def test_what_the_child_learned_is_kept_here(house: Nursery) -> None:
    """It forgets it when it ends; what was known before is not lost by that."""
    home = Home(house)
    home.learned.merge({"GPU-old": frozenset({0, 1})})
    told = house.setup()
    house.worker._setup = lambda: told._replace(learned={uuid(0): frozenset({3})})
    home.scan()

    assert home.learned.everything == {"GPU-old": frozenset({0, 1}), uuid(0): frozenset({3})}


def test_an_errand_of_such_a_source_is_a_scan_like_any(house: Nursery) -> None:
    """As the sampler runs it, with a driver that hangs: an outcome with a Fault, no exception."""
    home = Home(house)
    home.scan()
    house.driver.change({"call.nvmlDeviceGetCount_v2.sleep_ms": "forever"})
    house.be_quick(term_s=SHORT_S)

    outcome = run_errand(Errand(home.source, None, (Cadence.NORMAL,)), house.clock)

    assert [fault.reason for snapshot in outcome.snapshots for fault in snapshot.faults] == [Reason.TIMEOUT]
    assert outcome.scan is not None
    assert len(outcome.scan.readers) == len(GPUS)
