"""Which place on the board each GPU has (NVML's module id), kept in the state directory by PCI address, so that rails are numbered alike
before the driver has answered for the first time."""

import threading
from collections.abc import Mapping

from exporter.runtime.state_file import StateFile

FILE, VERSION = "gpu-modules.json", 1
GPUS_MAX = 256


class GpuModules:
    """Safe for several threads; only `save_if_changed` waits for the disk."""

    def __init__(self, file: StateFile | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._is_changed = False
        self.problem: str | None = None
        document: Mapping[str, object] = {}
        if file is not None:
            document, self.problem = file.load()
        entries = document.get("modules")
        kept = entries if isinstance(entries, dict) else {}
        self._ids = {str(address): number for address, number in list(kept.items())[:GPUS_MAX] if type(number) is int}

    def ids(self) -> Mapping[str, int]:
        """By PCI address; empty as long as no driver has answered."""
        return self._ids

    def note(self, ids: Mapping[str, int]) -> None:
        """The driver says so now. GPUs that it does not name keep what was said of them."""
        with self._lock:
            merged = dict(list({**self._ids, **ids}.items())[-GPUS_MAX:])
            if merged != self._ids:
                self._ids, self._is_changed = merged, True

    def save_if_changed(self) -> str | None:
        """Write the file if need be. Returns `problem`."""
        if self._file is not None and self._is_changed:
            self._is_changed = False
            self.problem = self._file.save({"modules": dict(self._ids)})
            self._is_changed = self.problem is not None
        return self.problem
