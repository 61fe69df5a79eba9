"""The machines that the profiles imitate: which GPUs, how many ports, which are wired and to what. Knows no notation of the scenario.

Observed and public: port counts, wired ports of bridged boards, signalling rates, the wiring of DGX-1V, versions, the address without a
place of a rack's switches. Invented: PCI addresses, module ids, which switch a port leads to, driver versions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

Family = Literal["kib", "legacy", "ecc", "nvlink5", "fabric", "health", "prm", "recovery_action", "bw_mode"]
"""What a generation supports beside state, version and far ends."""


class FarEnd(NamedTuple):
    """What a wired port leads to: a PCI address and the port there, and whether that is a switch."""

    pci: str
    port: int
    is_switch: bool


@dataclass(frozen=True, slots=True)
class Board:
    """Several GPUs of one kind. Ports not in `wired` exist and stay inactive; without `switches` GPUs see each other as in `bridges`:
    (gpu, gpu, links)."""

    name: str
    pci_id: int
    architecture: str
    gpus: int
    ports: int
    wired: tuple[int, ...]
    speed_mb_per_s: int
    version: int
    families: frozenset[Family]
    driver: str
    pcie_generation: int = 5
    switches: tuple[str, ...] = ()
    bridges: tuple[tuple[int, int, int], ...] = ()
    ports_known_to_capability: int = 0
    c2c_links: int = 0
    mig_gpus: frozenset[int] = frozenset()
    has_mig: bool = True
    is_rack: bool = False
    buses: Sequence[int] = field(default=(0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF))

    def pci(self, gpu: int) -> str:
        """The GPU's address as the driver spells it; a rack's compute tray has one domain for each GPU."""
        domain, bus = (8 + gpu, 1) if self.is_rack else (0, self.buses[gpu])
        return f"{domain:08X}:{bus:02X}:00.0"

    def active(self, gpu: int) -> tuple[int, ...]:
        """Ports that are up: a GPU in MIG mode has none."""
        return () if gpu in self.mig_gpus else self.wired

    def far_end(self, gpu: int, link: int) -> FarEnd:
        """Where a wired port leads. KeyError for one that is not wired."""
        if self.switches:
            nth = self.wired.index(link)
            of_switch = nth % len(self.switches)
            per_gpu = -(-len(self.wired) // len(self.switches))
            return FarEnd(self.switches[of_switch], gpu * per_gpu + nth // len(self.switches), is_switch=True)
        peer, port = self._wires()[gpu, link]
        return FarEnd(self.pci(peer), port, is_switch=False)

    def peers(self, gpu: int) -> frozenset[int]:
        """GPUs that this one reaches over NVLink."""
        if self.switches:
            return frozenset(range(self.gpus)) - {gpu}
        return frozenset(peer for (one, _), (peer, _) in self._wires().items() if one == gpu)

    def _wires(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """(gpu, link) → (gpu, link), both ways."""
        free = {gpu: list(self.wired) for gpu in range(self.gpus)}
        wires: dict[tuple[int, int], tuple[int, int]] = {}
        for one, two, links in self.bridges:
            for _ in range(links):
                near, far = (one, free[one].pop(0)), (two, free[two].pop(0))
                wires[near], wires[far] = far, near
        return wires


def _switches(count: int) -> tuple[str, ...]:
    return tuple(f"00000000:{0x05 + number:02X}:00.0" for number in range(count))


HIDDEN_SWITCH = "FFFFFFFF:FF:FF.0"
"""What a GPU in a rack says of the switch at the far end: no place on this node's PCI."""

_AMPERE: frozenset[Family] = frozenset({"kib", "legacy", "ecc"})
_HOPPER: frozenset[Family] = _AMPERE | {"fabric", "recovery_action", "bw_mode"}
_BLACKWELL: frozenset[Family] = frozenset({"kib", "nvlink5", "fabric", "health", "prm", "recovery_action", "bw_mode"})

_DGX_1V = (
    *((0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2)),
    *((2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2)),
)

_H100 = Board(
    *("NVIDIA H100 80GB HBM3", 0x2330, "HOPPER", 8, 18, tuple(range(18)), 26_562, 6, _HOPPER, "550.90.07"),
    switches=_switches(4),
)
_B200 = Board(
    *("NVIDIA B200", 0x2901, "BLACKWELL", 8, 18, tuple(range(18)), 53_125, 7, _BLACKWELL, "580.95.05"),
    switches=_switches(2),
    ports_known_to_capability=36,
)
_A100_PCIE = Board("NVIDIA A100 80GB PCIe", 0x20B5, "AMPERE", 4, 12, (), 25_781, 4, _AMPERE, "535.161.08", pcie_generation=4)

BOARDS: Mapping[str, Board] = {
    "v100": Board(
        *("Tesla V100-SXM2-32GB", 0x1DB5, "VOLTA", 8, 6, tuple(range(6)), 25_781, 2, frozenset[Family]({"legacy"}), "535.161.08"),
        pcie_generation=3,
        bridges=_DGX_1V,
        has_mig=False,
    ),
    "a100-sxm": replace(_A100_PCIE, name="NVIDIA A100-SXM4-80GB", pci_id=0x20B2, gpus=8, wired=tuple(range(12)), switches=_switches(6)),
    "a100-pcie-nobridge": _A100_PCIE,
    "h100-sxm": _H100,
    "h100-nvl": replace(
        _H100,
        name="NVIDIA H100 NVL",
        pci_id=0x2321,
        gpus=4,
        wired=(0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15),
        switches=(),
        bridges=((0, 1, 12), (2, 3, 12)),
        families=_HOPPER - {"fabric"},
    ),
    "hgx-h100-4": replace(
        _H100,
        gpus=4,
        switches=(),
        bridges=tuple((a, b, 6) for a in range(4) for b in range(a + 1, 4)),
        families=_HOPPER - {"fabric"},
    ),
    "h200": replace(_H100, name="NVIDIA H200", pci_id=0x2335, driver="560.35.05"),
    "b200": _B200,
    "gb200": replace(_B200, name="NVIDIA GB200", pci_id=0x2941, gpus=4, switches=(HIDDEN_SWITCH,), c2c_links=5, is_rack=True),
    "l40s": Board("NVIDIA L40S", 0x26B9, "ADA", 8, 0, (), 0, 0, frozenset(), "550.90.07", pcie_generation=4, has_mig=False),
    "mixed-mig": replace(_H100, mig_gpus=frozenset({2})),
    "rubin-36": replace(
        _B200,
        name="NVIDIA Rubin",
        pci_id=0x3000,
        architecture="RUBIN",
        gpus=4,
        ports=36,
        wired=tuple(range(36)),
        version=8,
        driver="615.20.01",
        switches=(HIDDEN_SWITCH,),
        is_rack=True,
    ),
}
