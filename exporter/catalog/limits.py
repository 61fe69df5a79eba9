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
