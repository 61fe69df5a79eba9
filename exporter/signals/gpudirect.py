"""Whether a NIC still reaches its GPUs without the CPU (GPUDirect RDMA), by facts of driver and PCI. Pure.

A module that is loaded is no proof (NVIDIA/nccl#1939), but one that is missing where it was is: jobs go on at a fraction of their speed and
nothing else says so. What cannot be told is unknown, never off.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.catalog.gpudirect import ACS_OFF, AVAILABLE, EXPECTED, PATH, REQUIREMENT, SOFTWARE
from exporter.model.health import Finding, Why
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.rule import Outcome

OFF_S = 600.0
"""So long it must be off where it should not be: a module is loaded anew within minutes of an upgrade [D]."""
REASONS = (Why.GPUDIRECT_OFF,)


class Facts(NamedTuple):
    """Of one NIC; each None where it cannot be told. `software`: nvidia-peermem is loaded, or driver and kernel pass DMA-BUF. `path`: a GPU
    is behind the same PCIe switches (PIX or PXB). `acs_off`: none of these switches redirects requests to the CPU."""

    software: bool | None = None
    path: bool | None = None
    acs_off: bool | None = None


class Kept(NamedTuple):
    """What is remembered of one NIC: if it was ever available, and since when (monotonic) it has been off."""

    was_available: bool = False
    off_since_s: float | None = None


_LACKING = {
    SOFTWARE: "neither nvidia-peermem is loaded nor DMA-BUF supported",
    PATH: "no GPU is behind its PCIe switches",
    ACS_OFF: "ACS of a PCIe switch redirects its requests to the CPU",
}


def facts_in(values: Mapping[SeriesKey, Number]) -> Facts:
    """The facts out of a Reading of the NIC."""
    software, path, acs_off = (values.get((REQUIREMENT.key, name)) for name in (SOFTWARE, PATH, ACS_OFF))
    return Facts(_as_bool(software), _as_bool(path), _as_bool(acs_off))


def available(facts: Facts) -> bool | None:
    """False if a requirement is known not to be met; True if software and path are known to be. Only root is told of ACS everywhere, so
    not knowing that is no objection."""
    if False in facts:
        return False
    return True if facts.software and facts.path else None


def step(state: Kept | None, facts: Facts, monotonic_s: float, *, configured: bool | None = None) -> tuple[Kept, Outcome]:
    """Availability and expectation as signals of the NIC, and GPUDIRECT_OFF (for its links) once it was off for OFF_S where it should not
    be. `configured` says whether it should be; None leaves that to experience. A time that went back starts the wait anew."""
    before = Kept() if state is None else state
    now = available(facts)
    was_available = before.was_available or now is True
    is_expected = was_available if configured is None else configured
    since_s = None if now else before.off_since_s
    if now is False and (since_s is None or since_s > monotonic_s):
        since_s = monotonic_s
    signals: dict[SeriesKey, Number] = {EXPECTED.key: int(is_expected)}
    if now is not None:
        signals[AVAILABLE.key] = int(now)
    return Kept(was_available, since_s), Outcome(signals, _findings(facts, since_s, monotonic_s) if is_expected else ())


def _findings(facts: Facts, since_s: float | None, monotonic_s: float) -> tuple[Finding, ...]:
    """Untold while nobody can tell: that neither raises nor clears."""
    now = available(facts)
    if now is None:
        return (Finding(Why.GPUDIRECT_OFF, holds=None),)
    if now or since_s is None or monotonic_s - since_s < OFF_S:
        return ()
    lacking = [words for words, fact in zip(_LACKING.values(), facts, strict=True) if fact is False]
    return (Finding(Why.GPUDIRECT_OFF, holds=True, evidence=f"for {(monotonic_s - since_s) / 60:.0f} min: {', '.join(lacking)}"),)


def _as_bool(number: Number | None) -> bool | None:
    return None if number is None else bool(number)
