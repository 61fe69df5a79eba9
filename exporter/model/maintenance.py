"""Whether somebody said that the node is being worked on, and until when: several may say so, in their own words. Pure.

Knows what a maintenance file, a Slurm node and Kubernetes taints look like; who reads them, and what time it is, it is told. Health is
computed and shown all the same: maintenance only asks alerts to be silent.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from exporter.model.quoted import escaped, shown

REASON_LENGTH_MAX = 200
FILE, COMMAND, SLURM, KUBERNETES = "file", "command", "slurm", "kubernetes"
UNTIL = "until:"
"""Begins the line of the file that says when it ends."""

SLURM_FLAGS = frozenset({"DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE"})
"""Words of a node's state (`IDLE+DRAIN`, `MIXED+MAINTENANCE`; sinfo's `draining*`) that mean somebody keeps jobs off it. DOWN is no such
word: a node that does not answer is not being worked on."""
SLURM_OWN_REASONS = ("prolog error", "epilog error", "kill task failed", "batch job complete failure", "not responding", "duplicate jobid",
                     "count reported lower than configured", "low realmemory", "low tmpdisk", "low socket", "low cpus", "nhc:",
                     "fabric-exporter")  # fmt: skip
"""Slurm drains a node by itself with these reasons (`gres/gpu count reported lower than configured (7 < 8)` when a GPU is lost), a node
health check (LBNL's NHC) and `check` in a prolog make it do so: a fault must not silence its own alert [B]."""


class Claim(NamedTuple):
    """One origin's word. `until_wall_s` is Unix time, None for no end. A claim whose time is up is none."""

    origin: str
    reason: str = ""
    until_wall_s: float | None = None


class Maintenance(NamedTuple):
    """All of them together: `reason` names each origin and its reason, `until_wall_s` is the last end, None if one has no end (or there is
    no maintenance)."""

    is_active: bool = False
    reason: str = ""
    until_wall_s: float | None = None


def merged(claims: Iterable[Claim | None], wall_s: float) -> Maintenance:
    """Active as long as one claim is; None stands for an origin that claims nothing or could not be asked."""
    active = [claim for claim in claims if claim is not None and (claim.until_wall_s is None or claim.until_wall_s > wall_s)]
    if not active:
        return Maintenance()
    reason = "; ".join(f"{claim.origin}: {claim.reason}" if claim.reason else claim.origin for claim in active)
    ends = [claim.until_wall_s for claim in active if claim.until_wall_s is not None]
    return Maintenance(is_active=True, reason=reason, until_wall_s=max(ends) if len(ends) == len(active) else None)


def of_file(raw: bytes) -> tuple[Claim, str]:
    """The claim of a maintenance file that is there, and what is wrong with it ("" if nothing). It may be empty; a line `until: TIME` in
    RFC 3339, as 2026-03-01T18:00:00Z, says when it ends, the first other line why. A time that cannot be read is no end: who wrote the file
    meant something by it."""
    lines = [line.strip() for line in raw.decode("utf-8", "replace").splitlines()]
    reasons = [line for line in lines if line and not line.lower().startswith(UNTIL)]
    untils = [line[len(UNTIL) :].strip() for line in lines if line.lower().startswith(UNTIL)]
    reason = _reason(reasons[0]) if reasons else ""
    if not untils:
        return Claim(FILE, reason), ""
    until_wall_s = _unix_time(untils[0])
    problem = "" if until_wall_s is not None else (
        f"{UNTIL} expected a time with its zone such as 2026-03-01T18:00:00Z, got {shown(untils[0])}; it has no end until that is mended"
    )  # fmt: skip
    return Claim(FILE, reason, until_wall_s), problem


def of_slurm(state: str, reason: str, own_reasons: Iterable[str] = ()) -> Claim | None:
    """The claim of a Slurm node's state and reason; None unless somebody drained it or reserved it for maintenance. A drain of Slurm's own
    is none, nor one whose reason contains one of `own_reasons`, in capitals or not: programs of the site give them."""
    words = {word.rstrip("*~#!%$@^-").upper() for part in state.split("+") for word in part.split(",")}
    if not words & SLURM_FLAGS:
        return None
    is_own = any(own.lower() in reason.lower() for own in (*SLURM_OWN_REASONS, *own_reasons))
    return None if is_own and not words & {"MAINT", "MAINTENANCE"} else Claim(SLURM, _reason(reason))


def of_taints(taints: Iterable[Mapping[str, object]], keys: Iterable[str]) -> Claim | None:
    """The claim of a Kubernetes node's taints (each with `key`, perhaps `value`): that of the first whose key is among `keys`. A cordon
    alone (node.kubernetes.io/unschedulable) counts if its key is among them."""
    wanted = frozenset(keys)
    for taint in taints:
        if taint.get("key") in wanted:
            value = taint.get("value")
            return Claim(KUBERNETES, _reason(f"{taint['key']}={value}" if value else str(taint["key"])))
    return None


def _reason(text: str) -> str:
    return escaped(text.strip()[:REASON_LENGTH_MAX])


def _unix_time(text: str) -> float | None:
    """Unix time of an RFC 3339 text; None if it is none, or names no zone."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
