"""Where a line of NCCL's own log begins, also in the middle of a line that somebody else had begun. Knows no message."""

import re
from collections.abc import Collection

_LEVEL = re.compile(r" NCCL (?:INFO|WARN|TRACE|CALL|ABORT)\b")
_SOURCE = re.compile(r":\d{1,10}:\d{1,10} (?=\[|NCCL )", re.ASCII)
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\] $", re.ASCII)
_UNSIGNED = re.compile(r"NCCL version \d+\.\d+| ?rank=\d+ (?:#wrong=\d+|elt\[\d+\]: want=)", re.ASCII)
"""Lines without a host in front: NCCL's version, and nccl-tests' list of wrong elements."""
SEAM_UNKNOWN = -1


def begins_at(text: str, hosts: Collection[str]) -> int | None:
    """Index at which such a line begins, None if there is none in the text. SEAM_UNKNOWN if something stands before it and cannot be told
    from the host's name, as in `-112host:`: a name can begin with digits. The names in `hosts` are known."""
    level = _LEVEL.search(text)
    if level is None:
        unsigned = _UNSIGNED.search(text)
        return unsigned.start() if unsigned else None
    source = _SOURCE.search(text, 0, level.start() + 2)
    if source is None:
        return 0
    head = text[: source.start()]
    known = max((host for host in hosts if head.endswith(host)), key=len, default="")
    start = len(head) - len(known) if known else head.rfind(" ") + 1
    stamp = _STAMP.search(text[:start])  # warnings carry a date since 2.26
    if stamp is not None:
        return stamp.start()
    return start if known or start == 0 else SEAM_UNKNOWN
