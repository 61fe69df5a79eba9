"""When two findings are one job, and what is said of it then."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.job import GpuJob, one_each, with_allocated

POD = GpuJob("gpu0", "77", "slurm", "batch", "worker-0", "trainer")
words = st.sampled_from(["", "a", "b"])
jobs = st.lists(st.builds(GpuJob, st.sampled_from(["gpu0", "gpu1"]), st.sampled_from(["1", "2"]), words, words, words, words, words))


def test_one_job_found_in_two_ways_is_one_with_the_details_of_both() -> None:
    """The directory knows the number, the process knows the pod."""
    assert one_each([GpuJob("gpu0", "77", "slurm"), POD]) == (POD,)


def test_a_detail_that_is_told_differently_is_left_empty() -> None:
    """A pod whose two containers share a GPU: neither container's name is true of the job."""
    assert one_each([POD, replace(POD, container="loader")]) == (replace(POD, container=""),)


def test_jobs_of_other_gpus_and_numbers_stay_apart() -> None:
    """A shared GPU has several jobs, a large job several GPUs; sorted by GPU, then by job."""
    listed = [GpuJob("gpu1", "5"), GpuJob("gpu0", "6"), GpuJob("gpu0", "5")]

    assert one_each(listed) == (listed[2], listed[1], listed[0])


@given(jobs)
def test_there_is_exactly_one_row_for_each_job_and_gpu(found: list[GpuJob]) -> None:
    """However often and in whatever order it was found, and doing it again changes nothing."""
    rows = one_each(found)

    assert [(row.device, row.job_id) for row in rows] == sorted({(job.device, job.job_id) for job in found})
    assert one_each(reversed(found)) == one_each(rows) == rows


@given(jobs)
def test_a_detail_stands_there_only_if_all_who_told_it_agree(found: list[GpuJob]) -> None:
    """The user, for one: told once or alike, it is shown; told in two ways, it is not."""
    for row in one_each(found):
        users = {job.user for job in found if (job.device, job.job_id) == (row.device, row.job_id)} - {""}

        assert row.user == (next(iter(users)) if len(users) == 1 else "")


UID = "6f1d2c3b"
SEEN = GpuJob("gpu0", UID, "kubernetes", "batch", "worker-0", "trainer")
ALLOCATED = GpuJob("gpu0", "batch/worker-0", "kubernetes", "batch", "worker-0", "trainer")


def test_a_pod_that_was_given_a_gpu_and_runs_on_it_is_one_job() -> None:
    """With the uid that the process knows, where the kubelet's list has none; with the uid of both; and with the names that only the list
    has."""
    nameless = GpuJob("gpu0", UID, "kubernetes", "", UID)

    assert with_allocated([SEEN], [ALLOCATED]) == [SEEN]
    assert with_allocated([SEEN], [replace(ALLOCATED, job_id=UID)]) == [SEEN]
    assert with_allocated([nameless], [replace(ALLOCATED, job_id=UID)]) == [SEEN]


def test_a_slurm_job_within_a_pod_is_the_slurm_job() -> None:
    """The pod is where it runs, and no second job; two of them in one pod are two."""
    others = [POD, replace(POD, job_id="78")]

    assert with_allocated(others, [ALLOCATED]) == others
    assert with_allocated([replace(POD, namespace="", pod=UID, container="")], [replace(ALLOCATED, job_id=UID)]) == [POD]


def test_a_container_that_runs_counts_before_the_one_that_was_given_the_gpu() -> None:
    """A pod of two containers, of which one computes."""
    assert with_allocated([SEEN], [replace(ALLOCATED, container="loader")]) == [SEEN]


def test_a_pod_in_which_nothing_runs_yet_is_a_job_by_itself() -> None:
    """It was given the GPU, and has not touched it; the job of another pod or GPU is not its own."""
    elsewhere = replace(SEEN, device="gpu1")
    others = [elsewhere, replace(SEEN, namespace="web", job_id="7"), GpuJob("gpu0", "77", "slurm")]

    assert with_allocated(others, [ALLOCATED]) == [*others, ALLOCATED]


@given(jobs, jobs)
def test_no_job_that_runs_is_lost_to_a_pod(running: list[GpuJob], allocated: list[GpuJob]) -> None:
    """Each keeps its GPU, its number and its scheduler."""
    found = with_allocated(running, allocated)

    assert [(job.device, job.job_id, job.scheduler) for job in found[: len(running)]] == [
        (job.device, job.job_id, job.scheduler) for job in running
    ]
    assert set(found[len(running) :]) <= set(allocated)
