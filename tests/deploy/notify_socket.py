"""A service manager's end of NOTIFY_SOCKET: a real datagram socket, and what came to it, message by message."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

PATIENCE_S = 40.0
MESSAGE_BYTES = 4096
"""systemd's own buffer: a longer datagram is cut there."""


class Message(NamedTuple):
    """When it came (monotonic seconds) and its assignments."""

    at_s: float
    fields: dict[str, str]


class NotifySocket:
    """Listens at `address`, a path or `@NAME`. `messages` are all that came so far."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.messages: list[Message] = []
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(f"\0{address[1:]}" if address.startswith("@") else address)

    def close(self) -> None:
        """Hear nothing more."""
        self._sock.close()

    def hear(self, bound_s: float) -> bool:
        """Wait for one message; whether one came."""
        self._sock.settimeout(bound_s)
        try:
            text = self._sock.recv(MESSAGE_BYTES + 1).decode()
        except TimeoutError:
            return False
        self.messages.append(Message(time.monotonic(), dict(line.split("=", 1) for line in text.splitlines())))
        return True

    def until(self, wanted: Callable[[Message], bool], since: int = 0) -> Message:
        """The first message from the `since`-th on that is wanted. Raises TimeoutError."""
        give_up_s = time.monotonic() + PATIENCE_S
        while True:
            found = next((message for message in self.messages[since:] if wanted(message)), None)
            if found is not None:
                return found
            left_s = give_up_s - time.monotonic()
            if left_s <= 0 or not self.hear(left_s):
                raise TimeoutError(f"not told within {PATIENCE_S:g} s, but {[message.fields for message in self.messages]}")


def says(field: str, value: str | None = None) -> Callable[[Message], bool]:
    """Whether a message has that field, with that value if one is given."""
    return lambda message: message.fields.get(field) == value if value is not None else field in message.fields


@contextmanager
def notify_socket(address: str) -> Iterator[NotifySocket]:
    """One that is closed in the end."""
    made = NotifySocket(address)
    try:
        yield made
    finally:
        made.close()
