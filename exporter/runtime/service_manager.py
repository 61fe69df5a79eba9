"""What a service manager is told: that we are ready, alive, reloading or stopping, and how it goes (sd_notify(3)). Nothing without one.

One datagram a message to the socket that NOTIFY_SOCKET names. Knows the protocol; when there is something to tell, others know.
"""

import logging
import socket
from collections.abc import MutableMapping

log = logging.getLogger("fabric_exporter.daemon")

SOCKET_VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_VARIABLE = "WATCHDOG_USEC"
WATCHDOG_PID_VARIABLE = "WATCHDOG_PID"
FEEDS_A_WATCHDOG = 4
"""Signs of life within one watchdog period: sd_watchdog_enabled(3) asks for two; with four, one that is late or lost costs nothing."""
SEND_S = 0.2
"""How long a full socket of the manager may keep us, and every scrape with us: it reads all the time unless it is in trouble itself."""
STATUS_LENGTH_MAX = 400
"""Characters of a status line: `systemctl status` shows one line, and systemd refuses a datagram of more than 4 kB (NOTIFY_BUFFER_MAX)."""
_MICROSECONDS = 1_000_000


class ServiceManager:
    """The manager that started us, or nobody: then every message goes nowhere.

    `watchdog_s` is how often it wants a sign of life, None if it wants none.
    """

    def __init__(self, address: str = "", watchdog_s: float | None = None) -> None:
        self._address = address
        self.watchdog_s = watchdog_s
        self._is_silent = False

    @property
    def listens(self) -> bool:
        """Whether anybody wants to be told."""
        return bool(self._address)

    def ready(self, status: str) -> bool:
        """The first pass is done, or a reload has ended. Whether it was heard: without, a unit of Type=notify never counts as started."""
        return self._tell("READY=1", _status(status))

    def alive(self) -> None:
        """The sampler advances."""
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for whoever asks `systemctl status`."""
        self._tell(_status(text))

    def reloading(self, monotonic_s: float) -> None:
        """A reload begins; `ready` ends it. The time tells systemd which READY=1 is meant (Type=notify-reload)."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={round(monotonic_s * _MICROSECONDS)}", _status("reading the configuration again"))

    def stopping(self, status: str) -> None:
        """The end has begun."""
        self._tell("STOPPING=1", _status(status))

    def _tell(self, *lines: str) -> bool:
        """Send them as one message; whether it went out. A manager that cannot be reached is said once and costs nothing else."""
        if not self._address:
            return False
        target = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as caller:
                caller.settimeout(SEND_S)
                caller.sendto("\n".join(lines).encode(), target)
        except OSError as error:
            if not self._is_silent:
                log.warning("cannot tell the service manager %s at %s: %s", lines[0], self._address, error.strerror or error)
            self._is_silent = True
            return False
        self._is_silent = False
        return True


def service_manager(environ: MutableMapping[str, str], pid: int) -> ServiceManager:
    """The manager that these variables name, for the process of that number; nobody if they name none.

    The variables are taken out, so that no child process speaks in our name. What makes no sense is one line in the log and counts as not
    given: a daemon that serves is worth more than one that is watched.
    """
    address = environ.pop(SOCKET_VARIABLE, "")
    period, whose = environ.pop(WATCHDOG_VARIABLE, ""), environ.pop(WATCHDOG_PID_VARIABLE, "")
    if not address:
        return ServiceManager()
    if not address.startswith(("/", "@")) or len(address) < 2:
        log.warning("%s=%s is neither a path nor an abstract socket (@NAME), so the service manager is told nothing; "
                    "unset it, or start the daemon by a systemd unit", SOCKET_VARIABLE, address)  # fmt: skip
        return ServiceManager()
    return ServiceManager(address, _watchdog_s(period, whose, pid))


def _watchdog_s(period: str, whose: str, pid: int) -> float | None:
    """Seconds between two signs of life at most; None if none is wanted, or of another process (WATCHDOG_PID)."""
    if not period or (whose and whose != str(pid)):
        return None
    if not (period.isascii() and period.isdigit()) or not int(period):
        log.warning(
            "%s=%s is no number of microseconds, so the watchdog is not fed; set WatchdogSec= in the unit", WATCHDOG_VARIABLE, period
        )
        return None
    return int(period) / _MICROSECONDS


def _status(text: str) -> str:
    """One printable line of it."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return f"STATUS={line[:STATUS_LENGTH_MAX]}"
