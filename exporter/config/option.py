"""How an option is declared in the schema: its kind, default, words and spellings. Knows no option."""

from dataclasses import dataclass, field
from typing import Any

from exporter.config.kinds import PATTERN, Kind, duration, list_of

INTERVAL = duration(0.1, 86_400)
"""How often something is read."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an option may be given apart from the file: its flag, and a variable where the name does not follow from the path.
    `value` is what a flag without an argument means. `flag_only` options are refused in file and environment, with this reason."""

    flag: str = ""
    variable: str = ""
    value: str = ""
    flag_only: str = ""


def option(default: object, kind: Kind, doc: str, reason: str, spelling: Spelling | None = None) -> Any:
    """A dataclass field: `doc` says what the option does, `reason` why the default is what it is."""
    return field(default=default, metadata={"kind": kind, "doc": doc, "reason": reason, "spelling": spelling or Spelling()})


def names(doc: str, flag: str) -> Any:  # as option()
    """Patterns that choose devices by name; none unless configured."""
    return option((), list_of(PATTERN), doc, "Empty: nothing is missed by default.", Spelling(flag))
