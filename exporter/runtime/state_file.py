"""One small JSON document in the state directory: read tolerantly, written whole or not at all. Knows no document's meaning."""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.runtime.state_dir import StateDir

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
        """Write it beside the old one and put it in its place; a reader or a power cut sees the old or the new, never half. Returns None,
        or a line that says why it could not be written. Never raises for a file system's trouble."""
        folder = os.path.dirname(self.path)
        name = None
        try:
            handle, name = tempfile.mkstemp(prefix=f".{os.path.basename(self.path)}-", dir=folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"version": self.version, **document}, file, indent=1, sort_keys=True)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except OSError as error:
            if name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            return f"{self.path}: {error.strerror or error}; what is learned is lost at a restart"
        return None


def state_file(state: StateDir, name: str, version: int) -> StateFile | None:
    """The file of that name in the state directory; None if nothing can be kept there."""
    return StateFile(os.path.join(state.path, name), version) if state.writable else None
