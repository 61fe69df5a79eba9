"""The few files of /proc that a simulated node has: boot id, uptime, loaded modules. Pure: values → entries and texts.

Layout: proc(5). Modules of real nodes, sizes invented.
"""

import uuid

from exporter.simulator.archive import Entry, File
from exporter.simulator.profiles import Profile

BOOT_ID, UPTIME, MODULES = "sys/kernel/random/boot_id", "uptime", "modules"
PEER_MEMORY = "nvidia_peermem"
"""The module through which a NIC reaches a GPU's memory without the CPU."""
_BOOTS = uuid.UUID("3a0ed7c5-35bb-4c1e-8f0d-9a1c6e7b2d44")
_SIZES = {"mlx5_core": 2_445_312, "mlx5_ib": 471_040, "ib_uverbs": 167_936, "ib_core": 479_232, "nvidia": 56_823_808,
          "nvidia_uvm": 4_952_064, "nvidia_modeset": 1_355_776, PEER_MEMORY: 16_384, "ixgbe": 417_792}  # fmt: skip


def proc_entries(profile: Profile, seed: int) -> tuple[Entry, ...]:
    """The files of a node at the moment it started."""
    texts = {BOOT_ID: f"{boot_id(profile, seed, 0)}\n".encode(), UPTIME: uptime_text(0.0), MODULES: modules_text(modules_of(profile))}
    return tuple(File(path, text) for path, text in texts.items())


def boot_id(profile: Profile, seed: int, boots: int) -> str:
    """Another one for each boot."""
    return str(uuid.uuid5(_BOOTS, f"{profile.name}/{seed}/{boots}"))


def uptime_text(uptime_s: float) -> bytes:
    """`uptime` after so long; nobody has ever been idle."""
    return b"%.2f 0.00\n" % uptime_s


def modules_of(profile: Profile) -> tuple[str, ...]:
    """Modules that a node of this profile has loaded."""
    rdma = ("mlx5_core", "mlx5_ib", "ib_uverbs", "ib_core") if profile.hcas else ()
    gpus = ("nvidia", "nvidia_uvm", "nvidia_modeset") if profile.gpus else ()
    return (*rdma, *gpus, *((PEER_MEMORY,) if rdma and gpus else ()), *(("ixgbe",) if profile.nics else ()))


def modules_text(names: tuple[str, ...]) -> bytes:
    """`modules` with these loaded."""
    return "".join(f"{name} {_SIZES[name]} 0 - Live 0x0000000000000000\n" for name in names).encode()
