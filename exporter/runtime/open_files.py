"""The limit of open files: raised at start as far as the kernel lets us, so that counter files can stay open."""

import logging
import resource

log = logging.getLogger("fabric_exporter.runtime")
WANTED = 65_536
"""Enough for 1,000 devices of 60 files; the hard limit may allow less."""


SPARE = 128
"""Handles left for libraries, the log, state and the recorder, beside what the caller names."""


def raise_limit(connections: int = 0) -> int:
    """Raise the soft limit towards the hard one; how many files a tree may keep open under what was reached, beside so many
    connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
        except (OSError, ValueError) as error:
            log.warning("cannot raise the limit of open files from %d: %s; files beyond it are opened at each read", soft, error)
    limit = WANTED if soft == resource.RLIM_INFINITY else soft
    return max(0, (limit - SPARE - connections) * 4 // 5)  # a quarter of it again may go to folders
