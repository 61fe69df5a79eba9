"""What a check found, item by item, and how that is printed. Knows no driver. Written by one thread, read by another at any time."""

import threading
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Verdict(Enum):
    """PASS and DIFFERS are comparisons, CANNOT one that could not be made; TOLD is an answer that nothing here can judge."""

    PASS = "PASS"  # noqa: S105  # a word of the report
    DIFFERS = "DIFFERS"
    CANNOT = "CANNOT"
    TOLD = "TOLD"


class Finding(NamedTuple):
    """One line of the report."""

    verdict: Verdict
    item: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value:8}{self.item}" + (f": {self.detail}" if self.detail else "")


class StoppedError(Exception):
    """Raised in the thread that asks, once nobody waits for it any more."""


class Report:
    """Findings in the order in which they came. `now` says what is being asked, for whoever must give up on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._findings: list[Finding] = []
        self._stopped = threading.Event()
        self.now = "nothing yet"

    def at(self, what: str) -> None:
        """That is asked next. Raises StoppedError after `stop`."""
        if self._stopped.is_set():
            raise StoppedError
        self.now = what

    def stop(self) -> None:
        """The time is over."""
        self._stopped.set()

    def add(self, verdict: Verdict, item: str, detail: str = "") -> None:
        """One more."""
        with self._lock:
            self._findings.append(Finding(verdict, item, detail))

    def compare(self, item: str, differences: Iterable[str], passed: str) -> None:
        """DIFFERS with the first few differences, or PASS with the detail `passed`."""
        listed = list(differences)
        if listed:
            self.add(Verdict.DIFFERS, item, few(listed))
        else:
            self.add(Verdict.PASS, item, passed)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All so far."""
        with self._lock:
            return tuple(self._findings)

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return any(finding.verdict is Verdict.DIFFERS for finding in self.findings)

    def summary(self) -> str:
        """The last line: how many of each verdict."""
        counts = Counter(finding.verdict for finding in self.findings)
        return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)


def few(texts: Iterable[str], most: int = 4) -> str:
    """The first of them, and how many there are beyond."""
    listed = list(texts)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return "; ".join(listed[:most]) + more
