"""Which place on the board each GPU has (NVML's module id), kept in the state directory by PCI address, so that rails are numbered alike
before the driver has answered for the first time."""

from collections.abc import Mapping

from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile

FILE, VERSION = "gpu-modules.json", 1
GPUS_MAX = 256


class GpuModules(Kept):
    """By PCI address."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        entries = self._load().get("modules")
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

    def _document(self) -> Mapping[str, object]:
        return {"modules": dict(self._ids)}
