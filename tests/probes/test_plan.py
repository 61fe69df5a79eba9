"""The plan: what is run, what it costs, and how it is made smaller."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.catalog.limits import PROBE_BUFFER_BYTES
from exporter.probes.budget import Cost, Ledger, Limits, refusal
from exporter.probes.collectives import Collective, wire_bytes
from exporter.probes.plan import (
    BANDWIDTH_SIZES,
    BETWEEN_NODES,
    LATENCY_SIZES,
    SIZES,
    WITH_NVLINK,
    WITHIN_NODE,
    Phase,
    Plan,
    Speed,
    cost,
    fitted,
    over_nics,
    smaller,
    within_node,
)


def usual(gpus: int = 8) -> Plan:
    """The plan for the GPUs of one node."""
    plan = within_node(gpus)
    assert plan is not None
    return plan


def times_of(plan: Plan, phase: Phase) -> set[int]:
    """How often the steps of a phase are timed."""
    return {step.times for step in plan.steps if step.phase is phase}


def test_the_usual_plan_has_four_phases_in_their_order() -> None:
    """Copies, latency, bandwidth with a control, and a check of each collective; no message above the buffer."""
    plan = usual()

    assert list(dict.fromkeys(step.phase for step in plan.steps)) == list(Phase)
    assert [step.size_bytes for step in plan.steps if step.phase is Phase.LATENCY] == list(LATENCY_SIZES)
    assert [(step.collective, step.size_bytes) for step in plan.steps if step.phase is Phase.BANDWIDTH] == [
        *((Collective.ALL_REDUCE, size) for size in BANDWIDTH_SIZES),
        (Collective.ALL_GATHER, BANDWIDTH_SIZES[-1]),
    ]
    assert {step.size_bytes for step in plan.steps} <= set(SIZES)
    assert max(SIZES) <= PROBE_BUFFER_BYTES


def test_eight_gpus_with_nvlink_run_it_whole() -> None:
    """The budget is for this plan: half a second of GPUs, 21 GiB each."""
    plan, spent = usual(), cost(usual(), WITH_NVLINK)

    assert fitted(plan, Limits(), WITH_NVLINK) == plan
    assert spent.gpu_s < 0.6
    assert spent.bytes_per_gpu == pytest.approx(21.4 * 2**30, rel=0.01)
    assert refusal(Ledger(), Limits(), spent, 1.8e9) is None


def test_the_cost_counts_every_byte_that_a_gpu_sends() -> None:
    """By hand for one step: 25 times 448 MiB of the longest all-reduce, beside what remains without it."""
    plan = usual()
    longest = next(step for step in plan.steps if step.phase is Phase.BANDWIDTH and step.size_bytes == BANDWIDTH_SIZES[-1])
    without = Plan(8, tuple(step for step in plan.steps if step is not longest))

    assert cost(plan, WITH_NVLINK).bytes_per_gpu - cost(without, WITH_NVLINK).bytes_per_gpu == 25 * wire_bytes(
        Collective.ALL_REDUCE, 8, 2**28
    )


def test_slow_links_get_fewer_times_and_keep_every_size() -> None:
    """Eight GPUs on PCIe: half the times fit into two seconds."""
    plan = fitted(usual(), Limits(), WITHIN_NODE)

    assert plan is not None
    assert times_of(plan, Phase.BANDWIDTH) == {10}
    assert {step.size_bytes for step in plan.steps} == {step.size_bytes for step in usual().steps}


def test_between_nodes_a_nic_stays_within_its_gigabytes() -> None:
    """4 GiB a run: no copies, send/recv of each rail; bytes are the NIC's."""
    whole = over_nics(2)
    assert whole is not None

    plan = fitted(whole, Limits(), BETWEEN_NODES)

    assert plan is not None
    assert Phase.COPIES not in {step.phase for step in plan.steps}
    assert 2**31 < cost(plan, BETWEEN_NODES).bytes_per_nic <= 2**32
    assert cost(plan, BETWEEN_NODES).bytes_per_gpu == 0


def test_plans_shrink_to_latency_and_a_check() -> None:
    """Times, controls, sizes, copies, in that order; corrupt data must show to the end."""
    plans = list(smaller(usual()))
    costs = [cost(plan, WITHIN_NODE) for plan in plans]

    assert all(later.gpu_s < before.gpu_s and later.bytes_per_gpu < before.bytes_per_gpu
               for before, later in pairwise(costs))  # fmt: skip
    assert {step.phase for step in plans[-1].steps} == {Phase.LATENCY, Phase.CHECK}
    assert times_of(plans[-1], Phase.LATENCY) == {100}


def test_what_no_plan_can_do_is_not_planned() -> None:
    """An hour to initialise fits into no 45 s."""
    assert fitted(usual(), Limits(), Speed(50e-6, 1e9, init_s=3600.0)) is None


@pytest.mark.parametrize("gpus", [-1, 0, 1])
def test_a_single_gpu_has_no_plan(gpus: int) -> None:
    """Nothing crosses a link."""
    assert within_node(gpus) is None
    assert over_nics(gpus) is None


def test_blocks_too_small_for_each_rank_are_left_out() -> None:
    """8 bytes are two elements; eight ranks of an all-gather need one each."""
    plan = over_nics(8, Collective.ALL_GATHER)

    assert plan is not None
    assert [step.size_bytes for step in plan.steps if step.phase is Phase.LATENCY] == list(LATENCY_SIZES[1:])


@settings(max_examples=60)
@given(st.integers(2, 16), st.floats(1e-6, 1e-3), st.floats(1e8, 1e12), st.floats(0.25, 4.0), st.sampled_from(Collective))
def test_what_fits_is_within_the_budget(gpus: int, latency_s: float, bandwidth: float, gpu_s: float, control: Collective) -> None:
    """Whatever the node reaches and the site allows."""
    plan, allowed, speed = within_node(gpus, (control,)), Limits(gpu_s=gpu_s), Speed(latency_s, bandwidth)
    assert plan is not None

    found = fitted(plan, allowed, speed)

    assert found is None or refusal(Ledger(), allowed, cost(found, speed), 1.8e9) is None
    assert isinstance(cost(plan, speed), Cost)
