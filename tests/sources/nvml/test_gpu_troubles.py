"""GPUs that are lost, sick, renumbered or oddly named: what each costs, and what goes on."""

import pytest

from exporter.model.fault import Reason
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.profiles import profile_named
from exporter.sources.nvlink import NvlinkSource
from exporter.sources.nvml_session import GpuFacts
from tests.nvml_library import FakeDriver, profile, ret
from tests.nvml_library.profiles import uuid
from tests.nvml_library.scenario import Statements, Value, text_of
from tests.sources.nvml.source_child import SourceChild

SENT = "nvlink_transmitted"
CADENCES = ("fast", "normal", "slow")


def moved(statements: Statements, places: dict[int, int | None]) -> dict[str, Value]:
    """The same GPUs at other NVML indices; those whose new place is None are gone."""
    found: dict[str, Value] = {}
    for key, value in statements.items():
        owner, _, rest = key.partition(".")
        if not owner[1:].isdigit():
            found[key] = value
        elif (place := places.get(int(owner[1:]), int(owner[1:]))) is not None and not rest.startswith("g"):
            found[f"g{place}.{rest}"] = value
    return found


@pytest.mark.parametrize("cadence", CADENCES)
def test_a_gpu_lost_between_two_passes_costs_only_its_own(driver: FakeDriver, cadence: str) -> None:
    """Its pass says so once; the others' numbers come, scans keep it by name, and nobody asks for a fresh process."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        sound = child.read("gpu4", cadence)
        driver.change({"g3.lost": 1})
        lost, other = child.read("gpu3", cadence), child.read("gpu4", cadence)
        scan = child.scan()

    assert [lost.values, lost.reasons(), len(lost.faults)] == [{}, {("gpu3", Reason.LOST)}, 1]
    assert [other.values, other.faults] == [sound.values, ()]
    assert [scan.gpus, "gpu4" in scan.node.values] == [tuple(f"gpu{gpu}" for gpu in range(8)), True]


def test_a_gpu_lost_within_a_pass_costs_that_pass(driver: FakeDriver) -> None:
    """The states were read, the bytes are lost: no half of a pass is shown."""
    driver.write(profile("b200"))
    with SourceChild(driver) as child:
        child.scan()
        child.passes("gpu0")
        driver.change({"g0.call.nvmlDeviceReadPRMCounters_v1.ret": 15})
        lost = child.read("gpu0", "normal")
        driver.remove("g0.call.nvmlDeviceReadPRMCounters_v1.ret")
        after = child.read("gpu0", "normal")

    assert [lost.values, lost.reasons()] == [{}, {("gpu0", Reason.LOST)}]
    assert [len(after.links("gpu0")), after.faults, driver.holders()] == [18, (), set()]


def test_a_gpu_that_was_lost_before_the_start_is_named_by_its_index(driver: FakeDriver) -> None:
    """Nothing else is known of it; the others are there."""
    driver.write({**profile("h100-sxm"), "g2.lost": 1})
    with SourceChild(driver) as child:
        scan = child.scan()

    assert [len(scan.gpus), scan.node.reasons()] == [7, {("GPU with index 2", Reason.LOST)}]


def test_a_gpu_that_fell_off_without_a_word_is_missed(driver: FakeDriver) -> None:
    """NVIDIA/NVSentinel#155: the driver counts one less, indices move up; the Fault names it, and nobody is taken for another."""
    whole = profile("h100-sxm")
    driver.write(whole)
    with SourceChild(driver) as child:
        first = child.scan()
        sent = {gpu: child.read(gpu, "fast").links(gpu)[0][SENT] for gpu in first.gpus}
        driver.write({**moved(whole, {3: None, 4: 3, 5: 4, 6: 5, 7: 6}), "gpus": 7})
        second, third = child.scan(), child.scan()
        left = [child.read(gpu, "fast").links(gpu)[0][SENT] for gpu in second.gpus]

    assert left == [number for gpu, number in sent.items() if gpu != "gpu3"]
    for scan in (second, third):
        (fault,) = scan.node.faults
        assert [fault.subject, fault.reason, uuid(3) in fault.detail, len(scan.gpus)] == ["gpu3", Reason.LOST, True, 7]


def test_gpus_that_change_places_keep_their_names_and_numbers(driver: FakeDriver) -> None:
    """The index is no identity: what belongs to a UUID and address stays with it, at whatever index it answers."""
    whole = profile("h100-sxm")
    driver.write(whole)
    with SourceChild(driver) as child:
        first = child.scan()
        before = {gpu: child.read(gpu, "fast").values for gpu in first.gpus}
        driver.write(moved(whole, {0: 5, 5: 0}))
        second = child.scan()
        after = {gpu: child.read(gpu, "fast").values for gpu in second.gpus}
        indices = child.state().indices

    assert after == before
    assert [indices[0], indices[5], second.node.faults] == ["gpu5", "gpu0", ()]
    assert {gpu for gpu in first.gpus if first.readers[gpu] == second.readers[gpu]} == set(first.gpus) - {"gpu0", "gpu5"}


def test_a_reader_stays_the_same_object_as_long_as_its_gpu_stays(driver: FakeDriver) -> None:
    """From scan to scan; what it learned of its GPU is asked once."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        first, second = child.scan(), child.scan()

    assert first.readers == second.readers


@pytest.mark.parametrize("code", [999, 20])
def test_one_sick_gpu_costs_the_others_nothing(driver: FakeDriver, code: int) -> None:
    """Every call about it fails, and that is its own trouble: no fresh process is asked for, and the scan goes on."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        driver.change({"g3.call.*.ret": code})
        scan = child.scan()
        sick, sound = child.passes("gpu3"), child.passes("gpu4")
        spent = child.state().spent
        driver.remove("g3.call.*.ret")
        healed = child.read("gpu3", "fast")

    assert [spent, len(scan.gpus), {fault.subject for fault in scan.node.faults}] == [None, 8, {"gpu3"}]
    assert [len(seen.links("gpu3")) for seen in sick[:2]] == [0, 0]
    assert all(seen.faults for seen in sick[:2])
    assert [[len(seen.links("gpu4")), seen.faults] for seen in sound] == [[18, ()]] * 3
    assert [len(healed.links("gpu3")), healed.faults] == [18, ()]


def test_a_gpu_that_is_sick_when_it_is_met_is_looked_at_again(driver: FakeDriver) -> None:
    """No ports are made up meanwhile, and once it answers it has those that it has."""
    sick: dict[str, Value] = {f"g3.call.{name}.ret": 999 for name in ("nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkState")}
    driver.write({**profile("h100-sxm"), **sick})
    with SourceChild(driver) as child:
        child.scan()
        during = child.read("gpu3", "fast")
        driver.remove(*sick)
        after = child.read("gpu3", "fast")

    assert [during.values, during.reasons()] == [{}, {("gpu3", Reason.UNKNOWN)}]
    assert [after.column("gpu3", SENT).keys(), after.faults] == [set(range(18)), ()]


def test_one_call_with_an_unknown_error_costs_its_own_number(driver: FakeDriver) -> None:
    """The far end of one link, the fabric state of one GPU: a Fault each, and everything else is there."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        driver.change({"g0.l3.remote_type": ret(999), "g0.call.nvmlDeviceGetGpuFabricInfo_v4.ret": 999})
        _, normal, slow = child.passes("gpu0")
        spent = child.state().spent

    assert [normal.reasons(), slow.reasons(), spent] == [{("gpu0", Reason.UNKNOWN)}, {("gpu0/3", Reason.UNKNOWN)}, None]
    assert [len(normal.links("gpu0")), len(slow.links("gpu0"))] == [18, 18]
    assert "gpu_recovery_action" in normal.values["gpu0"]


def test_only_wanted_gpus_are_read(driver: FakeDriver) -> None:
    """The others are not even looked at beyond who they are."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver, wanted=["gpu2"]) as child:
        gpus = child.scan().gpus

    assert [gpus, {call.gpu for call in driver.calls("nvmlDeviceGetFieldValues")}] == [("gpu2",), {2}]


def test_a_name_that_is_no_text_costs_nothing_but_itself(driver: FakeDriver) -> None:
    """Bytes that are no UTF-8 become marks; the GPU is a GPU."""
    driver.write(profile("h100-sxm"))
    junk = text_of(driver.statements).encode().replace(b"g0.name = NVIDIA", b"g0.name = \xff\xfe\x1b")
    driver.scenario_path.write_bytes(junk.replace(b"g1.uuid = GPU", b"g1.uuid = \xffPU"))
    with SourceChild(driver) as child:
        scan = child.scan()
        slow = child.read("gpu0", "slow")

    name = next(key[3] for key in slow.values["gpu0"] if key[0] == "gpu_info")
    assert [len(scan.gpus), scan.node.faults, name] == [8, (), "\ufffd\ufffd\x1b H100 80GB HBM3"]


@pytest.mark.parametrize(("key", "says"), [("pci", "nowhere"), ("pci", ""), ("pci", None), ("uuid", None)])
def test_a_gpu_that_cannot_be_told_from_others_is_left_out_alone(key: str, says: str | None) -> None:
    """No address, or that of another GPU, or its UUID: names go by both, and two of one name would spoil the page."""
    scan = NvlinkSource(Misplaced(key, says), bool).scan(0.0, 0.0)

    assert [(fault.subject, fault.reason) for fault in scan.snapshot.faults] == [("GPU with index 2", Reason.PARSE)]
    assert len({reader.subject for reader in scan.readers}) == len(scan.readers) == 7


class Misplaced(FakeNvml):
    """A simulated board whose GPU 2 says something else of its place, by default what GPU 0 says; the fake library would correct it."""

    def __init__(self, key: str, says: str | None) -> None:
        super().__init__(profile_named("hgx-h100"), 1, lambda: 0.0)
        self._key, self._says = key, says

    def facts(self, gpu: int) -> GpuFacts:
        """As the driver says, but for that one."""
        facts = super().facts(gpu)
        says: str = getattr(super().facts(0), self._key) if self._says is None else self._says
        if gpu != 2:
            return facts
        return facts._replace(pci=says) if self._key == "pci" else facts._replace(uuid=says)
