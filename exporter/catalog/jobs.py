"""Rows of jobs, and the bounds of reading them: which batch job or pod uses which GPU. Data, no behaviour.

Jobs stand on an info series of their own, never as a label of a counter: a job that ends would end every counter of its GPU and begin new
ones. docs/jobs.md has the queries that join them.
"""

from exporter.model.metric import Kind, Metric, Tier, Unit

JOB_INFO = Metric("gpu_job", "fabric_gpu_job_info", Kind.INFO, Unit.COUNT,
    ("device", "job_id", "scheduler", "workload_namespace", "workload_pod", "workload_container", "user"),
    "A job that uses the GPU; one series for each job and GPU, several on a shared GPU; value is always 1. job_id is the batch job's "
    "number, else the pod's uid. A label is empty where nobody says it; user is filled only if jobs.user_label is on.", Tier.STANDARD,
    absent="no job is known on the GPU: it is idle, or what runs there belongs to no job, or may not be read (the source's faults count "
           "that)", captured=False)  # fmt: skip

ROWS = (JOB_INFO,)

JOBS_PER_GPU_MAX = 64
"""Jobs shown for one GPU, and lines of one job file, at most: MPS serves 48 clients of one GPU, MIG splits it into seven [D]."""

JOB_FILE_SIZE_BYTES = 8192
"""A job file is JOBS_PER_GPU_MAX lines of at most JOB_ID_LENGTH_MAX characters; a longer one is something else."""

JOB_ID_LENGTH_MAX = 120
"""Characters of a job id; PBS writes `123456[7].server.example.org` [D]."""

JOB_FILES_MAX = 1024
"""Job files read, at most: sixteen GPUs of seven MIG instances have 112 [D]."""

GPU_PROCESSES_MAX = 1024
"""Processes on all GPUs looked at in one pass, at most; each new one costs some 0.2 ms, each known one 0.02 ms [M]."""

CGROUP_SIZE_BYTES = 65_536
"""Of /proc/PID/cgroup: a dozen lines (one, on cgroup v2), each a path of at most 4096 bytes."""
