"""Every threshold of the rules that a site may set, with its unit in the name and its reason; section `signals` follows from it.

Marks: [V] read in the cited source, [M] measured, [D] our own default, to be calibrated on real nodes. What nobody should need to set is in
catalog/limits.py.
"""

from dataclasses import dataclass, field
from typing import Any


def _threshold(default: float, doc: str, reason: str) -> Any:
    return field(default=default, metadata={"doc": doc, "reason": reason})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Ratios are 0 to 1, durations seconds."""

    grace_s: float = _threshold(
        600.0,
        "How long after a boot, a driver load or while the NVLink domain forms nothing is raised for links that are not up.",
        "Links come up in minutes; 214 of 288 nodes raised a false NVLink-down at planned reboots (NVIDIA/NVSentinel#1701) [V, D].",
    )
    hold_s: float = _threshold(
        600.0,
        "How long all reasons of a level must be clear before a link's status falls by one level; doubles with each relapse within 24 h.",
        "A link that flaps looks well between flaps (leptonai/gpud#1110) [D].",
    )
    failed_hold_s: float = _threshold(3600.0, "The same after `failed`.", "A failed link that comes back by itself is no repaired one [D].")
    hold_max_s: float = _threshold(28_800.0, "The longest hold after relapses.", "Eight hours: a shift [D].")
    relapse_s: float = _threshold(86_400.0, "A link that sickens again within this long relapses.", "A day [D].")
    down_passes: float = _threshold(3, "Passes in which an expected link must be down before that counts.", "One poll is noise [V, D].")
    downgrade_passes: float = _threshold(2, "Passes in which a link must run slow or narrow before that counts.", "It trains at once [D].")
    downgrade_ratio: float = _threshold(0.99, "Below this share of the expected speed or width a link is downgraded.", "Rounding [D].")
    implausible_ratio: float = _threshold(
        1.02, "A rate above this share of what the link can carry is wrong, and dropped.", "A counter jumped or the rate lies [D]."
    )
    stall_raise_ratio: float = _threshold(
        0.05,
        "Share of time held back above which a link is congested.",
        "Cray's bands call less negligible (Jha et al., NSDI 2020) [D].",
    )
    stall_clear_ratio: float = _threshold(0.03, "Share of time held back below which it is not any more.", "Hysteresis [D].")
    stall_severe_ratio: float = _threshold(0.15, "Share of time held back that is severe.", "The next band [D].")
    stall_load_ratio: float = _threshold(0.1, "Below this load no stall counts.", "Any ratio of next to nothing is noise [D].")
    pause_raise_ratio: float = _threshold(0.05, "Share of time paused (PFC) above which that counts.", "[D].")
    pause_severe_ratio: float = _threshold(
        0.2, "Share of time paused that is severe.", "A fifth of the line is gone (NVIDIA/daqiri#250) [V, D]."
    )
    marked_ratio: float = _threshold(0.01, "Share of packets with a congestion mark above which that counts.", "With five times usual [D].")
    retransmissions_per_s: float = _threshold(10.0, "Retransmissions per second over five minutes above which that counts.", "[D].")
    bit_error_ratio: float = _threshold(1e-15, "Errors per bit that a link may have.", "IBTA's effective target [B].")
    page_factor: float = _threshold(
        10.0, "Times that ratio over 1 h and 5 min at which a link is degraded.", "Multi-window budgets of the SRE workbook [V, D]."
    )
    errors_min: float = _threshold(10.0, "Errors in the longer window, at least, before a ratio counts.", "One error on an idle day [D].")
    pcie_bit_error_ratio: float = _threshold(
        1e-12,
        "Errors per bit that a PCIe link up to 32 GT/s may have.",
        "The PCIe specification's; DCGM counts replays against it since a fixed number alarmed on healthy nodes (NVIDIA/DCGM#184) [V].",
    )
    nvlink_replays_per_min: float = _threshold(1.0, "NVLink errors a minute for half an hour above which a link is suspect.", "[D].")
    nvlink_crc_per_s: float = _threshold(100.0, "NVLink errors per second at which a link is degraded.", "DCGM's own limit for CRC [V].")
    recoveries_per_h: float = _threshold(3, "NVLink recoveries in an hour at which a link is degraded.", "[D].")
    flaps_per_h: float = _threshold(3, "Flaps in an hour at which a link is degraded.", "gpud raises at three [V].")
    flaps_per_day: float = _threshold(5, "Flaps in a day at which a link is suspect.", "Azure's node check: five in 24 h [V].")
    sibling_ratio: float = _threshold(
        0.7, "Share of its siblings' median below which a link is slow.", "A floor below which chance plays no part [M]."
    )
    sibling_traffic_bytes_per_s: float = _threshold(1e9, "Median traffic below which siblings are not compared.", "Idle links differ [D].")
    rail_ratio: float = _threshold(
        0.7, "Share of the rails' median speed within bursts below which a rail is slow.", "As siblings; 0.5 is a NIC at half speed [M, D]."
    )
    rail_clear_ratio: float = _threshold(0.85, "Share of that median above which it is not any more.", "Hysteresis [D].")
    busy_s: float = _threshold(
        60.0,
        "How long a GPU must have been busy before its PCIe speed counts.",
        "Idle GPUs lower it (local-inference-lab/rtx6kpro#88) [V].",
    )
