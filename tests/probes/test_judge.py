"""A probe against the node's own past: what is judged, what teaches, and what is said of it."""

from exporter.probes.baseline import State
from exporter.probes.baseline_store import Baselines
from exporter.probes.collectives import Collective
from exporter.probes.judge import Judged, judged
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import Outcome, Report
from tests.probes.reports import ALL_REDUCE, GOOD

LONG = (Collective.ALL_REDUCE, ALL_REDUCE.size_bytes)


def after(reports: list[Report]) -> tuple[Judged, Baselines]:
    """The last of them, judged after those before it."""
    baselines = Baselines()
    for number, report in enumerate(reports):
        found, baselines = judged(report._replace(ended_wall_s=GOOD.ended_wall_s + 900 * number), baselines)
    return found, baselines


def with_share(share: float) -> Report:
    """The good probe with that share of its bandwidth at the long size."""
    slow = ALL_REDUCE._replace(bus_bandwidth=(ALL_REDUCE.bus_bandwidth or 0.0) * share)
    return GOOD._replace(sizes=(slow, *GOOD.sizes[1:]))


def test_the_first_runs_only_teach() -> None:
    """Twelve of them, by bandwidth of the long size and latency of the short one."""
    found, baselines = after([GOOD] * 12)

    assert [one.ratio for one in found.report.usual] == [None, None]
    assert len(baselines.kept) == 2
    assert after([GOOD] * 13)[0].report.usual[0].ratio == 1.0


def test_a_node_that_lost_a_quarter_is_degraded_after_three_of_four() -> None:
    """With the figure that decided."""
    once, thrice = after([GOOD] * 12 + [with_share(0.75)])[0], after([GOOD] * 12 + [with_share(0.75)] * 3)[0]

    assert (once.report.outcome, once.state) == (Outcome.SUCCESS, State.OK)
    assert (thrice.report.outcome, thrice.report.state) == (Outcome.DEGRADED, State.DEGRADED)
    assert thrice.report.detail == "all_reduce of 268435456 bytes reaches 75% of this node's usual"


def test_a_contended_probe_is_never_judged_and_never_teaches() -> None:
    """However low it is, however often: others' traffic says nothing of the link."""
    found, baselines = after([GOOD] * 12 + [with_share(0.3)._replace(contended=True)] * 20)

    assert found.state is State.OK
    assert found.report.outcome is Outcome.SUCCESS
    assert baselines == after([GOOD] * 12)[1]


def test_a_probe_that_did_not_measure_teaches_nothing() -> None:
    """Skipped, preempted, failed and aborted ones."""
    for outcome, reason in ((Outcome.SKIPPED, Skipped.GPU_BUSY), (Outcome.PREEMPTED, Skipped.GPU_BUSY), (Outcome.FAILED, Failure.OOM)):
        found, baselines = after([GOOD._replace(outcome=outcome, reason=reason)])
        assert (found.by, baselines.kept) == ({}, {})


def test_corrupt_data_is_degraded_at_once() -> None:
    """Whatever the speed, and while learning."""
    found, _ = after([GOOD._replace(sizes=(ALL_REDUCE._replace(wrong=3),))])

    assert (found.report.outcome, found.report.reason, found.state) == (Outcome.DEGRADED, Failure.DATA_MISMATCH, State.DEGRADED)


def test_other_versions_begin_to_learn_anew() -> None:
    """An upgrade may be slower by right."""
    assert GOOD.library is not None
    upgraded = with_share(0.7)._replace(library=GOOD.library._replace(nccl="2.30.0"))
    found, baselines = after([GOOD] * 12 + [upgraded] * 4)

    assert found.state is State.OK
    assert len(baselines.kept) == 4
