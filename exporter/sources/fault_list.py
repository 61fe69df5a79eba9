"""Faults gathered during one pass of one source, each worded so that a person knows what, where, why and what to do."""

from collections.abc import Iterable

from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.fault import Fault, Reason
from exporter.sources.sysfs import reason_of

_ADVICE = {
    Reason.UNSUPPORTED: "the driver does not support it; nothing to do",
    Reason.DENIED: "let the user of this service read it",
    Reason.LOST: "the device went away or was reset",
    Reason.EXHAUSTED: "raise the limit of open files (LimitNOFILE)",
}
_TEXT_SHOWN = 40


class FaultList:
    """Collects Faults for one source; `faults` is what has been found so far."""

    def __init__(self, source: str) -> None:
        self.faults: list[Fault] = []
        self._source = source

    def add(self, subject: str, reason: Reason, detail: str) -> None:
        """One Fault in the caller's own words."""
        self.faults.append(Fault(self._source, subject, reason, detail))

    def add_error(self, path: str, error: OSError) -> None:
        """One path that could not be opened or read."""
        reason = reason_of(error)
        why = (error.strerror or str(error)) + (f"; {_ADVICE[reason]}" if reason in _ADVICE else "")
        self.add(path, reason, why)

    def add_failures(self, folder: str, failures: Iterable[tuple[str, OSError]]) -> None:
        """Names below `folder` that could not be read; `folder` itself if all of it is gone."""
        for name, error in failures:
            self.add_error(folder if name == folder else f"{folder}/{name}", error)

    def add_text(self, path: str, reason: Reason, raw: bytes) -> None:
        """One file whose text is not what the kernel documents."""
        text = raw.decode("utf-8", "replace").strip()
        shown = repr(text[:_TEXT_SHOWN]) + ("…" if len(text) > _TEXT_SHOWN else "")
        cut_off = f"; longer than {READ_SIZE_BYTES} bytes" if len(raw) >= READ_SIZE_BYTES else ""
        self.add(path, reason, f"says {shown}{cut_off}" if text else "is empty")

    @property
    def is_lost(self) -> bool:
        """True if anything that was there is gone: time to look again at what is."""
        return bool(self.faults) and any(fault.reason is Reason.LOST for fault in self.faults)
