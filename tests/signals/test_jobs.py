"""Links are compared within one job: which one uses a GPU, and what that makes of its links' groups."""

from exporter.catalog.jobs import JOB_INFO
from exporter.model.entity import NODE, Device
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Reading, Snapshot
from exporter.signals.jobs import NO_JOB, Jobs, group_of

FEED = Feed("jobs", "node", Cadence.NORMAL)


def told(*of_gpus: tuple[str, str]) -> Snapshot:
    """A pass that names these GPUs' jobs."""
    rest = ("",) * (len(JOB_INFO.own_labels) - 1)
    return Snapshot(FEED, 0.0, 0.0, tuple(Reading(Device(gpu), {(JOB_INFO.key, job, *rest): 1}) for gpu, job in of_gpus))


def test_nobody_knows_of_jobs_at_first() -> None:
    """All links of the node are one group then."""
    jobs = Jobs()
    jobs.take(Snapshot(FEED, 0.0, 0.0, (Reading(NODE, {}),)))

    assert (jobs.of("gpu0"), group_of("rails", "gpu0", jobs)) == (None, "rails")


def test_links_of_two_jobs_are_two_groups_and_idle_ones_none() -> None:
    """A GPU that several jobs share is a group of its own kind."""
    jobs = Jobs()
    jobs.take(told(("gpu0", "17"), ("gpu1", "18"), ("gpu2", "18"), ("gpu2", "17")))

    assert [group_of("rails", gpu, jobs) for gpu in ("gpu0", "gpu1", "gpu2", "gpu3", "")] == [
        "rails/17", "rails/18", "rails/17,18", "", "rails",
    ]  # fmt: skip
    assert jobs.of("gpu3") == NO_JOB
    assert group_of("", "gpu0", jobs) == ""


def test_the_last_job_that_ends_leaves_one_group() -> None:
    """Nothing is known of jobs any more; a look that failed changes nothing."""
    jobs = Jobs()
    jobs.take(told(("gpu0", "17")))
    jobs.take(Snapshot(FEED, 0.0, 0.0, (), (Fault("jobs", "node", Reason.DENIED, "no"),)))
    failed = jobs.of("gpu0")
    jobs.take(told())

    assert (failed, jobs.of("gpu0")) == ("17", None)
