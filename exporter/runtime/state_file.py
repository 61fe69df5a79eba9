"""One small JSON document in the state directory: read tolerantly, written whole or not at all. Knows no document's meaning."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.runtime.state_dir import StateDir
from exporter.runtime.whole_file import write_whole

SIZE_MAX_BYTES = 4 << 20
"""A larger file is not ours."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """`path` of the document and the `version` of its layout; another version is not understood."""

    path: str
    version: int

    def load(self) -> tuple[Mapping[str, object], str | None]:
        """The document, and a line that says why there is none: empty and None where the file does not exist yet. Never raises."""
        try:
            with open(self.path, "rb") as file:
                document = json.loads(file.read(SIZE_MAX_BYTES))
        except FileNotFoundError:
            return {}, None
        except (OSError, ValueError, RecursionError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or "is torn or no JSON"
            return {}, f"{self.path}: {why}; what was learned before is forgotten"
        if not isinstance(document, dict) or document.get("version") != self.version:
            return {}, f"{self.path}: is not of version {self.version}; what was learned before is forgotten"
        return document, None

    def save(self, document: Mapping[str, object]) -> str | None:
        """Write it whole or not at all. Returns None, or a line that says why it could not be written.
        Never raises for a file system's trouble."""
        try:
            write_whole(self.path, json.dumps({"version": self.version, **document}, indent=1, sort_keys=True))
        except OSError as error:
            return f"{self.path}: {error.strerror or error}; what is learned is lost at a restart"
        return None


def state_file(state: StateDir, name: str, version: int) -> StateFile | None:
    """The file of that name in the state directory; None if nothing can be kept there."""
    return StateFile(os.path.join(state.path, name), version) if state.writable else None
