"""What each reason means for the verdict of a link: how grave it is, and in how many passes it must hold before it counts. Data.

`fabric_link_health_status` follows from here: the level of the gravest active reason; two suspect ones of different origin make a link
degraded [D].
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.model.health import Level, Why


class Condition(NamedTuple):
    """`of` passes are looked back on, in `holds` of which the reason must hold; `origin`: soft reasons of one origin are no independent
    evidence. `in_grace`: raised also while the node is starting."""

    level: Level
    holds: int
    of: int
    origin: str
    help: str
    in_grace: bool = False


CONDITIONS: Mapping[Why, Condition] = {
    Why.DOWN: Condition(Level.FAILED, 3, 3, "state", "The link should be up and is not."),
    Why.MISSING: Condition(Level.FAILED, 1, 1, "state", "The device that carries the link is gone."),
    Why.TRAFFIC_DISABLED: Condition(Level.DEGRADED, 2, 2, "state", "NVLink is up and carries nothing by order of the driver."),
    Why.XID: Condition(Level.FAILED, 1, 1, "driver", "The driver reported a fatal error that names the link.", in_grace=True),
    Why.FABRIC_UNHEALTHY: Condition(Level.FAILED, 3, 3, "driver", "The GPU is not well in its NVLink domain."),
    Why.SPEED_DOWNGRADE: Condition(Level.DEGRADED, 2, 2, "training", "Lanes run slower than expected."),
    Why.WIDTH_DOWNGRADE: Condition(Level.DEGRADED, 2, 2, "training", "Fewer lanes run than expected."),
    Why.WRONG_LINK_LAYER: Condition(Level.DEGRADED, 2, 2, "training", "InfiniBand where Ethernet is expected, or the reverse."),
    Why.ERROR_BUDGET: Condition(Level.DEGRADED, 1, 1, "errors", "Errors per bit far above the budget, over an hour and five minutes."),
    Why.ERROR_TREND: Condition(Level.SUSPECT, 1, 1, "errors", "Errors per bit above the budget, over three days and six hours."),
    Why.PCIE_LOST: Condition(Level.DEGRADED, 1, 1, "errors", "PCIe reported an error within ten minutes that it cannot correct."),
    Why.PCIE_ERRORS: Condition(Level.SUSPECT, 1, 1, "errors", "Corrected errors per bit above what PCIe permits, over an hour and 5 min."),
    Why.NVLINK_ERRORS: Condition(Level.SUSPECT, 1, 1, "errors", "Replays or CRC errors go on for half an hour."),
    Why.NVLINK_ERROR_STORM: Condition(Level.DEGRADED, 2, 2, "errors", "More than a hundred errors a second."),
    Why.RECOVERY: Condition(Level.SUSPECT, 1, 1, "training", "The link retrained within the last ten minutes."),
    Why.RECOVERIES: Condition(Level.DEGRADED, 1, 1, "training", "The link retrained three times within an hour, or failed to."),
    Why.FLAPPING: Condition(Level.DEGRADED, 1, 1, "state", "The link went down and up three times within an hour."),
    Why.FLAPS: Condition(Level.SUSPECT, 1, 1, "state", "The link went down and up five times within a day."),
    Why.RETRIES_EXCEEDED: Condition(Level.SUSPECT, 1, 1, "transport", "A connection ran out of retries and broke."),
    Why.RETRANSMISSIONS: Condition(Level.SUSPECT, 3, 5, "transport", "Retransmissions go on."),
    Why.CONGESTED: Condition(Level.SUSPECT, 3, 5, "load", "The link is held back for much of the time while it has something to send."),
    Why.PAUSED: Condition(Level.SUSPECT, 3, 5, "load", "The network pauses us for much of the time."),
    Why.PAUSING: Condition(Level.SUSPECT, 3, 5, "host", "We pause the network for much of the time: this host is slow."),
    Why.PAUSE_STORM: Condition(Level.DEGRADED, 1, 1, "host", "The NIC paused the network so long that it was stopped from it."),
    Why.CNP_IGNORED: Condition(Level.SUSPECT, 3, 5, "load", "Congestion notifications are ignored for ten minutes."),
    Why.MARKED: Condition(Level.SUSPECT, 3, 5, "load", "Far more packets carry a congestion mark than usual."),
    Why.SLOW_SIBLING: Condition(Level.SUSPECT, 3, 5, "siblings", "The link carries far less than its siblings."),
    Why.SLOW_RAIL: Condition(Level.SUSPECT, 3, 5, "siblings", "The rail is far slower in its bursts than the node's other rails."),
    Why.GPUDIRECT_OFF: Condition(Level.DEGRADED, 2, 2, "path", "GPU and NIC no longer reach each other without the CPU."),
}
"""Every reason."""
INDEPENDENT = 2
"""Suspect reasons of that many different origins make a link degraded."""
