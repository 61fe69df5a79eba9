"""Verdicts of links that are not well, kept in the state directory: a restart must not make a failed link look well.

They hold for one boot of the machine and one piece of hardware: after a reboot, or in another card, a link is judged anew. What cannot be
understood is left out and said once.
"""

from collections.abc import Mapping

from exporter.catalog.conditions import CONDITIONS
from exporter.model.entity import Fabric, Link
from exporter.model.health import Level, Why
from exporter.model.quoted import printable
from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile
from exporter.signals.verdict import REMEMBERED_PASSES, LinkState, ReasonState

FILE, VERSION = "verdicts.json", 1
LINKS_MAX = 4096
EVIDENCE_LENGTH_MAX = 500
TIME_MAX_S = 1e12
KeptState = tuple[str, LinkState]
"""Identity of the hardware that carried the link, and what was remembered of it."""


class KeptVerdicts(Kept):
    """By link."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        self._kept: Mapping[str, object] = {}

    def load(self, boot_id: str) -> dict[Link, KeptState]:
        """What was saved in this boot of the machine; nothing otherwise."""
        if self._file is None:
            return {}
        document = self._load()
        if not document or not boot_id or document.get("boot_id") != boot_id:
            return {}
        links = document.get("links")
        entries = list(links.items())[:LINKS_MAX] if isinstance(links, dict) else []
        known = {link: found for name, entry in entries if (link := _link_of(name)) is not None and (found := _state_of(entry)) is not None}
        if not isinstance(links, dict) or len(known) < len(links):
            self.problem = f"{self._file.path}: not all of it is understood; verdicts of the other links are forgotten and judged anew"
        return known

    def keep(self, boot_id: str, states: Mapping[Link, KeptState]) -> None:
        """Remember these, at first in memory. Without a boot id nothing is kept: nobody could tell later whose it was."""
        document = document_of(boot_id, states)
        with self._lock:
            if boot_id and document != self._kept:
                self._kept, self._is_changed = document, True

    def _document(self) -> Mapping[str, object]:
        return self._kept


def document_of(boot_id: str, states: Mapping[Link, KeptState]) -> dict[str, object]:
    """These states as they are kept, in JSON's types."""
    return {"boot_id": boot_id, "links": {str(link): _document_of(identity, state) for link, (identity, state) in states.items()}}


def _document_of(identity: str, state: LinkState) -> dict[str, object]:
    reasons = {why.value: [reason.held, reason.since_wall_s, reason.evidence] for why, reason in state.reasons.items()}
    return {"identity": identity, "level": int(state.level), "since": state.since_wall_s, "sick": state.sick_wall_s,
            "relapses": state.relapses, "reasons": reasons}  # fmt: skip


def _link_of(name: str) -> Link | None:
    """The link of a name such as `infiniband/mlx5_3/1`; None if it is none."""
    fabric, _, rest = name.partition("/")
    device, _, port = rest.partition("/")
    is_link = fabric in _FABRICS and device and port and printable(rest) == rest
    return Link(Fabric(fabric), device, port) if is_link else None


def _state_of(entry: object) -> KeptState | None:
    """What an entry says; None if it is not what `keep` writes. A hold that was running begins anew: nobody looked meanwhile."""
    if not isinstance(entry, dict):
        return None
    identity, level, since, sick, relapses, reasons = (
        entry.get(key) for key in ("identity", "level", "since", "sick", "relapses", "reasons")
    )
    if not isinstance(identity, str) or level not in tuple(Level) or not isinstance(reasons, dict) or type(relapses) is not int:
        return None
    since_s, sick_s = _time_of(since), _time_of(sick)
    if since_s is None or (sick is not None and sick_s is None):
        return None
    known = {Why(why): found for why, reason in reasons.items() if why in _WHYS and (found := _reason_of(reason)) is not None}
    return identity, LinkState(Level(level), since_s, known, None, None, sick_s, max(0, relapses))


def _reason_of(entry: object) -> ReasonState | None:
    if not isinstance(entry, list) or len(entry) != 3:
        return None
    held, since, evidence = entry
    if type(held) is not int or not 0 <= held < 1 << REMEMBERED_PASSES or not isinstance(evidence, str):
        return None
    since_s = _time_of(since)
    return None if since is not None and since_s is None else ReasonState(held, since_s, printable(evidence[:EVIDENCE_LENGTH_MAX]))


def _time_of(value: object) -> float | None:
    """A time that a float can hold and a page can show; None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < TIME_MAX_S else None


_WHYS = frozenset(why.value for why in CONDITIONS)
_FABRICS = frozenset(fabric.value for fabric in Fabric)
