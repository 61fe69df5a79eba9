"""Health of a link in words: levels, and the reasons why a link is not well. Pure; which rule raises what is catalog/conditions.py's."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

from exporter.model.entity import Link


class Level(IntEnum):
    """Value of `fabric_link_health_status`. Unknown is no level but a series of its own: a maximum over links stays right."""

    OK = 0
    SUSPECT = 1
    DEGRADED = 2
    FAILED = 3

    @property
    def word(self) -> str:
        """`ok`, `suspect`, …"""
        return self.name.lower()


class Why(StrEnum):
    """Label `reason` of `fabric_link_condition`: what is wrong with a link. Each is raised and cleared by itself: one that recovers
    never clears another (NVIDIA/NVSentinel#1488, #1492)."""

    DOWN = "down"
    """The link is expected and not up."""
    MISSING = "missing"
    """The device that carried it is gone."""
    SPEED_DOWNGRADE = "speed_downgrade"
    """Lanes run slower than expected."""
    WIDTH_DOWNGRADE = "width_downgrade"
    """Fewer lanes than expected."""
    TRAFFIC_DISABLED = "traffic_disabled"
    """NVLink is up and carries nothing by order of the driver."""
    ERROR_BUDGET = "error_budget"
    """Errors per bit far above what the link may have."""
    ERROR_TREND = "error_trend"
    """Errors per bit above what the link may have, for days."""
    NVLINK_ERRORS = "nvlink_errors"
    """Replays or CRC errors that go on."""
    NVLINK_ERROR_STORM = "nvlink_error_storm"
    RECOVERIES = "recoveries"
    """The link retrains again and again."""
    RECOVERY = "recovery"
    """The link retrained."""
    FLAPPING = "flapping"
    """Goes down and up again and again."""
    FLAPS = "flaps"
    """Went down and up several times today."""
    PCIE_LOST = "pcie_uncorrectable_errors"
    """PCIe lost something that it cannot mend by itself."""
    PCIE_ERRORS = "pcie_errors"
    """Errors per bit above what PCIe permits, though each was mended."""
    RETRIES_EXCEEDED = "retries_exceeded"
    """A connection broke."""
    RETRANSMISSIONS = "retransmissions"
    CONGESTED = "congested"
    """Held back for much of the time while it has something to send."""
    PAUSED = "paused"
    """The network tells us to send nothing for much of the time (PFC)."""
    PAUSING = "pausing"
    """We tell the network to send nothing for much of the time: this host is slow."""
    PAUSE_STORM = "pause_storm"
    CNP_IGNORED = "cnp_ignored"
    """Congestion notifications are ignored: congestion control is off or misconfigured."""
    MARKED = "ecn_marked"
    """Far more packets carry a congestion mark than usual."""
    SLOW_SIBLING = "slow_sibling"
    """Carries far less than links that should carry the same."""
    SLOW_RAIL = "slow_rail"
    """Takes far longer for the same bytes than the node's other rails."""
    XID = "xid"
    """The driver reported a fatal error that names the link."""
    FABRIC_UNHEALTHY = "fabric_unhealthy"
    """The GPU did not join its NVLink domain, or says that it is not well."""
    GPUDIRECT_OFF = "gpudirect_off"
    """GPU and NIC no longer reach each other without the CPU."""
    WRONG_LINK_LAYER = "misconfigured_link_layer"
    """InfiniBand where Ethernet is expected, or the reverse."""


class Unknown(StrEnum):
    """Label `reason` of `fabric_link_health_unknown`: why nothing can be said of a link."""

    NO_EXPECTATION = "no_expectation"
    """Nobody knows whether it should be up."""
    SATURATED = "saturated"
    """The counters that would tell stopped counting."""
    STALE = "stale"
    """Nothing has been seen of it for too long."""
    GRACE = "grace"
    """The node, the driver or the fabric just started."""


class Finding(NamedTuple):
    """One rule's word on one reason in one pass: `holds` is None if it could not tell. `evidence` is one short line for a person, with the
    numbers that decided; empty unless it holds."""

    why: Why
    holds: bool | None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Active:
    """A reason that is active: since when (Unix time), and the evidence of the moment when it was raised."""

    why: Why
    level: Level
    since_wall_s: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one link. `level` is None while unknown; then `unknown` says why. `active` are all reasons, the gravest first."""

    link: Link
    level: Level | None
    unknown: Unknown | None
    since_wall_s: float
    active: tuple[Active, ...] = ()
