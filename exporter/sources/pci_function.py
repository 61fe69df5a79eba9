"""Reads one PCI function: link state and AER statistics now, what it can do and who it is now and then. Knows no other function."""

from collections.abc import Mapping

from exporter.catalog.limits import AER_SIZE_BYTES, READ_SIZE_BYTES
from exporter.catalog.pcie import AER_FILES, ERRORS, SEVERITIES, SPEED, WIDTH
from exporter.model.fault import Reason
from exporter.model.link_capability import UNKNOWN, Capability
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FilePass, FileSet
from exporter.sources.pci_text import aer_of, lanes_of, speed_of
from exporter.sources.sysfs import Files, read_once

_NOW = {"current_link_speed": (SPEED.key, speed_of), "current_link_width": (WIDTH.key, lanes_of)}
_MAX_SPEED, _MAX_WIDTH = "max_link_speed", "max_link_width"
_TEXT_SIZE = 64
_NOTHING = FilePass((), ())


class FunctionReader:
    """One function's folder. `read_now` is one call a file; `look_again` lists the folder and reads what rarely changes."""

    def __init__(self, files: Files, folder: str) -> None:
        self.capability = UNKNOWN
        self.identity = ""
        self._files = files
        self._folder = folder
        self._present: frozenset[str] = frozenset()
        self._link: FileSet | None = None
        self._aer: FileSet | None = None
        self._unknown: dict[str, bytes] = {}
        self._memo: dict[str, tuple[bytes, dict[SeriesKey, Number]]] = {}
        self._values: Mapping[SeriesKey, Number] = {}
        self._said: tuple[object, ...] | None = None
        """What the files said when `_values` was understood; None if a part of that was no good: then it is said again."""

    def look_again(self, faults: FaultList) -> None:
        """Which files there are, what the function can do, and who it is. Files of a kernel or bus that lacks them are not missed."""
        try:
            present = frozenset(self._files.listdir(self._folder))
        except OSError as error:
            faults.add_error(self._folder, error)
            return
        if present != self._present:
            self.close()
            self._present = present
            self._link = self._set_of([name for name in _NOW if name in present])
            self._aer = self._set_of([name for name in AER_FILES if name in present], AER_SIZE_BYTES)
        speed, lanes = self._number(_MAX_SPEED, faults), self._number(_MAX_WIDTH, faults)
        self.capability = Capability(speed, lanes)
        ids = (self._once(name, faults) or b"" for name in ("vendor", "device"))
        self.identity = ":".join(raw.decode("utf-8", "replace").strip() for raw in ids)

    def read_now(self, faults: FaultList, now_s: float) -> Mapping[SeriesKey, Number]:
        """Link state and errors; the same object as before while all files say the same. A file that fails, or says nothing the kernel
        documents, costs its own keys."""
        link, aer = [files.read(now_s) if files is not None else _NOTHING for files in (self._link, self._aer)]
        said = (link.names, link.raws, aer.names, aer.raws)
        if said == self._said and not link.failures and not aer.failures:
            return self._values
        known = len(faults.faults)
        values: dict[SeriesKey, Number] = {}
        for seen in (link, aer):
            faults.add_failures(self._folder, seen.failures)
        self._unknown = {}
        for name, raw in zip(link.names, link.raws, strict=True):
            key, meaning = _NOW[name]
            self._take(name, raw, meaning(raw), key, values, faults)
        for name, raw in zip(aer.names, aer.raws, strict=True):
            values |= self._errors(name, raw, faults)
        self._values, self._said = values, said if len(faults.faults) == known else None
        return values

    def remark(self, faults: FaultList) -> None:
        """A Fault for each file whose last answer was that it does not know. Said now and then: in a virtual machine it never changes."""
        for name, raw in self._unknown.items():
            faults.add_text(f"{self._folder}/{name}", Reason.UNSUPPORTED, raw)

    def close(self) -> None:
        """Give all handles back; the next look starts from nothing."""
        for files in (self._link, self._aer):
            if files is not None:
                files.close()
        self._link = self._aer = None
        self._present = frozenset()

    def _set_of(self, names: list[str], size_bytes: int = READ_SIZE_BYTES) -> FileSet | None:
        return FileSet(self._files, self._folder, names, size_bytes) if names else None

    def _take(self, name: str, raw: bytes, number: int | Reason, key: str, values: dict[SeriesKey, Number], faults: FaultList) -> None:
        if number is Reason.UNSUPPORTED:
            self._unknown[name] = raw
        elif isinstance(number, Reason):
            faults.add_text(f"{self._folder}/{name}", number, raw)
        else:
            values[key] = number

    def _errors(self, name: str, raw: bytes, faults: FaultList) -> dict[SeriesKey, Number]:
        """The counts of one AER file; understood once as long as it says the same."""
        known = self._memo.get(name)
        if known is not None and known[0] == raw:
            return known[1]
        severity = AER_FILES[name]
        counts = aer_of(raw, severity)
        if counts is None:
            faults.add(f"{self._folder}/{name}", Reason.PARSE, "holds something else than lines of a name and a count")
            return {}
        values: dict[SeriesKey, Number] = {(ERRORS.key, severity, kind): count for kind, count in counts.items()}
        values[SEVERITIES.key, severity] = sum(counts.values())
        self._memo[name] = (raw, values)
        return values

    def _number(self, name: str, faults: FaultList) -> int | None:
        """What a max_link_* file says; None if it is not there or does not know."""
        raw = self._once(name, faults)
        if raw is None:
            return None
        number = speed_of(raw) if name == _MAX_SPEED else lanes_of(raw)
        if isinstance(number, Reason):
            if number is Reason.PARSE:
                faults.add_text(f"{self._folder}/{name}", number, raw)
            return None
        return number

    def _once(self, name: str, faults: FaultList) -> bytes | None:
        """One file, not kept open; None where there is none or it cannot be read."""
        if name not in self._present:
            return None
        try:
            return read_once(self._files, f"{self._folder}/{name}", _TEXT_SIZE)
        except OSError as error:
            faults.add_error(f"{self._folder}/{name}", error)
            return None
