"""Rows of jobs, and the bounds of reading them: which batch job or pod uses which GPU. Data, no behaviour.

Jobs stand on an info series of their own, never as a label of a counter: a job that ends would end every counter of its GPU and begin new
ones. docs/jobs.md has the queries that join them.
"""

from exporter.model.metric import Kind, Metric, Tier, Unit

JOB_INFO = Metric("gpu_job", "fabric_gpu_job_info", Kind.INFO, Unit.COUNT,
    ("device", "job_id", "scheduler", "workload_namespace", "workload_pod", "workload_container", "user"),
    "A job that uses the GPU; one series for each job and GPU, several on a shared GPU; value is always 1. job_id is the batch job's "
    "number, else the pod's uid, else its namespace/name. A label is empty where nobody says it; user is filled only if jobs.user_label is "
    "on.", Tier.STANDARD,
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

POD_RESOURCES_ANSWER_S = 1.0
"""The kubelet has so long to list its pods; it answers from memory, within milliseconds [D]."""

POD_RESOURCES_REST_S = 60.0
"""A kubelet that did not answer is left alone this long: one second in sixty is within DUTY_MAX_RATIO (limits.py)."""

POD_RESOURCES_SIZE_BYTES = 4 << 20
"""The kubelet's list, at most: 500 pods of five containers, all processors among them, are under 1 MB. Its own tests allow 16 MiB
(kubernetes/kubernetes test/e2e_node/util.go); as protobuf holds it, a hostile list of that size fills the 512 MB of our unit [M]."""

ALLOCATIONS_MAX = 8192
"""Devices of containers looked at in one pass, at most: sixteen GPUs in 64 shares are 1024, and other plugins have theirs [D]."""
