"""Whether a GPU is well in its NVLink domain, by all that it says of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.gpu_fabric import NIL_UUID, health_fields, is_healthy
from tests.nvml_library import constants

CLUSTER = "00000000-0000-0000-0000-000000000001"
COMPLETED = 3
MASKS = st.integers(0, 2**32 - 1)
PARTITION_NOT_ASSIGNED, ROUTE_UNHEALTHY = 2 << 12, 1 << 4


def test_states_and_summaries_are_those_of_the_header() -> None:
    """NVML_GPU_FABRIC_STATE_… and …_HEALTH_SUMMARY_…; only a completed one with a good or no summary is well."""
    states = {name: constants()[f"NVML_GPU_FABRIC_STATE_{name}"] for name in ("NOT_SUPPORTED", "NOT_STARTED", "IN_PROGRESS", "COMPLETED")}
    summaries = {name: constants()[f"NVML_GPU_FABRIC_HEALTH_SUMMARY_{name}"]
                 for name in ("NOT_SUPPORTED", "HEALTHY", "UNHEALTHY", "LIMITED_CAPACITY")}  # fmt: skip

    assert {name: is_healthy(state, 0, CLUSTER, 0, 0) for name, state in states.items()} == {
        "NOT_SUPPORTED": None, "NOT_STARTED": None, "IN_PROGRESS": None, "COMPLETED": True}  # fmt: skip
    assert {name: is_healthy(COMPLETED, 0, CLUSTER, 0, summary) for name, summary in summaries.items()} == {
        "NOT_SUPPORTED": True, "HEALTHY": True, "UNHEALTHY": False, "LIMITED_CAPACITY": False}  # fmt: skip


@pytest.mark.parametrize("mask", [None, 0])
@pytest.mark.parametrize("summary", [None, 0])
def test_an_older_layout_is_judged_by_state_and_status(mask: int | None, summary: int | None) -> None:
    """What it lacks is held against nobody; "completed" alone does not do (Azure/azhpc-images#506)."""
    assert [is_healthy(COMPLETED, status, NIL_UUID, mask, summary) for status in (0, 23, 999)] == [True, False, False]


def test_a_missing_partition_counts_only_in_a_domain() -> None:
    """A node without a cluster has nothing to be assigned to; other faults of it count."""
    asked = [(CLUSTER, PARTITION_NOT_ASSIGNED), (NIL_UUID, PARTITION_NOT_ASSIGNED), (NIL_UUID, PARTITION_NOT_ASSIGNED | ROUTE_UNHEALTHY)]

    assert [is_healthy(COMPLETED, 0, cluster, mask, 1) for cluster, mask in asked] == [False, True, False]


@given(MASKS)
def test_health_fields_hold_only_what_is_supported(mask: int) -> None:
    """At most seven, none of them 0, each as narrow as its bits."""
    fields = health_fields(mask)

    assert len(fields) <= 7
    assert all(1 <= value <= (15 if name == "incorrect_configuration" else 3) for name, value in fields.items())
    assert health_fields(mask & 0xFFFF) == fields


@given(st.integers(), st.integers(), st.sampled_from((CLUSTER, NIL_UUID, "")), st.none() | MASKS, st.none() | st.integers(0, 255))
def test_nothing_that_a_driver_says_is_refused(state: int, status: int, cluster: str, mask: int | None, summary: int | None) -> None:
    """Well, not well, or not known; never well with a status."""
    verdict = is_healthy(state, status, cluster, mask, summary)

    assert verdict in (True, False, None)
    assert not (verdict and status)
    assert (verdict is None) == (state != COMPLETED)
