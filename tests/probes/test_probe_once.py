"""One gated probe from the first gate to the report, on the fake NVML and the fake NCCL: what is measured, what is remembered, and that a
shut gate means that CUDA was not even asked whether it is there."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.cli.gpus import REAL
from exporter.model.gpu_slots import in_pci_order
from exporter.probes import budget
from exporter.probes.baseline import State
from exporter.probes.budget import Ledger
from exporter.probes.collectives import Collective
from exporter.probes.gates import Allocation
from exporter.probes.plan import Phase, Plan, Step
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import Outcome, Report, Transport
from exporter.probes.report_document import report_in
from exporter.probes.worker.libraries import Places
from exporter.runtime.clock import SystemClock
from exporter.runtime.occupancy import Looked, Occupancy, OccupancyError
from exporter.runtime.probe_memory import ProbeMemory, open_memory, reports_in
from exporter.runtime.probe_once import Node, Wanted, prepared, probed
from tests.nccl_library import FakeGpus
from tests.nvml_library import IDLE, FakeDriver, profile
from tests.probes.running import QUICK

FREE = Allocation(free=True, words="nobody's")
MIB = 1 << 20


def small(ranks: int) -> Plan:
    """A probe of a fraction of a second."""
    steps = (Step(Phase.LATENCY, Collective.ALL_REDUCE, 1024, 5, 2), Step(Phase.BANDWIDTH, Collective.ALL_REDUCE, MIB, 5, 2),
             Step(Phase.CHECK, Collective.ALL_REDUCE, MIB, 1))  # fmt: skip
    return Plan(ranks, steps)


class Machine:
    """Two idle GPUs whose NVML and CUDA agree on who they are, and a state directory."""

    def __init__(self, folder: Path, driver: FakeDriver) -> None:
        self.driver, self.clock = driver, SystemClock()
        self.gpus = FakeGpus(folder / "gpus", GPUS=2, JITTER=0)
        self.state = folder / "state"
        self.state.mkdir()
        self.say()
        self.occupancy = Occupancy(REAL, (str(driver.library),), in_pci_order, self.clock)

    def say(self, **second: object) -> None:
        """What the driver says, with statements about the second GPU."""
        idle = {f"g*.{name}": value for name, value in IDLE.items()}
        uuids = {f"g{gpu}.uuid": uuid for gpu, uuid in enumerate(UUIDS)}
        self.driver.write({**profile("h100-sxm"), "gpus": 2, **idle, **uuids, **{f"g1.{name}": value for name, value in second.items()}})

    def wanted(self, **changes: object) -> Wanted:
        """A quick probe."""
        quick = Wanted(places=Places(self.gpus.libcuda, self.gpus.libnccl), bounds=QUICK, plan_of=small, samples=2, gap_s=0.01,
                       variables=self.gpus.environment(), shared_memory=self.gpus.shared_memory)  # fmt: skip
        return replace(quick, **changes)  # type: ignore[arg-type]

    def node(self, **changes: object) -> Node:
        """An idle node that is nobody's."""
        node = Node(self.occupancy.look, lambda: FREE, lambda: "", lambda: (), lambda: 0)
        return replace(node, **changes)  # type: ignore[arg-type]

    def memory(self) -> ProbeMemory:
        """Of its state directory."""
        return open_memory(str(self.state))

    def reports(self) -> list[Report]:
        """What lies there for the daemon, the oldest first."""
        return [report_in(json.loads(Path(path).read_text())) for path in sorted(reports_in(str(self.state / "probes")))]


UUIDS = ("GPU-46414b45-0000-0000-0000-000000000000", "GPU-46414b45-0000-0000-0000-000000000001")
"""What the fake CUDA calls them: "FAKE", and the number at the end."""


@pytest.fixture
def machine(tmp_path: Path, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Closed in the end."""
    for name, value in driver.environment().items():
        monkeypatch.setenv(name, value)
    made = Machine(tmp_path, driver)
    yield made
    made.occupancy.close()


def test_an_idle_node_is_measured_and_remembered(machine: Machine) -> None:
    """Figures of the fake within a hundredth, a report for the daemon, and what it cost."""
    memory = machine.memory()
    found = probed(machine.wanted(), machine.node(), memory, machine.clock)
    report = found.report

    assert (report.outcome, report.reason, report.detail) == (Outcome.SUCCESS, None, "")
    assert report.gpus == ("gpu0", "gpu1")
    assert [(size.size_bytes, size.wrong) for size in report.sizes] == [(1024, None), (MIB, 0)]
    assert report.sizes[0].p50_s == pytest.approx(20e-6, rel=0.01)
    assert {(size.algo, size.proto) for size in report.sizes} == {("RING", "LL"), ("RING", "SIMPLE")}
    assert report.transport == Transport("IB", gdr=None, p2p="CUMEM", shm=False, hca_count=2)
    assert found.state is State.OK
    assert machine.reports() == [report]
    assert memory.ledger().runs[-1].cost.gpu_s == report.gpu_s > 0
    assert len(memory.baselines().kept) == 2
    memory.close()


def test_one_corrupt_element_is_told_at_once(machine: Machine) -> None:
    """No second look: whatever the speed."""
    machine.gpus.knobs["CORRUPT"] = "1:1000"
    report = probed(machine.wanted(), machine.node(), machine.memory(), machine.clock).report

    assert (report.outcome, report.reason) == (Outcome.DEGRADED, Failure.DATA_MISMATCH)
    assert report.detail == "1 elements came out wrong: corrupt data"


def test_a_slow_node_is_degraded_against_its_own_past_after_confirmation(machine: Machine) -> None:
    """Twelve good runs teach; then a quarter less bandwidth in three of four."""
    outcomes = []
    machine.gpus.knobs["LATENCY"] = 1e-7  # a mebibyte's time is that of its bandwidth
    for number in range(16):
        if number == 12:
            machine.gpus.knobs["BANDWIDTH"] = 300e9
        memory = machine.memory()
        outcomes.append(probed(machine.wanted(), machine.node(), memory, machine.clock).report.outcome)
        memory.close()

    assert outcomes[:13] == [Outcome.SUCCESS] * 13
    assert outcomes[15] is Outcome.DEGRADED


def failing_look(_samples: int, _gap_s: float) -> Sequence[Looked]:
    """NVML that does not answer."""
    raise OccupancyError("the driver has not answered")


GATES = {
    "kill switch": Skipped.DISABLED, "driver silent": Skipped.DISABLED, "maintenance": Skipped.MAINTENANCE, "another probe": Skipped.LOCK,
    "MIG": Skipped.MIG_ENABLED, "exclusive": Skipped.COMPUTE_MODE_EXCLUSIVE, "a process": Skipped.GPU_BUSY, "drawing": Skipped.GPU_BUSY,
    "leftover memory": Skipped.GPU_BUSY, "load": Skipped.GPU_BUSY, "driver does not list processes": Skipped.GPU_BUSY,
    "a job": Skipped.ALLOCATED, "scheduler silent": Skipped.ALLOCATED, "a broken link": Skipped.FABRIC_UNHEALTHY,
    "pending reset": Skipped.FABRIC_UNHEALTHY, "stuck before": Skipped.BUDGET, "too soon": Skipped.BUDGET, "hot": Skipped.THERMAL,
}  # fmt: skip
SAID = {
    "MIG": {"mig": 1}, "exclusive": {"compute_mode": 3}, "a process": {"proc": ("4242 1048576",)}, "drawing": {"graphics_proc": ("7 1",)},
    "leftover memory": {"memory_used": 9 << 30}, "load": {"utilization": 40},
    "driver does not list processes": {"call.nvmlDeviceGetComputeRunningProcesses_v3.ret": 3}, "pending reset": {"f230": 1},
    "hot": {"clocks_event_reasons": 0x40},
}  # fmt: skip


def shut_by(why: str, machine: Machine, folder: Path) -> Report:
    """A probe that finds that gate shut."""
    wanted, node, memory = machine.wanted(), machine.node(), machine.memory()
    other = None
    if why in SAID:
        machine.say(**SAID[why])
    match why:
        case "kill switch":
            (folder / "no-probes").touch()
            wanted = replace(wanted, kill_switch=str(folder / "no-probes"))
        case "driver silent":
            node = replace(node, look=failing_look)
        case "maintenance":
            node = replace(node, maintenance=lambda: "new cables")
        case "another probe":
            other, memory = memory, replace(memory, lock=None, taken="process 7 probes")
        case "a job":
            node = replace(node, allocation=lambda: Allocation(free=False, words="job 42"))
        case "scheduler silent":
            node = replace(node, allocation=lambda: Allocation(free=None, words="timed out"))
        case "a broken link":
            node = replace(node, unhealthy=lambda: ("nvlink/gpu0/3 has failed",))
        case "stuck before":
            memory.keep_ledger(budget.stuck(Ledger()))
        case "too soon":
            memory.keep_ledger(budget.begun(Ledger(), machine.clock.wall_s()))
            wanted = replace(wanted, periodic=True)
    report = probed(wanted, node, memory, machine.clock).report
    for one in (memory, other):
        if one is not None:
            one.close()
    return report


@pytest.mark.parametrize("why", sorted(GATES))
def test_for_each_shut_gate_cuda_is_not_even_asked_and_the_reason_is_reported(why: str, machine: Machine, tmp_path: Path) -> None:
    """The call log of the fake is empty: not even cuInit. The daemon is told."""
    report = shut_by(why, machine, tmp_path)

    assert (report.outcome, report.reason) == (Outcome.SKIPPED, GATES[why])
    assert machine.gpus.calls() == ()
    assert machine.reports() == [report]
    assert report.detail


def test_a_job_that_comes_between_two_steps_ends_the_probe(machine: Machine) -> None:
    """What was measured until then is thrown away, and no baseline learns from it."""
    looks = 0

    def look(samples: int, gap_s: float) -> Sequence[Looked]:
        nonlocal looks
        looks += 1
        if looks == 4:
            machine.say(proc=("4242 1", "4243 1"))
        return machine.occupancy.look(samples, gap_s)

    memory = machine.memory()
    report = probed(machine.wanted(), machine.node(look=look), memory, machine.clock).report

    assert (report.outcome, report.reason) == (Outcome.PREEMPTED, Skipped.GPU_BUSY)
    assert report.detail == "gpu1 is used by 1 process"
    assert report.sizes == ()
    assert memory.baselines().kept == {}
    assert machine.gpus.left_behind() == []


def test_a_dry_run_lists_every_gate_and_leaves_nothing(machine: Machine) -> None:
    """No report, no cost, no CUDA."""
    machine.say(proc=("4242 1",))
    found = prepared(machine.wanted(), machine.node(), machine.memory(), machine.clock)

    assert [gate.reason for gate in found.gates if not gate.is_open] == [Skipped.GPU_BUSY]
    assert len(found.gates) == 12
    assert machine.gpus.calls() == ()
    assert machine.reports() == []


def test_a_driver_that_never_answers_is_given_up_and_shuts_the_gate(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the deadline; the process that asked is not waited for."""
    monkeypatch.setattr("exporter.runtime.occupancy.ANSWER_S", 1.0)
    machine.say(**{"call.nvmlDeviceGetComputeMode.sleep_ms": 5000})
    report = probed(machine.wanted(), machine.node(), machine.memory(), machine.clock).report

    assert (report.outcome, report.reason) == (Outcome.SKIPPED, Skipped.DISABLED)
    assert "has not answered within" in report.detail
    assert machine.gpus.calls() == ()
