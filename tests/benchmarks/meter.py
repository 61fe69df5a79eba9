"""Measuring tools: CPU and memory of other processes, a scraper on a raw keep-alive socket, alternating rounds. Knows no program."""

import socket
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

GATHER_BYTES = 1 << 20
ANSWER_WITHIN_S = 30.0


def cpu_s(pid: int) -> float:
    """User and system CPU seconds of a process and its living descendants since each began. Raises OSError if the process is gone.

    Read from the process's CPU clock (Linux numbers it ~pid·8+2): the sum of utime and stime of /proc/PID/stat, not rounded to 10 ms.
    """
    return sum(time.clock_gettime((~member << 3) | 2) for member in family(pid))


def family(pid: int) -> list[int]:
    """A process and its living descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue  # the thread ended meanwhile
        for child in children:
            found += family(int(child))
    return found


def status_of(pid: int, name: str) -> int:
    """A number of /proc/PID/status, such as Threads or VmRSS (in kB). Raises KeyError for a name that is not there."""
    lines = (line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int({key: value for key, _, value in lines}[name].split()[0])


def resident_bytes(pid: int) -> tuple[int, int]:
    """(RSS, PSS) of a process: its pages, and the same with each shared page divided among those who share it. Raises OSError."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    found = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}
    return found["Rss"], found["Pss"]


class Scraper:
    """Scrapes one path over one connection, kept if the server allows; its own cost stays out of the server's way."""

    def __init__(self, port: int, path: str = "/metrics", *, gzip: bool = True) -> None:
        encoding = "gzip" if gzip else "identity"
        self._port = port
        self._request = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAccept: text/plain\r\nAccept-Encoding: {encoding}\r\n\r\n".encode()
        self._socket: socket.socket | None = None

    def __enter__(self) -> "Scraper":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def scrape(self) -> bytes:
        """The body as sent (compressed if it was). Raises OSError for any answer but 200 and for a connection that breaks."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), ANSWER_WITHIN_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(self._request)
        head, body, keep = read_answer(self._socket)
        if not keep:
            self.close()
        if not head.split(b"\r\n", 1)[0].endswith(b" 200 OK"):
            raise OSError(f"answer is {head[:100]!r}")
        return body

    def close(self) -> None:
        """End the connection; the next scrape opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def read_answer(connection: socket.socket) -> tuple[bytes, bytes, bool]:
    """(head, body, whether the connection may be kept). Raises OSError if it breaks."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, rest = bytes(data).partition(b"\r\n\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
    keep = head.startswith(b"HTTP/1.1") and fields.get(b"connection", b"").lower() != b"close"
    body = bytearray(rest)
    if b"content-length" in fields:
        size = int(fields[b"content-length"])
        while len(body) < size:
            body += _some(connection)
        return head, bytes(body), keep
    if fields.get(b"transfer-encoding") == b"chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += _some(connection)
        return head, _unchunked(bytes(body)), keep
    while chunk := connection.recv(GATHER_BYTES):
        body += chunk
    return head, bytes(body), False


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(GATHER_BYTES)
    if not data:
        raise ConnectionResetError("the server closed within an answer")
    return data


def _unchunked(body: bytes) -> bytes:
    found = bytearray()
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        found += rest[:length]
        body = rest[length + 2 :]
    return bytes(found)


@dataclass(frozen=True, slots=True)
class Load:
    """What n scrapes cost: CPU of the server and wall time of each, in seconds."""

    cpu_s: float
    walls_s: tuple[float, ...]

    @property
    def cpu_each_s(self) -> float:
        """CPU seconds of one scrape."""
        return self.cpu_s / len(self.walls_s)


def load(pid: int, scraper: Scraper, scrapes: int) -> Load:
    """Scrape that often, one after the other."""
    walls = []
    before_s = cpu_s(pid)
    for _ in range(scrapes):
        started_s = time.perf_counter()
        scraper.scrape()
        walls.append(time.perf_counter() - started_s)
    return Load(cpu_s(pid) - before_s, tuple(walls))


def alternate(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median of each contestant's figure over rounds in which all take turns, so that a disturbance of the machine hits all alike."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            figures[name].append(measure())
    return {name: statistics.median(found) for name, found in figures.items()}


def cpu_of(work: Callable[[], object], times: int) -> float:
    """CPU seconds of this process for one call of `work`, over that many calls."""
    started_s = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - started_s) / times


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def free_port() -> int:
    """A TCP port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
