"""Begin and end maintenance by the words of a question over the control socket: what is understood, what is refused, what is said then.

Knows the words; what the maintenance file looks like, model/ and runtime/ know.
"""

from exporter.config.duration import parse_duration
from exporter.model.maintenance import REASON_LENGTH_MAX, UNTIL
from exporter.model.quoted import shown
from exporter.runtime.maintenance_file import MaintenanceFile
from exporter.web.control import ControlAnswer, Query

FOR, REASON = "for", "reason"
LONGEST_S = 366 * 86_400.0
"""A year: a node that is out of service for longer needs no end."""


def switched_on(file: MaintenanceFile, query: Query, wall_s: float) -> ControlAnswer:
    """Maintenance begins at `wall_s` (Unix time), until the file is gone or the time of the word `for` has passed."""
    try:
        _refuse_others(query)
        for_s = span_of(query[FOR]) if query.get(FOR) else None
        reason = reason_of(query.get(REASON, ""))
    except ValueError as error:
        return ControlAnswer(ok=False, text=f"maintenance was not begun: {error}")
    try:
        return ControlAnswer(ok=True, text=file.begin(wall_s, for_s, reason))
    except OSError as error:
        return ControlAnswer(ok=False, text=f"maintenance was not begun: {_unwritable(file, error)}")


def switched_off(file: MaintenanceFile, wall_s: float) -> ControlAnswer:
    """Maintenance is over at `wall_s` (Unix time), as far as the file goes: who else says that somebody works on the node is named."""
    try:
        text = file.end()
    except OSError as error:
        return ControlAnswer(ok=False, text=f"maintenance goes on: {_unwritable(file, error)}")
    rest = file.at(wall_s)
    return ControlAnswer(ok=True, text=f"{text}, but the node stays in maintenance: {rest.reason}" if rest.is_active else text)


def span_of(text: str) -> float:
    """Seconds. Raises ValueError for no duration, none at all, and more than a year."""
    for_s = parse_duration(text)
    if not 0.0 < for_s <= LONGEST_S:
        raise ValueError(f"expected a duration of up to 366d, got {shown(text)}")
    return for_s


def reason_of(text: str) -> str:
    """The reason on one line. Raises ValueError for one that would not be kept as it is."""
    reason = " ".join(text.split())
    if len(reason) > REASON_LENGTH_MAX:
        raise ValueError(f"expected a reason of up to {REASON_LENGTH_MAX} characters, got {len(reason)}")
    if reason.lower().startswith(UNTIL):
        raise ValueError(f"a reason cannot begin with {UNTIL}, got {shown(reason)}")
    return reason


def _refuse_others(query: Query) -> None:
    """A mistyped `for` must not make maintenance without an end."""
    for word in query:
        if word not in (FOR, REASON):
            raise ValueError(f"{shown(word)} means nothing here; {FOR} and {REASON} do")


def _unwritable(file: MaintenanceFile, error: OSError) -> str:
    return f"cannot write {file.path}: {error.strerror}; see state.dir and signals.maintenance_file"
