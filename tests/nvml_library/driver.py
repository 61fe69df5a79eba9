"""A fake NVIDIA driver in a folder: library, scenario file, clock, call log and device file. Knows who called what."""

import mmap
import os
import struct
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.nvml_library.child import Child
from tests.nvml_library.library import build
from tests.nvml_library.scenario import NS, Statements, Value, text_of

CHANGING = ("Set", "Reset", "Freeze", "Clear", "ReadWrite", "GetNvLinkUtilization")
"""What follows nvmlDevice or nvmlSystem in the name of a call that changes the node, or presumes that one did."""


class Call(NamedTuple):
    """One line of the call log. `fields` are (field id, scope) of nvmlDeviceGetFieldValues or (counter id, local port) of
    nvmlDeviceReadPRMCounters_v1; `peer` is the other GPU of a call about a pair. What a call does not name is None or empty."""

    name: str
    gpu: int | None
    link: int | None = None
    peer: int | None = None
    fields: tuple[tuple[int, int], ...] = ()
    pid: int = 0

    @property
    def changes_the_node(self) -> bool:
        """Whether an exporter has no business to call it."""
        return self.name.removeprefix("nvmlDevice").removeprefix("nvmlSystem").startswith(CHANGING)


class FakeClock:
    """The eight bytes that the library maps: counters move only when a test moves them."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 8)

    @property
    def ns(self) -> int:
        """Nanoseconds now."""
        return int(struct.unpack("<Q", self._bytes[:])[0])

    def set_ns(self, ns: int) -> None:
        """Set it, also back."""
        self._bytes[:] = struct.pack("<Q", ns)

    def set(self, seconds: float) -> None:
        """Set it, also back."""
        self.set_ns(round(Fraction(seconds) * NS))

    def advance(self, seconds: float) -> None:
        """Let that much time pass."""
        self.set_ns(self.ns + round(Fraction(seconds) * NS))


class FakeDriver:
    """`FakeDriver(tmp_path).write(profile("h100-sxm"))`; functions in `without` are missing from the library."""

    def __init__(self, folder: Path, without: Iterable[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.library = build(without)
        self.statements: dict[str, Value] = {}
        self.clock = FakeClock(folder / "nvml.clock")
        self._scenario, self._log, self._device = folder / "nvml.scenario", folder / "nvml.calls", folder / "nvidiactl"
        self._device.touch()
        self.write({})

    def write(self, statements: Statements) -> "FakeDriver":
        """Replace the whole scenario, at once for every process that uses it."""
        self.statements = dict(statements)
        aside = self._scenario.with_suffix(".new")
        aside.write_text(text_of(self.statements), encoding="utf-8")
        os.replace(aside, self._scenario)
        return self

    def change(self, statements: Statements) -> "FakeDriver":
        """Add statements or replace those of the same keys."""
        return self.write({**self.statements, **statements})

    def remove(self, *keys: str) -> "FakeDriver":
        """Take statements back. KeyError for one that is not there."""
        rest = dict(self.statements)
        for key in keys:
            del rest[key]
        return self.write(rest)

    def environment(self) -> dict[str, str]:
        """The variables that make a process find and steer this library instead of a real one."""
        others = os.environ.get("LD_LIBRARY_PATH")
        return {
            "LD_LIBRARY_PATH": f"{self.library.parent}:{others}" if others else str(self.library.parent),
            "FAKE_NVML_SCENARIO": str(self._scenario),
            "FAKE_NVML_CLOCK": str(self.clock_path),
            "FAKE_NVML_LOG": str(self._log),
            "FAKE_NVML_DEVICE": str(self._device),
        }

    @property
    def scenario_path(self) -> Path:
        """The flat file."""
        return self._scenario

    @property
    def clock_path(self) -> Path:
        """The clock's file."""
        return self._scenario.with_suffix(".clock")

    def calls(self, name: str | None = None) -> tuple[Call, ...]:
        """Every call so far, or those of one function, in order."""
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        calls = map(_call, text.splitlines())
        return tuple(call for call in calls if name is None or call.name == name)

    def forget_calls(self) -> None:
        """Begin the log anew; a process that has it open goes on writing to it."""
        if self._log.exists():
            os.truncate(self._log, 0)

    def holders(self) -> set[int]:
        """Processes that hold the driver open: started (nvmlInit) and not shut down. Only those that this user may look into."""
        return {int(path.parts[2]) for path in Path("/proc").glob("[0-9]*/fd/*") if _leads_to(path, self._device)}

    def start(self, script: str) -> Child:
        """A process with this driver that runs the script (`child` tells what a script may use)."""
        return Child(script, {**os.environ, **self.environment()})

    def ask(self, script: str) -> Any:  # JSON
        """The first thing that a script tells, once it ended well. AssertionError with its error output if it fails."""
        with self.start(script) as child:
            answer = child.told()
            if child.end():
                child.fail()
        return answer


def _call(line: str) -> Call:
    pid, name, gpu, *detail = line.split(" ")
    call = Call(name, None if gpu == "-" else int(gpu), pid=int(pid))
    if not detail:
        return call
    if detail[0][0] == "l":
        return call._replace(link=int(detail[0][1:]))
    if detail[0][0] == "g":
        return call._replace(peer=int(detail[0][1:]))
    pairs = (one.split(":") for one in detail[1:])
    return call._replace(fields=tuple((int(number), int(scope)) for number, scope in pairs))


def _leads_to(path: Path, target: Path) -> bool:
    try:
        return os.readlink(path) == str(target.resolve())
    except OSError:
        return False
