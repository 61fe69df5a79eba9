"""What the tests of the runtime share: the log records of ours, whatever other tests did to the loggers."""

import logging
from collections.abc import Iterator

import pytest


class Records(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.kept.append(record)

    @property
    def messages(self) -> list[str]:
        """The texts."""
        return [record.getMessage() for record in self.kept]


@pytest.fixture
def records() -> Iterator[Records]:
    """Everything our loggers say during the test; their set-up is put back afterwards."""
    root = logging.getLogger("fabric_exporter")
    before = root.level, root.propagate, root.handlers[:]
    handler = Records()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG)
    yield handler
    root.setLevel(before[0])
    root.propagate = before[1]
    root.handlers[:] = before[2]
