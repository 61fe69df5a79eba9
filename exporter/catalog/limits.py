"""Every threshold of the house, each with its unit in the name and its reason. Data, no behaviour.

Marks: [M] measured, [V] read in the cited source, [D] our own default, still to be calibrated on real nodes.
"""

DEADLINE_INTERVALS = 0.9
"""A device that has not answered within this many of its shortest intervals is flagged as hung [D]; P6 allows 2. A little less than one, so
that the tick that comes an interval later flags it and not the one after."""

DEADLINE_MIN_S = 1.0
"""Below this a slow firmware command would be called a hang [D]."""

GATHER_RATIO = 0.2
"""Share of the shortest interval that a tick waits for its readers before it shows what it has [D]."""

GATHER_MAX_S = 1.0
"""A tick never waits longer than this for a slow device [D]."""

DUTY_MAX_RATIO = 0.02
"""A source's interval is stretched when its reads take more than this share of wall time (interface.md)."""

STRETCH_MAX_S = 300.0
"""The duty guard and the back-off never stretch an interval beyond this [D]."""

PATIENT_WAIT_S = 0.0005
"""A device whose pass waits (wall less CPU) longer than this gets a thread of its own; faster ones share one [M: page cache passes wait
about 0.05 ms, a pass with 200 µs a file 5 ms]."""

STALE_INTERVALS = 3
"""A feed leaves the page when its last Snapshot is older than this many of its intervals (interface.md)."""

STALE_MIN_S = 5.0
"""… but never sooner than this (interface.md)."""

FILE_REST_S = 60.0
"""A file that failed is left alone this long, then twice as long, and so on: each refused PMA read costs a kernel log line [D]."""

FILE_REST_MAX_S = 3600.0
"""Longest rest of a failing file [D]."""

PROBE_FILES = 3
"""If the first files of a folder are all refused, the rest of the folder is not tried in that pass (bnxt_re refuses every file of
counters/: prometheus/procfs#675) [D]."""

LIST_AGAIN_S = 5.0
"""A device's folders are listed again with a slow pass, but not sooner than this after the last time [D]."""

HW_EVENTS_UNKNOWN_MAX = 128
"""hw_counters files of names we do not know, at most, a port: hfi1 has hundreds (prometheus/node_exporter#2023) [D]."""

READ_SIZE_BYTES = 128
"""A sysfs attribute of ours is a number or a short word; a longer answer is refused as `parse`."""

SERIES_CAP = 30_000
"""Series on one page, at most, unless configured: four times the full tier of a DGX H100 (targets.md P11) [D]."""

AER_SIZE_BYTES = 4096
"""An aer_dev_* attribute is some twenty lines; sysfs answers with at most one page."""

SCAN_LEAST_S = 15.0
"""Sources are not asked which devices there are more often than this, unless their slow interval is shorter [D]."""

PCI_LOOK_AGAIN_S = 300.0
"""Class, vendor and path of every PCI function are read anew this often, and when a device was lost: the address may have changed hands."""

LEARN_LINK_AFTER_S = 7 * 86_400.0
"""A PCIe link never seen better for this long is taken to be built so: GPUs leave their idle speed within days, and a riser that is bad
from its first day is shown as degraded for that week [D]."""

LEARNED_LINKS_MAX = 1024
"""PCI functions remembered, at most; the oldest are forgotten first: virtual machines may number theirs anew at each boot [D]."""

NVLINKS_MAX = 36
"""Ports asked for on a GPU whose driver does not say how many it has (nvml.h, NVML_NVLINK_MAX_LINKS)."""

LEARN_NVLINK_AFTER_S = 600.0
"""A link that was active for this long without a break is wired: shorter, it may be a bridge that somebody is trying out [D]."""

LEARNED_GPUS_MAX = 256
"""GPUs whose links are remembered, at most; cards come and go with repairs [D]."""

CHILD_ANSWER_S = 10.0
"""The NVML child has so long for one answer; then it is asked to end. A healthy driver needs milliseconds, a busy one seconds [D]."""

CHILD_TERM_S = 20.0
"""A child that was asked to end (SIGTERM) may finish the call it is in for so long: killing it within a call has wedged GPUs
(NVIDIA/dcgm-exporter#84) [D]."""

CHILD_KILL_S = 5.0
"""A killed child has gone by now, or it is stuck in the kernel and will stay [D]."""

CHILD_BACK_OFF_S = 2.0
"""Pause before the NVML child is started again; doubles with each start that brought nothing [D]."""

CHILD_BACK_OFF_MAX_S = 120.0
"""… up to this: a node whose driver comes late is seen within two minutes [D]."""

PROBE_MEMORY_IDLE_BYTES = 1_288_490_188
"""1.2 GiB: memory in use on a GPU above what it uses when idle, without a process that the driver names, that counts as somebody's
(leftovers of a crashed job: NVIDIA/k8s-device-plugin#12) [D, research/nccl-probe.md §2.2]."""

PROBE_UTILISATION_IDLE_RATIO = 0.02
"""A GPU that was busier than this in any of the samples of the last seconds is in use [D, research/nccl-probe.md §2.2]."""

# Probes (exporter/probes). Their evidence is research on NCCL, nccl-tests and what sites publish; each names its source.

PROBE_INTERVAL_S = 900.0
"""Seconds between two probes of one kind unless configured: what a probe disturbs is counted by contexts an hour, not by bytes [D]."""

PROBE_INTERVAL_MIN_S = 300.0
"""No site may set a shorter interval [D]."""

PROBE_WALL_S = 45.0
"""A run has ended by then, whatever hangs: initialisation 20, measuring 5, teardown 5, and slack [D]; Slurm kills a health check after 60 s
(slurm.conf, HealthCheckProgram)."""

PROBE_GPU_S = 2.0
"""Seconds in one run in which GPUs work, at most [D]."""

PROBE_DUTY_RATIO = 0.005
"""Share of the last hour in which GPUs worked for probes, at most [D]."""

PROBE_BYTES_PER_GPU = 32 * 2**30
"""Bytes that a GPU sends in one run within a node, at most: some 0.1 s of NVLink. The usual plan for eight needs 21 GiB [D]."""

PROBE_BYTES_PER_NIC = 4 * 2**30
"""Bytes that a NIC sends in one run between nodes, at most: 0.1 s of 400 Gb/s [D]."""

PROBE_BYTES_PER_NIC_HOUR = 16 * 2**30
"""… and in an hour [D]."""

PROBE_BUFFER_BYTES = 256 * 2**20
"""Longest message: one such buffer to send, one to receive, and NCCL's own stay below 1.5 GiB of GPU memory [D]."""

PROBE_FAILURES_MAX = 3
"""After so many failed runs in a row the circuit opens: no probe until a pause is over [D]."""

PROBE_PAUSE_S = 1800.0
"""First pause after the circuit opened; doubles with each further failure [D]."""

PROBE_PAUSE_MAX_S = 86_400.0
"""… up to a day."""

PROBE_WARM_UP_S = 0.2
"""Clocks of an idle GPU ramp up within that time, and NCCL connects at the first collective (NCCL_RUNTIME_CONNECT) [V, D]."""

PROBE_WARM_UP_MIN = 5
"""Collectives before the first that is timed, at least, for each size: the first of a size may choose another algorithm [D]."""

PROBE_P95_MIN = 20
"""Fewer times have no 95th percentile: by nearest rank it would be their maximum (as nccl-tests' README says of its p99 below 100)."""

PROBE_FIT_SMALL_BYTES = 64 * 2**10
"""Sizes up to this tell the latency: beyond, NCCL leaves its low-latency protocol. On a published curve of 32 ranks small sizes say 74 µs,
all of them 84 [M]."""

PROBE_FIT_LARGE_BYTES = 16 * 2**20
"""Sizes from this on tell the bandwidth: NCCL has changed its algorithm by then, and smaller ones would give 20 instead of 49 GB/s [M]."""

PROBE_FIT_POOR_RATIO = 0.35
"""Measured times further than this from the line: no latency and no bandwidth are published. A sound curve of 32 ranks over six decades,
with its change of algorithm, reaches 26 % [M]."""

PROBE_FIT_SCALE_MIN_RATIO = 0.005
"""Times closer to the line than this are on it; robust weights start beyond [D]."""

PROBE_PAIR_MADS = 4.5
"""A GPU or a path is low when it lies so many median absolute deviations (3 standard deviations) below the model [M: 400 trials each]."""

PROBE_PAIR_LOSS_MIN_RATIO = 0.05
"""… and at least this share: one NVLink of 18 is 5.6 % [D]."""

PROBE_PAIR_GPUS_MIN = 4
"""Of fewer GPUs nothing tells who is the slow one [M]."""

PROBE_SWEEPS, PROBE_SWEEPS_LOW = 3, 2
"""An accused GPU or path is confirmed in so many of the last sweeps: at 3 % noise a single sweep accuses somebody on 15 to 17 of 100
healthy nodes, two of three on none of 400 [M]."""

PROBE_LEARN_RUNS = 12
"""Good runs before a baseline is believed [D]."""

PROBE_LEARN_GUARD_RUNS = 5
"""While learning, runs far below the median of at least so many are not learned: a fault of that day would become the norm [D]."""

PROBE_BASELINE_RUNS = 200
"""Good runs of which the baseline is the median: two days at the usual interval [D]."""

PROBE_BASELINES_MAX = 512
"""Baselines kept, at most; those not used for longest are forgotten first: each change of a version starts a new set [D]."""

PROBE_SPREAD_MIN_RATIO = 0.01
"""A baseline is never taken to be steadier than this [D]."""

PROBE_LOW_MADS = 5.0
"""A run is low so many median absolute deviations below its baseline [D] …"""

PROBE_LOW_RATIO, PROBE_CLEAR_RATIO = 0.93, 0.96
"""… and below the first; it speaks for health above the second [D]."""

PROBE_LOW_LEAST_RATIO = 0.5
"""However noisy the runs were: below half of the baseline a run is low [D]."""

PROBE_LATENCY_FACTOR, PROBE_LATENCY_CLEAR_FACTOR = 1.3, 1.15
"""A latency above the first multiple of its baseline is too long; it speaks for health below the second [D]."""

PROBE_JITTER_FACTOR, PROBE_JITTER_CLEAR_FACTOR = 2.0, 1.5
"""The same for jitter, which is noisier [D]."""

PROBE_DECAY_RATIO = 0.9
"""Below this share of the frozen median of its first good runs a run is low, however slowly it came to that [D]."""

PROBE_DRIFT_ALPHA, PROBE_DRIFT_MADS = 0.02, 3.0
"""Weight of a run in the slow mean that shows drift, and how far from the median a run counts there at most [D]."""

PROBE_EXPECTED_MIN_BYTES = 2**30
"""Published bandwidths hold for messages of at least this size: 256 MiB reach 60 to 75 % of what 8 to 16 GiB do on eight GPUs [D]."""

PROBE_EXPECTED_SHARE = 0.75
"""Share of a published bandwidth that is expected of a message smaller than the one it was published for [D]."""

PROBE_MEASURED_SHARE = 0.85
"""Share of a published measurement that serves as a floor: Azure's own limit for peer copies is 335 GB/s where 396 were measured [V]."""

PROBE_MATCHINGS_PER_DAY = 4
"""Pairings of all nodes a day, half of them within a leaf, half across [D]."""
