"""Rows of the probes: short collectives that an idle node runs on itself or with a partner, and what they found. Data, no behaviour.

`fabric-exporter probe` measures, the daemon shows (runtime/probe_source.py). `size` is the size of a message in bytes, one of a
fixed set; GPUs are told by `src_device` and `dst_device`. Series without `device` are the node's.
"""

from exporter.model.metric import Kind, Metric, Tier, Unit

NAME = "fabric_probe_"
NOT_PROBED = "nobody probed this node, or too long ago"
KIND = ("kind",)
COLLECTIVE = ("collective", "size")
ALGORITHM = (*COLLECTIVE, "algo", "proto")


def _row(key: str, kind: Kind, unit: Unit, labels: tuple[str, ...], help_text: str, tier: Tier = Tier.STANDARD) -> Metric:
    name = f"{NAME}{key}_total" if kind is Kind.COUNTER else NAME + key
    return Metric("probe_" + key, name, kind, unit, labels, help_text, tier, absent=NOT_PROBED, captured=False)


def _gauge(key: str, unit: Unit, labels: tuple[str, ...], help_text: str, tier: Tier = Tier.STANDARD) -> Metric:
    return _row(key, Kind.GAUGE, unit, labels, help_text, tier)


def _counter(key: str, labels: tuple[str, ...], help_text: str, unit: Unit = Unit.COUNT) -> Metric:
    return _row(key, Kind.COUNTER, unit, labels, help_text, Tier.BASIC)


RUNS = _counter("runs", (*KIND, "outcome"), "Probes by kind and outcome: success, degraded, failed, skipped, preempted or aborted.")
SKIPPED = _counter("skipped", (*KIND, "reason"),
    "Probes that were not run, by the gate that was shut: gpu_busy, allocated, budget and others.")  # fmt: skip
FAILURES = _counter("failures", (*KIND, "reason"), "Probes that began and did not end well, by reason.")
LAST_RUN = _gauge("last_run_timestamp_seconds", Unit.TIMESTAMP, KIND, "When a probe of the kind last began, in Unix time.", Tier.BASIC)
LAST_SUCCESS = _gauge("last_success_timestamp_seconds", Unit.TIMESTAMP, KIND,
    "When a probe of the kind last measured something, in Unix time.", Tier.BASIC)  # fmt: skip
LAST_DURATION = _gauge("last_run_duration_seconds", Unit.SECONDS, (*KIND, "phase"),
    "How long each phase of the last probe took: gate, init, warmup, measure, teardown.")  # fmt: skip
BUS_BANDWIDTH = _gauge("bus_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, (*KIND, *ALGORITHM),
    "Bandwidth that each link must have carried for the measured time, whatever the number of ranks (nccl-tests calls it busbw).",
    Tier.BASIC)  # fmt: skip
ALGORITHM_BANDWIDTH = _gauge("algorithm_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, (*KIND, *ALGORITHM),
    "Bytes of the message by the time that the collective took (nccl-tests calls it algbw).")  # fmt: skip
LATENCY = _gauge("latency_seconds", Unit.SECONDS, (*KIND, *ALGORITHM, "stat"),
    "How long one collective took in the last probe; stat is p50, p95 or max.", Tier.BASIC)  # fmt: skip
ITERATIONS = _row("iteration_seconds", Kind.HISTOGRAM, Unit.SECONDS, COLLECTIVE, "Single collectives of all probes by their time.",
    Tier.FULL)  # fmt: skip
JITTER = _gauge("jitter_ratio", Unit.RATIO, COLLECTIVE, "Spread of the iterations of the last probe as a share of their median.")
RANK_SKEW = _gauge("rank_skew_seconds", Unit.SECONDS, COLLECTIVE, "Time between the first and the last rank to finish, median.")
FIT_LATENCY = _gauge("fit_latency_seconds", Unit.SECONDS, ("collective",),
    "Latency of the straight line through time over size: what a message without content costs.")  # fmt: skip
FIT_BANDWIDTH = _gauge("fit_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, ("collective",),
    "Bandwidth of the straight line through time over size.")  # fmt: skip
FIT_RESIDUAL = _gauge("fit_residual_ratio", Unit.RATIO, ("collective",), "How far the measured times lie from that line.")
PAIR_BANDWIDTH = _gauge("pair_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, ("src_device", "dst_device"),
    "Bandwidth from one GPU of the node to another.")  # fmt: skip
PEER_BANDWIDTH = _gauge("peer_node_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, ("rail", "scope"),
    "Bandwidth to the partner node by rail; scope is same_leaf or cross_leaf.")  # fmt: skip
WRONG = _counter("wrong_elements", ("collective",), "Numbers that came out wrong: any increase is corrupt data.")
BASELINE = _gauge("baseline_ratio", Unit.RATIO, (*KIND, *COLLECTIVE),
    "Bandwidth of the last probe as a share of what this node reached in its good runs.", Tier.BASIC)  # fmt: skip
LEARNING = _gauge("baseline_learning", Unit.COUNT, (*KIND, *COLLECTIVE), "1 while there are too few good runs to compare with.")
STATE = _gauge("state", Unit.COUNT, (*KIND, "state"), "1 for the state the probe is in, 0 for the others.")
SUSPECT = _gauge("suspect", Unit.COUNT, ("scope", "id"), "1 while probes accuse this gpu, pair, nic or node (scope).", Tier.BASIC)
TRANSPORT = _row("transport_info", Kind.INFO, Unit.COUNT, ("net", "gdr", "p2p", "shm", "hca_count"),
    "Transports that NCCL chose in the last probe; value is always 1.")  # fmt: skip
NCCL = _row("nccl_info", Kind.INFO, Unit.COUNT, ("nccl", "cuda_driver", "path_kind"),
    "Versions of the last probe's NCCL and CUDA driver, and how the library was found; value is always 1.")  # fmt: skip
BYTES = _counter("bytes", KIND, "Bytes that probes sent: their own cost.", Unit.BYTES)
GPU_SECONDS = _counter("gpu_seconds", KIND, "Time on GPUs that probes took: their own cost.", Unit.SECONDS)
CIRCUIT_OPEN = _gauge("circuit_open", Unit.COUNT, (), "1 while probes are off after repeated failures.", Tier.BASIC)
STUCK = _gauge("stuck_process", Unit.COUNT, (), "1 while a probe's process cannot be ended.", Tier.BASIC)

ROWS = (RUNS, SKIPPED, FAILURES, LAST_RUN, LAST_SUCCESS, LAST_DURATION, BUS_BANDWIDTH, ALGORITHM_BANDWIDTH, LATENCY, ITERATIONS, JITTER,
        RANK_SKEW, FIT_LATENCY, FIT_BANDWIDTH, FIT_RESIDUAL, PAIR_BANDWIDTH, PEER_BANDWIDTH, WRONG, BASELINE, LEARNING, STATE, SUSPECT,
        TRANSPORT, NCCL, BYTES, GPU_SECONDS, CIRCUIT_OPEN, STUCK)  # fmt: skip
