"""Whether somebody works on the node, by what several say of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.maintenance import REASON_LENGTH_MAX, Claim, Maintenance, merged, of_file, of_slurm, of_taints

NOW_S = 1_772_388_000.0
"""2026-03-01T18:00:00Z."""


def test_nobody_claims_anything() -> None:
    """Origins that could not be asked among them."""
    assert merged([], NOW_S) == merged([None, None], NOW_S) == Maintenance()


def test_one_claim_is_enough_and_all_reasons_are_told() -> None:
    """The end is the last one."""
    claims = [Claim("file", "swap optics", NOW_S + 60), None, Claim("command", "", NOW_S + 90)]

    assert merged(claims, NOW_S) == Maintenance(is_active=True, reason="file: swap optics; command", until_wall_s=NOW_S + 90)


def test_a_claim_without_an_end_has_the_last_word() -> None:
    """Nobody knows when all are over."""
    assert merged([Claim("file", "x", NOW_S + 60), Claim("slurm", "y")], NOW_S).until_wall_s is None


def test_a_claim_whose_time_is_up_is_none() -> None:
    """At its end it is over."""
    assert merged([Claim("command", "done", NOW_S)], NOW_S) == Maintenance()


@pytest.mark.parametrize(
    ("raw", "claim"),
    [
        (b"", Claim("file")),
        (b"\n  swap optics of mlx5_3 \nsecond line", Claim("file", "swap optics of mlx5_3")),
        (b"until: 2026-03-01T18:00:00Z\nswap", Claim("file", "swap", NOW_S)),
        (b"swap\nUntil: 2026-03-01T19:00:00+01:00", Claim("file", "swap", NOW_S)),
        (b"a\x1b[2Jb\xff", Claim("file", "a\\x1b[2Jb\N{REPLACEMENT CHARACTER}")),
    ],
)
def test_a_file_claims_by_being_there(raw: bytes, claim: Claim) -> None:
    """A reason and an end are welcome; what does not print is escaped."""
    assert of_file(raw) == (claim, "")


@pytest.mark.parametrize("text", ["tomorrow", "2026-03-01T18:00:00", "", "9999999-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59"])
def test_an_end_that_cannot_be_read_is_no_end_and_is_told(text: str) -> None:
    """Without a zone nobody knows which hour is meant."""
    claim, problem = of_file(f"until: {text}\nswap".encode())

    assert claim == Claim("file", "swap")
    assert problem.startswith("until: expected a time with its zone such as 2026-03-01T18:00:00Z, got ")


@pytest.mark.parametrize(
    "state", ["IDLE+DRAIN", "MIXED+DRAIN", "ALLOCATED+DRAIN+RESERVED", "drained*", "draining", "IDLE+MAINTENANCE", "MAINT", "maint*"]
)
def test_a_drained_or_reserved_slurm_node_is_worked_on(state: str) -> None:
    """As scontrol and sinfo spell it."""
    assert of_slurm(state, "swap optics [root@2026-03-01]") == Claim("slurm", "swap optics [root@2026-03-01]")


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED+CLOUD", "DOWN*", "DOWN+NOT_RESPONDING", "FAIL", "", "+++"])
def test_other_states_of_a_slurm_node_are_not(state: str) -> None:
    """Down is a fault, not work."""
    assert of_slurm(state, "anything") is None


@pytest.mark.parametrize(
    "reason",
    [
        "Prolog error", "batch job complete failure [root@2026-03-01]", "fabric-exporter: mlx5_3 failed",
        "gres/gpu count reported lower than configured (7 < 8) [slurm@2026-03-01T09:00:00]", "NHC: check_hw_ib:  No IB port is ACTIVE",
        "Low RealMemory (reported:1000 < 100.00% of configured:2000)",
    ],
)  # fmt: skip
def test_a_drain_of_slurm_s_own_does_not_silence_the_fault_that_made_it(reason: str) -> None:
    """`check` in the prolog drains the node; its alert must go on. A reservation for maintenance counts beside it."""
    assert of_slurm("IDLE+DRAIN", reason) is None
    assert of_slurm("IDLE+DRAIN+MAINTENANCE", reason) == Claim("slurm", reason)


def test_a_site_may_name_reasons_of_its_own_programs() -> None:
    """A word in them is enough."""
    assert of_slurm("IDLE+DRAIN", "[AutoTriage] link down", ["autotriage"]) is None
    assert of_slurm("IDLE+DRAIN", "swap optics", ["autotriage"]) == Claim("slurm", "swap optics")


def test_a_taint_counts_by_its_key() -> None:
    """The first of the wanted ones; others have nothing to do with it."""
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}, {"key": "example.com/repair", "value": "optics", "effect": "NoExecute"}]

    assert of_taints(taints, ["example.com/repair"]) == Claim("kubernetes", "example.com/repair=optics")
    assert of_taints(taints, ["nvidia.com/gpu"]) == Claim("kubernetes", "nvidia.com/gpu")
    assert of_taints(taints, ["else"]) is None
    assert of_taints([{}], [""]) is None


@given(st.binary(max_size=400), st.text(max_size=60), st.text(max_size=400))
def test_junk_costs_nothing_and_fits_one_line(raw: bytes, state: str, reason: str) -> None:
    """Whatever stands in a file or comes from a scheduler."""
    claims = [of_file(raw)[0], of_slurm(state + "+DRAIN", reason), of_taints([{"key": "k", "value": reason}], ["k"])]
    told = merged(claims, NOW_S)

    assert told.is_active
    assert told.reason.isprintable()
    assert len(told.reason) < 40 * REASON_LENGTH_MAX
