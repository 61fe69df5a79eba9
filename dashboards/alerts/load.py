"""Alerts about traffic that is held back, sent again, paused, or slower than its siblings': a ratio of nothing is noise."""

from dashboards.alerts.alert import Alert, Component, Guard, Runbook, Severity
from dashboards.alerts.expression import DEVICE, LINK, happened, mean, rate, select
from dashboards.alerts.guards import MUTED, known
from exporter.catalog.gpudirect import AVAILABLE, EXPECTED
from exporter.catalog.signals import (
    CONDITION,
    CONGESTION,
    PAUSED,
    RAIL_BURST,
    RETRANSMISSIONS,
    RETRIES_EXCEEDED,
    SIBLING,
    UTILIZATION,
)
from exporter.model.entity import Fabric
from exporter.model.health import Why

STALLED, LOADED = 0.05, 0.10
"""As signals.stall_raise_ratio and signals.stall_load_ratio of docs/configuration.md [D]."""
PAUSED_SHARE = 0.05
"""As signals.pause_raise_ratio [D]."""
RESENT_PER_S, RESENT_LONG_PER_S = 10, 1
"""As signals.retransmissions_per_s, and the hour's floor that tells a burst from what goes on [D]."""
SOME = "> 0.01"
SLOW_SHARE = 0.7
"""As signals.sibling_ratio and signals.rail_ratio: a floor below which chance plays no part [M]."""

CONGESTED = Alert("FabricLinkCongested", Severity.WARNING, Component.LINK, mean(CONGESTION, "5m"), ">", STALLED,
    (Guard("long", f"and {mean(CONGESTION, '30m')} > {STALLED}", "a burst of five minutes is no congestion"),
     Guard("load", f'and {LINK} {mean(UTILIZATION, "5m", direction="transmit")} > {LOADED}',
           "any ratio on a quiet port is noise"),
     *MUTED),
    "{link} on {node} is held back {percent} of the time",
    "{link} on {node} had data to send and could not, {percent} of the last five minutes. It carries load, so somebody waits.",
    Runbook("The network takes the node's data too slowly: incast, a slow receiver, or a victim of a neighbour's congestion. A node sees "
        "only its own side; `fabric_link_congestion_class` says what it looks like from here.",
        ("fabric-exporter check --json", "fabric-exporter scrape | grep congestion"),
        ("`incast` or `sender_blocked`: placement of the job, adaptive routing, ECN.",
         "`receiver_slow`: look at the receiver's PCIe and host.", "`victim`: look at the other nodes of the leaf."),
        "Cards before ConnectX-6 count in other ticks: set `signals.tick_bytes`."),
    "0s", "10m", notable=SOME)  # fmt: skip


def _paused(name: str, direction: str, summary: str, description: str, runbook: Runbook) -> Alert:
    return Alert(name, Severity.WARNING, Component.LINK, mean(PAUSED, "5m", direction=direction), ">", PAUSED_SHARE, MUTED, summary,
                 description, runbook, "5m", "10m", "ethtool -S NETDEV | grep -i pause", notable=SOME)  # fmt: skip


LINK_PAUSED = _paused("FabricLinkPaused", "receive", "{link} on {node} is paused {percent} of the time",
    "The network paused priority {priority} of {link} on {node} for {percent} of the last five minutes (PFC).",
    Runbook("The switch tells this port to send nothing: congestion further on. All drop counters can be 0 meanwhile "
        "(NVIDIA/daqiri#250: a fifth of the line was lost so).",
        ("ethtool -S NETDEV | grep -i pause", "fabric-exporter scrape | grep paused"),
        ("Find who pauses the switch: a node with FabricHostPausesNetwork on the same leaf.",
         "Tune ECN so that it acts before PFC.")))  # fmt: skip
HOST_PAUSES = _paused("FabricHostPausesNetwork", "transmit", "{node} pauses the network {percent} of the time",
    "{link} on {node} paused priority {priority} of the network for {percent} of the last five minutes: this host is slow.",
    Runbook("The NIC cannot hand over what it receives and stops the network, and others with it: PCIe below its speed, memory or IOMMU, "
        "a NUMA mistake.",
        ("fabric-exporter check --json", "ethtool -S NETDEV | grep -E 'pause|out_of_buffer|pci'"),
        ("Look at the NIC's PCIe link first (FabricPCIeDowngraded).", "Then at NUMA binding, IOMMU and ACS.",
         "Drain it if others suffer.")))  # fmt: skip

PAUSE_STORM = Alert("FabricPauseStorm", Severity.CRITICAL, Component.LINK, select(CONDITION, reason=Why.PAUSE_STORM), ">", 0, MUTED,
    "{link} on {node} stopped the network", "The NIC of {link} on {node} paused the network so long that it was stopped from it.",
    Runbook("The NIC's storm guard acted: the host did not take packets for seconds. Everybody behind the same switch was stopped.",
        ("ethtool -S NETDEV | grep -i storm", "dmesg | tail -100"),
        ("Drain the node at once.", "Look for a hung host or GPU; reboot; then replace the NIC.")),
    "0s", "30m", "ethtool -S NETDEV | grep -i storm")  # fmt: skip

RETRANSMITS = Alert("FabricRetransmissions", Severity.WARNING, Component.LINK, rate(RETRANSMISSIONS, "5m"), ">", RESENT_PER_S,
    (Guard("long", f"and {rate(RETRANSMISSIONS, '1h')} > {RESENT_LONG_PER_S}", "a minute's burst at a job's start is no loss"), *MUTED),
    "{link} on {node} sends {value} packets a second again", "{link} on {node} sends {value} packets a second again; somebody loses them.",
    Runbook("Packets are lost on the way: a bad cable anywhere on the path, a lossless priority with a hole, an MTU that differs.",
        ("fabric-exporter check --json", "ibdiagnet (InfiniBand) or the switches' drop counters (RoCE)"),
        ("Compare the nodes that retransmit: what path do they share?", "RoCE: PFC and ECN settings of each hop.", "Then cable, then MTU."),
        "Requests that were flushed and duplicates are left out: they rise whenever a job ends."),
    "1m", "10m", notable="> 0")  # fmt: skip

RETRIES = Alert("FabricRetriesExceeded", Severity.WARNING, Component.LINK, happened(RETRIES_EXCEEDED, "10m"), ">", 0,
    (known("infiniband"), *MUTED),
    "A connection over {link} on {node} broke", "A connection over {link} on {node} ran out of retries: the job on it most likely ended.",
    Runbook("The peer did not answer in all retries. A peer that died or rebooted does this to everybody it spoke with, so it pages "
        "nobody by itself.",
        ("fabric-exporter check --json", "NCCL's log of the job: `NET/IB : Got completion … error 12`"),
        ("Find the dead peer: the node that all complaining nodes have in common.", "None is dead: look at the path between the two.")),
    "0s", "10m")  # fmt: skip

IMBALANCE = Alert("FabricNVLinkImbalance", Severity.WARNING, Component.LINK, mean(SIBLING, "5m", fabric=Fabric.NVLINK.value), "<",
    SLOW_SHARE,
    (Guard("judged", f"and {LINK} {select(CONDITION, reason=Why.SLOW_SIBLING)} == 1",
           "the node's rule also asks for load, deviation and persistence: chance alone exceeds a ratio in a tenth of all looks [M]"),
     *MUTED),
    "{link} on {node} carries {percent} of what its siblings carry",
    "{link} on {node} carries {percent} of the median of the links that should carry the same.",
    Runbook("One link of a group that shares its load evenly carries less: it retrains, replays or runs slower.",
        ("fabric-exporter check --json", "nvidia-smi nvlink --errorcounters"),
        ("Errors or speed on that link? Take those first.", "Otherwise reset the GPU in the next gap.")),
    "5m", "10m", notable="< 0.9")  # fmt: skip

RAIL_SLOW = Alert("FabricRailSlow", Severity.WARNING, Component.LINK, mean(RAIL_BURST, "5m"), "<", SLOW_SHARE,
    (Guard("judged", f"and {DEVICE} {select(CONDITION, reason=Why.SLOW_RAIL)} == 1",
           "storage NICs and idle nodes are not compared by the node's rule"),
     *MUTED),
    "Rail {device} on {node} runs at {percent} of the others",
    "Rail {device} on {node} reaches {percent} of the other rails' speed within bursts. All rails carry the same bytes, so no mean shows "
    "it.",
    Runbook("One NIC takes longer for the same bytes; every rank waits for it. The burst sampler sees it (docs/bursts.md).",
        ("fabric-exporter check --json", "fabric-exporter topology", "ib_write_bw to a healthy node over that device"),
        ("The same rail on other nodes too: the rail's leaf switch.", "This node only: PCIe, GPUDirect RDMA, then cable.")),
    "5m", "10m")  # fmt: skip

GPUDIRECT_OFF = Alert("FabricGPUDirectOff", Severity.WARNING, Component.LINK, select(AVAILABLE), "<", 1,
    (Guard("expected", f"and {DEVICE} {select(EXPECTED)} == 1", "where it never was available nothing is broken"), *MUTED),
    "{device} on {node} lost GPUDirect RDMA", "{device} on {node} does not reach the GPU's memory without the CPU any more.",
    Runbook("nvidia-peermem is not loaded (and the driver has no DMA-BUF), ACS redirects to the CPU, or the path changed.",
        ("lsmod | grep peermem", "fabric-exporter topology", "fabric-exporter scrape | grep gpudirect"),
        ("`modprobe nvidia-peermem`.", "ACS: switch it off on the PCIe switches between NIC and GPU.",
         "A driver update: rebuild the module.")),
    "10m", "10m")  # fmt: skip

ALERTS = (CONGESTED, LINK_PAUSED, HOST_PAUSES, PAUSE_STORM, RETRANSMITS, RETRIES, IMBALANCE, RAIL_SLOW, GPUDIRECT_OFF)
