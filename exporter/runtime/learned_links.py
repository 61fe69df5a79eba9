"""What this node's PCIe links have been seen to do, kept in the state directory. The `learned` argument of PcieSource.

Knows where it is kept and how much; when it is believed is exporter.model.learned_link's.
"""

from collections.abc import Mapping
from math import isfinite

from exporter.catalog.limits import LEARN_LINK_AFTER_S, LEARNED_LINKS_MAX
from exporter.model.learned_link import LearnedLink, believed, learn
from exporter.model.link_capability import Capability
from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile

FILE, VERSION = "learned-links.json", 1


class LearnedLinks(Kept):
    """By PCI address. Readers of the hardware ask and tell."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        self._links = _links_of(self._load())

    def believed(self, address: str, identity: str, wall_s: float) -> Capability:
        """The bound to set on the expectation for this function."""
        return believed(self._links.get(address), identity, wall_s, LEARN_LINK_AFTER_S)

    def note(self, address: str, identity: str, seen: Capability, wall_s: float) -> None:
        """The function runs like this now. Changes nothing unless it is better than ever, or another card."""
        before = self._links.get(address)
        after = learn(before, identity, seen, wall_s)
        if after is before:
            return
        with self._lock:
            self._links[address] = after
            if len(self._links) > LEARNED_LINKS_MAX:
                del self._links[min(self._links, key=lambda known: self._links[known].since_wall_s)]
            self._is_changed = True

    def _document(self) -> Mapping[str, object]:
        return {"links": {address: _document_of(link) for address, link in self._links.items()}}


def _document_of(link: LearnedLink) -> dict[str, object]:
    return {"identity": link.identity, "since_wall_s": link.since_wall_s, "transfers_per_s": link.best.transfers_per_s,
            "lanes": link.best.lanes}  # fmt: skip


def _links_of(document: Mapping[str, object]) -> dict[str, LearnedLink]:
    """The links a document holds; an entry that is not what `note` writes is left out alone."""
    entries = document.get("links")
    if not isinstance(entries, dict):
        return {}
    links = {address: link for address, entry in entries.items() if (link := _link_of(entry)) is not None}
    return dict(list(links.items())[:LEARNED_LINKS_MAX])


def _link_of(entry: object) -> LearnedLink | None:
    if not isinstance(entry, dict):
        return None
    identity, since_s, speed, lanes = (entry.get(key) for key in ("identity", "since_wall_s", "transfers_per_s", "lanes"))
    if (
        not isinstance(identity, str)
        or not isinstance(since_s, int | float)
        or not isfinite(since_s)
        or not _is_count(speed)
        or not _is_count(lanes)
    ):
        return None
    return LearnedLink(identity, since_s, Capability(speed, lanes))


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0)
