"""Which NVLinks a GPU should have: configuration, then board, then what was learned, then symmetry; else nobody knows. Pure.

NVML tells which ports a GPU has, not which were ever wired: an H100 PCIe has 18 and wires 12 (Azure/azurehpc-health-checks#162), an A100
PCIe without its bridge has 12 and wires none (NVIDIA/NVSentinel#1481). Calling each inactive port down is a false alarm on every one.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from exporter.model.quoted import shown

CONFIGURED, BOARD, LEARNED, SYMMETRY, UNKNOWN = "configured", "board", "learned", "symmetry", "unknown"
BYTES_PER_S_PER_MB = 1_000_000
GPU, SWITCH = "gpu", "switch"
MAJORITY_MIN = 3
"""GPUs that a majority needs: of two that differ, either may be the sick one."""
_EXPECTED = re.compile(r"(?P<pattern>.+)=(?:(?P<count>[0-9]{1,3})|\[(?P<links>[0-9,-]+)\])(?:@(?P<rate>[0-9]{1,7})MB/s)?")
_RANGE = re.compile(r"(?P<first>[0-9]{1,3})(?:-(?P<last>[0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class Expected:
    """How many links, which ones (None if only their number is known), and the signalling rate of each (None if unknown)."""

    count: int
    links: frozenset[int] | None = None
    rate_bytes_per_s: int | None = None


class Expectation(NamedTuple):
    """What is expected and who says so; `expected` is None where nobody knows."""

    source: str
    expected: Expected | None = None


class GpuLinks(NamedTuple):
    """One GPU as it is now: the ports it has, those that are active, and where each active one leads (peer kind, PCI address)."""

    name: str
    uuid: str
    product: str
    pci: str
    ports: tuple[int, ...]
    active: frozenset[int]
    peers: Mapping[int, tuple[str, str]]


def expectation(gpu: GpuLinks, node: Sequence[GpuLinks], configured: Mapping[str, Expected], boards: Mapping[str, Expected],
                learned: frozenset[int]) -> Expectation:  # fmt: skip
    """The first that answers. Patterns of `configured` match the whole name of the GPU or of its product, those of `boards` the
    product's; `learned` are the links that were once active for long."""
    for pattern, expected in configured.items():
        if re.fullmatch(pattern, gpu.name) or re.fullmatch(pattern, gpu.product):
            return Expectation(CONFIGURED, expected)
    for pattern, expected in boards.items():
        if re.fullmatch(pattern, gpu.product):
            every = frozenset(gpu.ports) if len(gpu.ports) == expected.count else None
            return Expectation(BOARD, replace(expected, links=every))
    if learned:
        return Expectation(LEARNED, Expected(len(learned), learned))
    symmetric = _symmetric(gpu, node)
    return Expectation(SYMMETRY, Expected(symmetric)) if symmetric else Expectation(UNKNOWN)


def is_expected(link: int, gpu: GpuLinks, expected: Expected) -> bool | None:
    """Whether an inactive link should be active; None where only a number is known and it does not settle which links it means."""
    if expected.links is not None:
        return link in expected.links
    missing = expected.count - len(gpu.active)
    if missing <= 0:
        return False
    return True if missing >= len(gpu.ports) - len(gpu.active) else None


def _symmetric(gpu: GpuLinks, node: Sequence[GpuLinks]) -> int:
    """Links that the GPU should have by what others of the node have; 0 if they tell nothing.

    GPUs on switches: what most of the same product have. GPUs wired to each other: as many as the others see it on, since boards that are
    bridged in pairs need not all be bridged.
    """
    seen_by_others = sum(
        1 for other in node if other.name != gpu.name for link, (kind, pci) in other.peers.items()
        if kind == GPU and pci == gpu.pci and link in other.active
    )  # fmt: skip
    sisters = [other for other in node if other.product == gpu.product]
    on_switches = [other for other in sisters if any(kind == SWITCH for kind, _ in other.peers.values())]
    if len(sisters) < MAJORITY_MIN or len(on_switches) * 2 <= len(sisters):
        return seen_by_others
    count, votes = Counter(len(other.active) for other in sisters).most_common(1)[0]
    return max(seen_by_others, count if votes * 2 > len(sisters) else 0)


def expected_links(text: str) -> tuple[str, Expected]:
    """Pattern and expectation of `gpu.*=18`, `NVIDIA H100 PCIe=[0-3,6-9,12-15]` or `gpu.*=18@26562MB/s`. Raises ValueError saying what was
    expected."""
    match = _EXPECTED.fullmatch(text)
    links = _link_list(match["links"]) if match is not None and match["links"] else None
    if match is None or links == frozenset() or (match["rate"] and not int(match["rate"])):
        raise ValueError(f"expected PATTERN=COUNT or PATTERN=[LINKS], as in gpu.*=18@26562MB/s or gpu0=[0-3,6-9], got {shown(text)}")
    rate = int(match["rate"]) * BYTES_PER_S_PER_MB if match["rate"] else None
    return match["pattern"], Expected(len(links) if links else int(match["count"]), links, rate)


def _link_list(text: str) -> frozenset[int]:
    """Link numbers of `0-3,6`; none for text that is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        links = range(int(match["first"]), int(match["last"] or match["first"]) + 1) if match is not None else range(0)
        if not links:
            return frozenset()
        found.update(links)
    return frozenset(found)
