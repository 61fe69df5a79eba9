"""What is asked of somebody who may know whether the node is being worked on: a scheduler. Declares; does nothing."""

from typing import Protocol

from exporter.model.fault import Reason
from exporter.model.maintenance import Claim


class OriginError(Exception):
    """An origin could not be asked, or its answer says nothing: why, in the house's words and in one line for a person."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Origin(Protocol):
    """One scheduler. Asked by one thread, which may wait for the answer up to a deadline of the origin's own."""

    @property
    def name(self) -> str:
        """Of the origin, as its claims bear it."""
        ...

    @property
    def interval_s(self) -> float:
        """How often it is asked."""
        ...

    def ask(self) -> Claim | None:
        """Its claim; None if it says that nobody works on the node. Raises OriginError."""
        ...

    def close(self) -> None:
        """Wait for no answer any more, if that can be told. Any thread may call it; returns at once."""
        ...
