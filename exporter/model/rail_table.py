"""The operator's table of rails: which device of a node is on which rail, where PCI cannot tell or does not say what is true. Pure.

    # device,rail or device,rail,role
    mlx5_0,0
    mlx5_8,,storage

One line a device; the rail is a word (a number, the name of a leaf switch), the role one of rails.ROLES. Knows the grammar; who reads the
file and who is told of its mistakes is not its business.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.model.quoted import shown
from exporter.model.rails import ROLES, Stated

TABLE_SIZE_BYTES = 262_144
"""A table names the NICs of one kind of node; a file longer than this is something else."""
COMPLAINTS_MAX = 20
"""Lines complained of one by one; a file of junk need not fill the log."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,62}", re.ASCII)
"""A device or a rail; the kernel's own names of devices have at most 63 characters."""
_HEADS = frozenset({"device,rail", "device,rail,role"})


@dataclass(frozen=True, slots=True)
class RailTable:
    """What is stated by device, and one line of complaint for each line that makes no sense."""

    stated: Mapping[str, Stated] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()


def parse_rail_table(text: str) -> RailTable:
    """The whole table. A line that makes no sense costs only itself; blank lines, comments and a head line say nothing. Of two lines about
    one device the first holds."""
    stated: dict[str, Stated] = {}
    complaints: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words or _squeezed(words) in _HEADS:
            continue
        try:
            device, said = parse_rail_line(words)
        except ValueError as error:
            complaints.append(f"line {number}: {error}; the line is left out")
            continue
        if stated.setdefault(device, said) != said:
            complaints.append(f"line {number}: {device} stands in an earlier line with something else; the line is left out")
    if len(complaints) > COMPLAINTS_MAX:
        complaints[COMPLAINTS_MAX:] = [f"{len(complaints) - COMPLAINTS_MAX} more lines make no sense; they are left out"]
    return RailTable(stated, tuple(complaints))


def parse_rail_line(line: str) -> tuple[str, Stated]:
    """Device and what is stated of it. Raises ValueError, one line, saying what was expected."""
    fields = [word.strip() for word in line.split(",")]
    if len(fields) not in {2, 3}:
        raise ValueError(f"expected device,rail or device,rail,role, got {shown(line)}")
    device, rail, role = (*fields, "")[:3]
    if not _WORD.fullmatch(device):
        raise ValueError(f"expected the name of a device first, got {shown(device)}")
    if rail and not _WORD.fullmatch(rail):
        raise ValueError(f"expected a number or a word as the rail, got {shown(rail)}")
    if role and role not in ROLES:
        raise ValueError(f"expected {', '.join(ROLES[:-1])} or {ROLES[-1]} as the role, got {shown(role)}")
    if not rail and not role:
        raise ValueError(f"expected a rail or a role for {device}, got neither")
    return device, Stated(rail, role)


def _squeezed(line: str) -> str:
    return "".join(line.lower().split())
