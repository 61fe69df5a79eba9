"""Faults: expected trouble with hardware is a value that travels beside the readings, never an exception that costs them.

Reason
├── the thing is not there      ABSENT  UNSUPPORTED  LOST
├── it is there but unreadable  DENIED  PARSE  IO
├── it does not answer          TIMEOUT
├── the driver is in the way    DRIVER  UNKNOWN  RELEASED
├── we are short of something   EXHAUSTED  LIMIT
└── we are wrong                BUG
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a value is missing; the label value of `fabric_exporter_source_faults_total{reason}`."""

    ABSENT = "absent"
    """Nothing of the kind on this machine (no such class, no counters directory)."""
    UNSUPPORTED = "unsupported"
    """The driver refuses: EINVAL, ENOSYS, EOPNOTSUPP, or the text `N/A (no PMA)`."""
    LOST = "lost"
    """It was there and went: ENODEV, ENXIO, ENOENT of an open file."""
    DENIED = "denied"
    """EPERM or EACCES: run as a user who may read it, or let the container see it."""
    PARSE = "parse"
    """The text is not what the kernel documents: empty, not a number, too long, a directory."""
    IO = "io"
    """EIO and any other errno: the device or its firmware failed the read."""
    TIMEOUT = "timeout"
    """The read did not come back by its deadline; the device is flagged and not waited for."""
    DRIVER = "driver"
    """Library and kernel driver do not fit together, or the driver was unloaded: a fresh process may help."""
    UNKNOWN = "unknown_error"
    """NVML's Unknown Error: a container that lost its devices says so, and only its restart helps."""
    RELEASED = "released"
    """Let go on purpose (`fabric-exporter release`), so that a GPU can be reset; `resume` takes it back."""
    EXHAUSTED = "exhausted"
    """EMFILE, ENFILE, ENOMEM: this process or machine ran out of something."""
    LIMIT = "limit"
    """A bound of ours cut something off: too many files in one directory, too many series."""
    BUG = "bug"
    """An error of this program; the log holds one traceback."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that could not be read: which source, which subject (a path or an entity's name), why, and a line for a person."""

    source: str
    subject: str
    reason: Reason
    detail: str
