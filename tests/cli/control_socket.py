"""A stand-in for the daemon on a real unix socket: it answers each connection with the same bytes, whatever they are."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 10.0


def answer(status: str, body: bytes) -> bytes:
    """One HTTP answer."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@contextmanager
def answering(place: Path, reply: bytes) -> Iterator[list[bytes]]:
    """Answers on that path; the requests seen are in the list."""
    requests: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place))
        listener.listen(8)
        thread = threading.Thread(target=_answer_all, args=(listener, reply, requests))
        thread.start()
        try:
            yield requests
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE_S)


def _answer_all(listener: socket.socket, reply: bytes, requests: list[bytes]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test has ended
            return
        with connection:
            connection.settimeout(PATIENCE_S)
            requests.append(connection.recv(4096))
            connection.sendall(reply)
