"""Reads NCCL's log (NCCL_DEBUG=INFO, subsystems INIT, NET, GRAPH, TUNING) line by line, from 2.4 to 2.32. What it holds is bounded.

Blanks around colons differ by line and release, so words are matched, not columns; strings as in NVIDIA/nccl, src/.
"""

import re
from collections.abc import Callable

from exporter.probes.nccl_words import SOCKET, Choice, InitTiming, NcclWords, SpeedChange
from exporter.probes.reasons import Failure

LINE_MAX = 4096
KEPT_MAX = 64
"""Of each kind of thing that is listed; choices have their own bound."""
CHOICES_MAX = 1024
_MESSAGE = re.compile(r" NCCL (INFO|WARN) (.*)$")
_VERSION = re.compile(r"NCCL version (\d{1,3}(?:\.\d{1,3}){1,2}(?:[+\w.]{1,40})?)", re.ASCII)
_NETWORK = re.compile(r"Using network (.{1,80})$")
_BOOTSTRAP = re.compile(r"Bootstrap ?: Using (?:\[\d+\])?([\w.@-]{1,32}):", re.ASCII)
_IB_USING = re.compile(r"NET/IB ?: Using ?(.*)$")
_HCA = re.compile(r"\[\d{1,4}\] ?([\w.+:-]{1,200})/(?:IB|RoCE)\b", re.ASCII)
_SOCKET_USING = re.compile(r"NET/Socket ?: Using ")
_CHANNEL = re.compile(r"(?:Channel|Ring|Tree|Coll) \d{1,5}(?:/\d{1,3})? ?: .{1,120}? via (NET|P2P|SHM|COLLNET)/(.{1,120})$", re.ASCII)
_NET_VIA = re.compile(r"(.{1,80}?)/\d{1,4}(?:\(\d{1,6}\))?(/GDRDMA(?:\(PCI\))?)?(?:/Shared)?$", re.ASCII)
_CHOICE = re.compile(
    r"(?:(\w{1,40}): )?(\d{1,18}) Bytes -> Algo (\w{1,40}) proto (\w{1,20})(?: channel\{Lo\.\.Hi\}=\{(\d{1,5})\.\.(\d{1,5})\})?", re.ASCII
)
_TIMINGS = re.compile(r"Init timings - .{0,80}?rank (\d{1,7}) nranks (\d{1,7}) total (\d{1,9}\.\d+) \(([^)]{0,400})\)", re.ASCII)
_PART = re.compile(r"([a-z]{1,20}) (\d{1,9}\.\d+)", re.ASCII)
_ASYNC = re.compile(r"NET/IB ?: (.{1,80}(?:async fatal event|Got async event).{0,200})$")
_SPEED = re.compile(r"NET/IB ?: (\S{1,64}):(\d{1,3}) speed change detected: (\d{1,9}) -> (\d{1,9}|N/A) Mbps", re.ASCII)
ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
PROTOCOLS = ("LL", "LL128", "SIMPLE")
"""Lines up to 2.23 have numbers (src/include/nccl_common.h)."""
_MEANINGS = tuple(
    (re.compile(pattern), failure)
    for pattern, failure in (
        (r"no socket interface found|No usable listening interface found|NET/Socket ?: no interface found|No IP interface found",
         Failure.NO_SOCKET_INTERFACE),
        (r"failed to extend \S+ to \d+ bytes|Error while creating shared memory segment|posix_fallocate.{0,20}failed",
         Failure.SHM_TOO_SMALL),
        (r"Mismatched NCCL version detected", Failure.NCCL_VERSION_MISMATCH),
        (r"using the same GPU|Duplicate GPU detected", Failure.DUPLICATE_GPU),
        (r"CUDA driver version is insufficient|no CUDA-capable device", Failure.NO_LIBCUDA),
        (r"out of memory", Failure.OOM),
        (r"Got completion (?:from peer|with error).*(?:status=(?!0\b|IBV_WC_SUCCESS)|error)", Failure.IB_COMPLETION_ERROR),
        (r"async fatal event|Got async event", Failure.REMOTE_ERROR),
        (r"Connection closed by remote peer|remote process exited|Connection reset by peer|Broken pipe|Connection refused",
         Failure.REMOTE_ERROR),
        (r"Failed to initialize any NET plugin", Failure.INIT_ERROR),
    )
)  # fmt: skip


class NcclLog:
    """One log, or that of several ranks after another."""

    def __init__(self) -> None:
        self._versions: dict[str, None] = {}
        self._networks: dict[str, None] = {}
        self._sockets = False
        self._bootstrap: dict[str, None] = {}
        self._hcas: dict[str, None] = {}
        self._saw_no_hca = False
        self._net = self._gdr = self._shm = self._ready = 0
        self._p2p: dict[str, int] = {}
        self._choices: dict[tuple[str, int], Choice] = {}
        self._inits: list[InitTiming] = []
        self._events: list[str] = []
        self._speeds: list[SpeedChange] = []
        self._warnings: list[str] = []
        self._failures: dict[Failure, None] = {}
        self._readers: tuple[tuple[str, Callable[[str], None]], ...] = (
            (" via ", self._take_channel),
            ("Bytes -> Algo", self._take_choice),
            ("NET/", self._take_net),
            ("Init timings", self._take_timings),
            ("Bootstrap", self._take_bootstrap),
        )

    def take(self, line: str) -> None:
        """Learn from one line; a line that says nothing known is no error: the log is for people."""
        found = _MESSAGE.search(line[:LINE_MAX])
        message = found[2] if found else line[:LINE_MAX]
        if (version := _VERSION.match(message)) is not None:
            _keep(self._versions, version[1])
        if found is None:
            return
        if found[1] == "WARN" and len(self._warnings) < KEPT_MAX:
            self._warnings.append(message[:300])
        if (network := _NETWORK.match(message)) is not None:
            _keep(self._networks, network[1].strip())
        self._ready += message.endswith("Init COMPLETE")
        for word, reader in self._readers:
            if word in message:
                reader(message)
        for pattern, failure in _MEANINGS if found[1] == "WARN" or "failure" in message or "NET/" in message else ():
            if pattern.search(message):
                self._failures.setdefault(failure)

    def words(self) -> NcclWords:
        """What was said so far."""
        networks = self._networks or ({SOCKET: None} if self._sockets else {})
        return NcclWords(
            tuple(self._versions), tuple(networks), tuple(self._bootstrap), tuple(self._hcas), self._saw_no_hca, self._net, self._gdr,
            self._shm, dict(self._p2p), tuple(self._choices.values()), tuple(self._inits), self._ready, tuple(self._events),
            tuple(self._speeds), tuple(self._warnings), tuple(self._failures),
        )  # fmt: skip

    def _take_channel(self, message: str) -> None:
        found = _CHANNEL.match(message)
        if found is None:
            return
        if found[1] == "NET" and (net := _NET_VIA.match(found[2])) is not None:
            self._net += 1
            self._gdr += net[2] is not None
            self._sockets = self._sockets or net[1] == SOCKET
            if net[1] != SOCKET and not self._networks:
                _keep(self._networks, net[1])
        elif found[1] == "P2P":
            kind = found[2].split("/")[0].strip()
            if kind in self._p2p or len(self._p2p) < KEPT_MAX:
                self._p2p[kind] = self._p2p.get(kind, 0) + 1
        elif found[1] == "SHM":
            self._shm += 1

    def _take_choice(self, message: str) -> None:
        found = _CHOICE.search(message)
        if found is None:
            return
        function, size = found[1] or "", int(found[2])
        channels = int(found[6]) - int(found[5]) + 1 if found[5] else None
        algorithm, protocol = _named(found[3], ALGORITHMS), _named(found[4], PROTOCOLS)
        if (function, size) in self._choices or len(self._choices) < CHOICES_MAX:
            self._choices[function, size] = Choice(function, size, algorithm, protocol, channels)

    def _take_net(self, message: str) -> None:
        if (using := _IB_USING.match(message)) is not None:
            for hca in _HCA.findall(using[1].split("; OOB")[0]):
                _keep(self._hcas, hca)
        elif "NET/IB : No device found" in message or "NET/IB: No device found" in message:
            self._saw_no_hca = True
        elif _SOCKET_USING.match(message):
            self._sockets = True
        elif (speed := _SPEED.match(message)) is not None and len(self._speeds) < KEPT_MAX:
            after = None if speed[4] == "N/A" else int(speed[4])
            self._speeds.append(SpeedChange(speed[1], int(speed[2]), int(speed[3]), after))
        elif (event := _ASYNC.match(message)) is not None and len(self._events) < KEPT_MAX:
            self._events.append(event[1])

    def _take_timings(self, message: str) -> None:
        found = _TIMINGS.search(message)
        if found is not None and len(self._inits) < KEPT_MAX:
            parts = {name: float(seconds) for name, seconds in _PART.findall(found[4])}
            self._inits.append(InitTiming(int(found[1]), int(found[2]), float(found[3]), parts))

    def _take_bootstrap(self, message: str) -> None:
        if (found := _BOOTSTRAP.match(message)) is not None:
            _keep(self._bootstrap, found[1])


def read_log(text: str) -> NcclWords:
    """What a whole log said."""
    log = NcclLog()
    for line in text.splitlines():
        log.take(line)
    return log.words()


def _keep(kept: dict[str, None], name: str) -> None:
    if len(kept) < KEPT_MAX:
        kept.setdefault(name)


def _named(word: str, names: tuple[str, ...]) -> str:
    """A name as it is, or the name of a number."""
    return names[int(word)] if word.isdigit() and int(word) < len(names) else word
