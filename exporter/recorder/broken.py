"""Damaged recordings are put aside, not removed: somebody may save what is in them. Few are kept."""

import contextlib
import os
from datetime import UTC, datetime

MARK = ".broken-"
KEPT_MAX = 2
"""Damaged files kept; with the recording itself at most three times its bound."""


def put_aside(path: str, wall_s: float) -> str:
    """Rename the file and its log, and remove all but the newest of those put aside; its new name. Raises OSError."""
    stamp = datetime.fromtimestamp(wall_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{path}{MARK}{stamp}"
    number = 1
    while os.path.lexists(name):
        number += 1
        name = f"{path}{MARK}{stamp}-{number}"
    os.rename(path, name)
    for end in ("-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.rename(path + end, name + end)
    folder, start = os.path.split(path + MARK)
    found = sorted((other for other in os.listdir(folder or ".") if other.startswith(start) and not other.endswith(("-wal", "-shm"))),
                   key=lambda other: (os.stat(os.path.join(folder, other)).st_ctime_ns, other))  # fmt: skip
    for other in found[:-KEPT_MAX]:
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, other + end))
    return name
