"""The bounds of the jobs source fit one another."""

from exporter.catalog.jobs import JOB_FILE_SIZE_BYTES, JOB_ID_LENGTH_MAX, JOB_INFO, JOBS_PER_GPU_MAX


def test_the_row_carries_the_labels_that_users_rely_on() -> None:
    """In this order; `user` comes last, as it is empty on most sites."""
    assert JOB_INFO.labels == ("device", "job_id", "scheduler", "workload_namespace", "workload_pod", "workload_container", "user")


def test_a_full_job_file_of_the_longest_ids_is_not_refused_for_its_size() -> None:
    """As many lines as are read, each with its line end."""
    assert JOBS_PER_GPU_MAX * (JOB_ID_LENGTH_MAX + 1) <= JOB_FILE_SIZE_BYTES
