"""What NCCL leaves in /dev/shm when its process is killed between making a segment and handing it to a peer: found and removed, but never
one that somebody else may use."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PREFIX = "nccl-"
"""NVIDIA/nccl, src/misc/shmutils.cc: /dev/shm/nccl-XXXXXX."""
OLD_S = 600.0
"""Of an earlier run, whose supervisor was killed as well: NCCL unlinks a segment once a peer has it, seconds after making it."""


def segments(folder: Path, processes: Iterable[int], proc: Path = Path("/proc")) -> frozenset[Path]:
    """Segments in the folder that these processes have mapped. A process that is gone has none."""
    found = set()
    start = f"{folder}/{PREFIX}"
    for pid in processes:
        with suppress(OSError):
            for line in (proc / str(pid) / "maps").read_text("utf-8", "replace").splitlines():
                _, at, rest = line.partition(start)
                if at:
                    found.add(Path(start + rest))
    return frozenset(path for path in found if not path.name.endswith(" (deleted)"))


def remove(paths: Iterable[Path]) -> int:
    """Remove segments whose processes have ended; how many there still were."""
    removed = 0
    for path in paths:
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def forgotten(folder: Path, now_wall_s: float, proc: Path = Path("/proc")) -> frozenset[Path]:
    """Segments of ours by owner that are older than OLD_S and that no process we can see has mapped. Whoever has one in use that we cannot
    see, in another container, had it handed over long since, and needs its name no more."""
    old = set()
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            with suppress(OSError):
                status = path.stat()
                if status.st_uid == os.geteuid() and now_wall_s - status.st_ctime > OLD_S:
                    old.add(path)
    if not old:
        return frozenset()
    return frozenset(old) - segments(folder, (int(one.name) for one in proc.iterdir() if one.name.isdigit()), proc)
