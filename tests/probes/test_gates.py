"""The gates before a probe: any doubt shuts them, the first one that is shut is told, and a job that comes shuts them again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probes.gates import AGAIN, Allocation, ComputeMode, Facts, GpuFacts, first_shut, gates, shut_between_sizes
from exporter.probes.reasons import Skipped

IDLE = GpuFacts("gpu0", processes=0, memory_used_bytes=4 << 20, utilisation=(0.0, 0.0), mig=False, compute_mode=ComputeMode.DEFAULT)
FREE = Allocation(free=True, words="IDLE")
OPEN = Facts(gpus=(IDLE, IDLE._replace(device="gpu1")), allocation=FREE)


def with_gpu(**changes: object) -> Facts:
    """A node whose second GPU differs."""
    return Facts(gpus=(IDLE, IDLE._replace(device="gpu1", **changes)), allocation=FREE)


SHUT = {
    "switched off": (Facts(gpus=(IDLE,), allocation=FREE, off="probes.enabled is false"), Skipped.DISABLED, "probes.enabled is false"),
    "no GPU": (Facts(gpus=(), allocation=FREE), Skipped.DISABLED, "there is no GPU to probe"),
    "maintenance": (Facts(gpus=(IDLE,), allocation=FREE, maintenance="file: new cables"), Skipped.MAINTENANCE, "file: new cables"),
    "another probe": (Facts(gpus=(IDLE,), allocation=FREE, lock="process 7 probes"), Skipped.LOCK, "process 7 probes"),
    "MIG": (with_gpu(mig=True), Skipped.MIG_ENABLED, "gpu1 is split (MIG)"),
    "MIG unknown": (with_gpu(mig=None), Skipped.MIG_ENABLED, "gpu1 does not say whether it is split (MIG)"),
    "exclusive": (with_gpu(compute_mode=ComputeMode.EXCLUSIVE_PROCESS), Skipped.COMPUTE_MODE_EXCLUSIVE, "compute mode EXCLUSIVE_PROCESS"),
    "prohibited": (with_gpu(compute_mode=ComputeMode.PROHIBITED), Skipped.COMPUTE_MODE_EXCLUSIVE, "gpu1 is in compute mode PROHIBITED"),
    "mode unknown": (with_gpu(compute_mode=None), Skipped.COMPUTE_MODE_EXCLUSIVE, "gpu1 does not say its compute mode"),
    "confidential": (with_gpu(confidential=True), Skipped.CONFIDENTIAL_COMPUTE, "gpu1 computes confidentially"),
    "MPS": (Facts(gpus=(IDLE,), allocation=FREE, mps=True), Skipped.MPS_ACTIVE, "a CUDA multi-process server runs"),
    "MPS unknown": (Facts(gpus=(IDLE,), allocation=FREE, mps=None), Skipped.MPS_ACTIVE, "not known"),
    "a process": (with_gpu(processes=1), Skipped.GPU_BUSY, "gpu1 is used by 1 process"),
    "processes unknown": (with_gpu(processes=None), Skipped.GPU_BUSY, "gpu1 does not say which processes use it"),
    "memory unknown": (with_gpu(memory_used_bytes=None), Skipped.GPU_BUSY, "gpu1 does not say how much of it is used"),
    "utilisation unknown": (with_gpu(utilisation=None), Skipped.GPU_BUSY, "gpu1 does not say how much of it is used"),
    "leftover memory": (with_gpu(memory_used_bytes=9_000_000_000), Skipped.GPU_BUSY, "gpu1 has 9.0 GB in use, without a process"),
    "one busy sample": (with_gpu(utilisation=(0.0, 0.5, 0.0)), Skipped.GPU_BUSY, "gpu1 is 50% busy"),
    "allocated": (Facts(gpus=(IDLE,), allocation=Allocation(free=False, words="job 42 runs")), Skipped.ALLOCATED, "job 42 runs"),
    "scheduler silent": (Facts(gpus=(IDLE,), allocation=Allocation(free=None, words="scontrol timed out")), Skipped.ALLOCATED,
                         "it is not known whose the node is: scontrol timed out"),
    "pending reset": (with_gpu(needs_reset=True), Skipped.FABRIC_UNHEALTHY, "gpu1 needs a reset"),
    "reset unknown": (with_gpu(needs_reset=None), Skipped.FABRIC_UNHEALTHY, "gpu1 does not say whether it needs a reset"),
    "broken links": (Facts(gpus=(IDLE,), allocation=FREE, unhealthy=("nvlink/gpu0/3 has failed", "x")), Skipped.FABRIC_UNHEALTHY,
                     "nvlink/gpu0/3 has failed and 1 more"),
    "no budget": (Facts(gpus=(IDLE,), allocation=FREE, budget="it was 60 s ago"), Skipped.BUDGET, "it was 60 s ago"),
    "hot": (with_gpu(thermal=True), Skipped.THERMAL, "gpu1 is slowed down by heat or power"),
}  # fmt: skip


def test_an_idle_node_that_is_nobody_s_is_open() -> None:
    """All gates, and each is listed."""
    assert first_shut(OPEN) is None
    assert [gate.reason for gate in gates(OPEN)] == [reason for reason in Skipped if reason is not Skipped.NO_ALLOCATION]


@pytest.mark.parametrize("why", sorted(SHUT))
def test_any_doubt_shuts_its_gate_with_a_line_that_names_it(why: str) -> None:
    """What the driver or the scheduler does not say counts as busy."""
    facts, reason, words = SHUT[why]
    shut = first_shut(facts)

    assert shut is not None
    assert shut.reason is reason
    assert words in shut.detail


def test_memory_that_an_idle_gpu_always_uses_is_not_held_against_it() -> None:
    """Some drivers keep gigabytes for themselves."""
    facts = Facts(gpus=(IDLE._replace(memory_used_bytes=2_000_000_000),), allocation=FREE, idle_bytes={"gpu0": 1_900_000_000})

    assert first_shut(facts) is None


def test_the_probe_s_own_process_memory_and_load_do_not_stop_it() -> None:
    """One process of ours on each GPU while it runs; a second one is somebody else's."""
    running = IDLE._replace(processes=1, memory_used_bytes=3_000_000_000, utilisation=(1.0,))

    assert shut_between_sizes(Facts(gpus=(running,), allocation=FREE, own_processes=1)) is None
    shut = shut_between_sizes(Facts(gpus=(running._replace(processes=2),), allocation=FREE, own_processes=1))
    assert shut is not None
    assert (shut.reason, shut.detail) == (Skipped.GPU_BUSY, "gpu0 is used by 1 process")


@pytest.mark.parametrize("why", [why for why in sorted(SHUT) if SHUT[why][1] in AGAIN and "memory" not in why and "utilisation" not in why
                                 and "sample" not in why])  # fmt: skip
def test_what_a_job_changes_is_asked_again_while_the_probe_runs(why: str) -> None:
    """A job that comes between two sizes ends the probe."""
    facts, reason, _ = SHUT[why]
    shut = shut_between_sizes(facts)

    assert shut is not None
    assert shut.reason is reason


MARKS = {"off": "", "maintenance": "", "lock": "", "mps": False, "unhealthy": (), "budget": ""}
"""Facts about the node that shut a gate by being there."""


@given(st.lists(st.sampled_from(sorted(SHUT)), min_size=2, max_size=4, unique=True))
def test_the_first_shut_gate_in_order_is_the_one_that_counts(names: list[str]) -> None:
    """However many are shut: the order of the reasons is the order of the gates."""
    node = [SHUT[name][0] for name in names]
    order = list(Skipped)
    merged = Facts(
        gpus=tuple(gpu for facts in node for gpu in facts.gpus),
        allocation=next((facts.allocation for facts in node if facts.allocation is not FREE), FREE),
        **{
            name: next((value for facts in node if (value := getattr(facts, name)) or value is None), default)
            for name, default in MARKS.items()
        },
    )
    wanted = [SHUT[name][1] for name in names if not (name == "no GPU" and merged.gpus)]

    if wanted:
        shut = first_shut(merged)
        assert shut is not None
        assert shut.reason is min(wanted, key=order.index)
