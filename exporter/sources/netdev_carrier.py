"""Whether an interface has carrier and how fast it is. Knows which files tell, and which the kernel refuses while it is down."""

import errno
from collections.abc import Mapping

from exporter.catalog.ethernet import CARRIER, SPEED
from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.fault import Reason
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.fault_list import FaultList
from exporter.sources.sysfs import Files

_OPERSTATES: Mapping[bytes, int | None] = {
    b"up": 1, b"down": 0, b"lowerlayerdown": 0, b"notpresent": 0, b"dormant": 0, b"testing": 0, b"unknown": None,
}  # fmt: skip
"""RFC 2863 states as the kernel prints them → carrier; `unknown` where the driver does not keep it, then `carrier` tells."""
_UNKNOWN_SPEEDS = frozenset({b"-1", b"65535", b"4294967295"})
"""SPEED_UNKNOWN as kernels of different age print it."""


class NetdevCarrier:
    """The three files of one interface's folder, each opened once. `names` are the files that are there."""

    def __init__(self, files: Files, folder: str, names: frozenset[str]) -> None:
        self._files = files
        self._folder = folder
        self._names = names
        self._handles: dict[str, int] = {}

    def read(self, faults: FaultList) -> dict[SeriesKey, Number]:
        """Carrier as 1 or 0 and, with carrier, the speed in bytes per second; what is not known is absent."""
        text = self._text("operstate", faults)
        if text is None:
            return {}
        if text not in _OPERSTATES:
            faults.add_text(f"{self._folder}/operstate", Reason.PARSE, text)
            return {}
        carrier = _OPERSTATES[text]
        if carrier is None:
            said = self._text("carrier", faults)
            carrier = {b"1": 1, b"0": 0}.get(said or b"")
        values: dict[SeriesKey, Number] = {} if carrier is None else {CARRIER.key: carrier}
        return values | self._speed(faults) if carrier else values

    def close(self) -> None:
        """Give all handles back."""
        for handle in self._handles.values():
            self._files.close(handle)
        self._handles.clear()

    def _speed(self, faults: FaultList) -> dict[SeriesKey, Number]:
        text = self._text("speed", faults)
        if text is None or text in _UNKNOWN_SPEEDS:
            return {}
        if not text.isdigit() or len(text) > 9:
            faults.add_text(f"{self._folder}/speed", Reason.PARSE, text)
            return {}
        return {SPEED.key: int(text) * int(SPEED.scale)} if int(text) else {}

    def _text(self, name: str, faults: FaultList) -> bytes | None:
        """What the file says, stripped; None if it is not there or refuses. EINVAL is how the kernel says that the interface is down, or
        that its driver knows no speed: no fault."""
        if name not in self._names:
            return None
        path = f"{self._folder}/{name}"
        try:
            if name not in self._handles:
                self._handles[name] = self._files.open(path)
            return self._files.pread(self._handles[name], READ_SIZE_BYTES, 0).strip()
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
                faults.add_error(path, error)
            return None
