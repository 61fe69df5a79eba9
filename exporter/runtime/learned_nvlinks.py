"""Which NVLinks of this node's GPUs proved to be wired: those that were active for long, once. Kept in the state directory by GPU UUID.

A GPU keeps what was learned over reboots, driver changes and other slots; another GPU starts anew. The reader of the links (which may be in
another process) tells what is active, and learns from the answer what is known.
"""

from collections.abc import Collection, Mapping

from exporter.catalog.limits import LEARN_NVLINK_AFTER_S, LEARNED_GPUS_MAX
from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile

FILE, VERSION = "learned-nvlinks.json", 1
LINK_INDEX_MAX = 1024
"""As many ports as a GPU is ever believed to have (gpu_links.py)."""


class LearnedNvlinks(Kept):
    """By GPU UUID."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        self._since_s: dict[str, dict[int, float]] = {}
        """By GPU: since when each link that is active now has been, without a break that we saw."""
        self._known = _known_of(self._load())

    def known(self, uuid: str) -> frozenset[int]:
        """Links of that GPU that were active for LEARN_NVLINK_AFTER_S at a stretch, once; empty if none was."""
        return self._known.get(uuid, frozenset())

    def note(self, uuid: str, active: Collection[int], monotonic_s: float) -> None:
        """These links of that GPU are active now."""
        with self._lock:
            before = self._since_s.get(uuid, {})
            since_s = self._since_s[uuid] = {link: before.get(link, monotonic_s) for link in active}
            known = self.known(uuid)
            proved = {link for link, start_s in since_s.items() if monotonic_s - start_s >= LEARN_NVLINK_AFTER_S} - known
            if not proved:
                return
            self._add(uuid, known | proved)

    def merge(self, known: Mapping[str, frozenset[int]]) -> None:
        """Take in what another one of these learned (that of the process which reads the links)."""
        with self._lock:
            for uuid, links in known.items():
                if not links <= self.known(uuid):
                    self._add(uuid, links | self.known(uuid))

    @property
    def everything(self) -> Mapping[str, frozenset[int]]:
        """What is known of each GPU."""
        with self._lock:
            return dict(self._known)

    def _add(self, uuid: str, links: frozenset[int]) -> None:
        self._known.pop(uuid, None)
        self._known[uuid] = links
        while len(self._known) > LEARNED_GPUS_MAX:
            del self._known[next(iter(self._known))]
        self._is_changed = True

    def _document(self) -> Mapping[str, object]:
        return {"gpus": {uuid: sorted(links) for uuid, links in self._known.items()}}


def _known_of(document: Mapping[str, object]) -> dict[str, frozenset[int]]:
    """What a document holds; an entry that is not what `note` makes is left out alone."""
    entries = document.get("gpus")
    if not isinstance(entries, dict):
        return {}
    found = {uuid: frozenset(links) for uuid, links in entries.items() if isinstance(links, list) and links and all(map(_is_link, links))}
    return dict(list(found.items())[-LEARNED_GPUS_MAX:])


def _is_link(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LINK_INDEX_MAX
