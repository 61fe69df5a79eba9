"""Rows of what the NVIDIA driver writes to the kernel log, and the Xids and SXids that speak of NVLink. Data, no behaviour.

Marks: [V] read in the cited source, [D] our own default. Names: NVIDIA/open-gpu-kernel-modules, nverror.h (Xid) and
ctrl_dev_nvswitch.h (SXid). An event about no link has an empty `port`.
"""

from collections.abc import Mapping

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit

LOG_UNREADABLE = "the kernel log cannot be read (see fabric_exporter_source_up), or this never happened since the machine started"

XID = Metric("xid", "fabric_xid_total", Kind.COUNTER, Unit.COUNT, ("device", "port", "xid"),
    "Xid lines of a GPU in the kernel log since the machine started, by number and by the NVLink they name; port is empty where they "
    "name none.", Tier.BASIC, role=Role.XIDS, cadence=Cadence.FAST, absent=LOG_UNREADABLE)  # fmt: skip
XID_LAST = Metric("xid_last", "fabric_xid_last_timestamp_seconds", Kind.GAUGE, Unit.TIMESTAMP, ("device", "xid"),
    "When a GPU last reported this Xid, in Unix time; right within seconds.", Tier.STANDARD, cadence=Cadence.FAST,
    absent="the GPU has not reported this Xid since the machine started", captured=False)  # fmt: skip
SXID = Metric("sxid", "fabric_sxid_total", Kind.COUNTER, Unit.COUNT, ("device", "port", "sxid"),
    "SXid lines of an NVSwitch (device is its PCI address, port its own link number) in the kernel log since the machine started; "
    "lines of detail that follow are not counted.", Tier.BASIC, cadence=Cadence.FAST, absent=LOG_UNREADABLE, captured=False)  # fmt: skip
OFF_BUS = Metric("gpu_fallen_off_bus", "fabric_gpu_fallen_off_bus_total", Kind.COUNTER, Unit.COUNT, ("device",),
    "Times since the machine started that the kernel log said in words that a GPU fell off the bus. One loss may show here, as Xid 79, "
    "or as both. The device is unknown where the line does not say which.", Tier.BASIC, cadence=Cadence.FAST, absent=LOG_UNREADABLE,
    captured=False)  # fmt: skip
LOG_LOST = Metric("kernel_log_lost", "fabric_kernel_log_lost_records_total", Kind.COUNTER, Unit.COUNT, (),
    "Records of the kernel log that were overwritten before this exporter could read them: Xids among them are not counted.",
    Tier.STANDARD, cadence=Cadence.FAST, absent="the kernel log cannot be read", captured=False)  # fmt: skip

ROWS = (XID, XID_LAST, SXID, OFF_BUS, LOG_LOST)

NVLINK_XIDS: Mapping[int, str] = {
    74: "NVLink error of Volta to Hopper; the line names the link",
    121: "corrected error of the chip-to-chip link (C2C)",
    137: "an access over NVLink was refused (fabric address, privilege)",
    144: "NVLink 5, unit SAW",
    145: "NVLink 5, unit RLW: receiving side",
    146: "NVLink 5, unit TLW: transmitting side",
    147: "NVLink 5, unit TREX",
    148: "NVLink 5, unit NVLPW",
    149: "NVLink 5, unit NETIR: link down, bit error ratio, link firmware",
    150: "NVLink 5, unit MSE",
    155: "NVLink error that software defines",
    166: "NVLink error under confidential computing",
    170: "NVLink error under confidential computing",
    173: "fatal error of the chip-to-chip link (C2C)",
}
"""Counted from 0 for each GPU, so that the first one is an increase [V]. 108 stands in nverror.h too, but no driver uses it. Companions
of other causes (45, 79, 119, 120, 154) appear when they come."""

NVLINK_SXIDS: Mapping[int, str] = {
    12028: "a port refused a request on its way out (privilege)",
    19084: "the far end's heartbeat stopped",
    20009: "receive errors above the short-term threshold",
    20034: "the link went down (LTSSM fault up); comes on every switch when a GPU is lost",
    20035: "the link went down (LTSSM fault down)",
    22012: "the link's firmware (MINION) reported a fatal interrupt",
    24007: "a request was not answered in time",
    25010: "the link failed to train",
}
"""Counted from 0 for each NVSwitch [V names, D choice]; any other number appears when it comes. 22013, for one, is harmless by NVIDIA's
Fabric Manager guide and comes by the hundred."""

UNKNOWN_DEVICE = "unknown"
"""`device` where a line does not say which GPU it speaks of."""

KMSG_RECORDS_MAX = 10_000
"""Records read in one pass, at most: a whole ring of usual size. 6.5 µs each, so 65 ms, within the duty guard's 2 % of 5 s [M]. What is
left of a storm waits for the next pass."""

KMSG_RECORD_BYTES = 16_384
"""The kernel formats a record into at most 8 kB (CONSOLE_EXT_LOG_MAX, PRINTK_MESSAGE_MAX of torvalds/linux kernel/printk) [V]; a smaller
buffer would be refused with EINVAL."""

KMSG_SAVE_RECORDS = 1000
"""How far reading may advance without any Xid before the place is saved: after a crash as much is read again, which counts nothing twice
[D]."""

EVENT_KEYS_MAX = 1024
"""Devices × codes × links told apart: a rack-wide fault of 8 GPUs with 18 links and 7 units is 1,008 [D]."""
