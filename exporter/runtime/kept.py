"""What a node learns and keeps in a file of the state directory: read once, and written when it changed. Knows nothing of what it is."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping

from exporter.runtime.state_file import StateFile


class Kept(ABC):
    """Without a `file` it remembers for as long as the process lives. Safe for several threads: who asks and tells never waits for the
    disk; only `save_if_changed` does. `problem` is None, or a line on why the file could not be read or kept.

    Change what is remembered with `_lock` held, and set `_is_changed` then."""

    def __init__(self, file: StateFile | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._is_changed = False
        self.problem: str | None = None

    def save_if_changed(self) -> str | None:
        """Write the file if anything changed since it was last written. Returns `problem`. Call it once a tick and at the end."""
        if self._file is None or not self._is_changed:
            return self.problem
        with self._lock:
            document, self._is_changed = self._document(), False
        if document is None:
            return self.problem
        self.problem = self._file.save(document)
        if self.problem is not None:
            with self._lock:
                self._is_changed = True
        return self.problem

    def document(self) -> Mapping[str, object]:
        """What is remembered, as it would be written."""
        with self._lock:
            return self._document() or {}

    def _load(self) -> Mapping[str, object]:
        """What the file holds; empty if there is none or it cannot be read, which `problem` then says."""
        if self._file is None:
            return {}
        document, self.problem = self._file.load()
        return document

    @abstractmethod
    def _document(self) -> Mapping[str, object] | None:
        """What is to be written now, in a copy; None if that is nothing. Called with `_lock` held."""
