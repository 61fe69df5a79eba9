"""Whether a name and a password belong together: bcrypt in a thread, one at a time, its results remembered. Lives on one loop.

Remembered are keyed digests, not passwords. Right ones and wrong ones are kept apart, so that a flood of wrong ones makes nobody who knows
his password wait for bcrypt again. As Prometheus' exporter-toolkit (web/handler.go), which remembers the passwords themselves.
"""

import asyncio
import base64
import binascii
import contextlib
import hmac
import logging
import os
import threading
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

log = logging.getLogger("fabric_exporter.web")

REMEMBERED_MAX = 100
"""Right and wrong results kept, each; cacheSize of the toolkit."""
WAITING_MAX = 32
"""Passwords that wait for the one being looked at; at the customary cost 10 that is two seconds."""
BCRYPT_MAX_BYTES = 72
"""bcrypt looks at no more of a password: it is cut there, as Go and htpasswd do, where Python's bcrypt refuses it."""
NOBODY = "QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
"""Salt and digest of a hash that is nobody's: what an unknown name is compared with, at the least cost of a user. The toolkit's."""


class TooManyError(Exception):
    """So many passwords wait to be looked at that no further one is taken."""


class Credentials(NamedTuple):
    """What a client says it is."""

    name: str
    password: bytes


class _Question(NamedTuple):
    key: bytes
    is_user: bool
    hashed: str
    password: bytes


def credentials_of(authorization: str) -> Credentials | None:
    """Name and password of an Authorization header, None where it holds none. A name that is no UTF-8 is nobody's."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    name, colon, password = decoded.partition(b":")
    return Credentials(name.decode("utf-8", "surrogateescape"), password) if colon else None


class Passwords:
    """The results known so far, and the passwords that wait to be looked at."""

    def __init__(self) -> None:
        self._secret = os.urandom(32)
        self._right: dict[bytes, None] = {}
        self._wrong: dict[bytes, None] = {}
        self._asked: dict[bytes, asyncio.Future[bool]] = {}
        self._waiting: deque[_Question] = deque()
        self._under_way = False

    def are_right(self, said: Credentials, users: Mapping[str, str]) -> "bool | asyncio.Future[bool]":
        """Whether a user (bcrypt hash by name) has this password: at once where it is known, else when bcrypt has ended.

        Raises TooManyError.
        """
        is_user = said.name in users
        hashed = users[said.name] if is_user else f"$2y${min(hashed[4:6] for hashed in users.values())}${NOBODY}"
        key = self._key(said, hashed)
        if key in self._right or key in self._wrong:
            return is_user and key in self._right
        if key not in self._asked:
            if len(self._waiting) >= WAITING_MAX:
                raise TooManyError
            self._asked[key] = asyncio.get_running_loop().create_future()
            self._waiting.append(_Question(key, is_user, hashed, said.password))
            self._go_on()
        return self._asked[key]

    def _key(self, said: Credentials, hashed: str) -> bytes:
        whole = hmac.new(self._secret, digestmod="sha256")
        for part in (said.name.encode("utf-8", "surrogateescape"), hashed.encode(), said.password):
            whole.update(len(part).to_bytes(8) + part)
        return whole.digest()

    def _go_on(self) -> None:
        """Begin with the next one, in a thread that lives as long as it takes; a daemon thread, as a hash of cost 18 takes long."""
        if self._under_way or not self._waiting:
            return
        question, loop = self._waiting.popleft(), asyncio.get_running_loop()

        def work() -> None:
            fits = _fits(question)
            with contextlib.suppress(RuntimeError):  # the loop is closed: the daemon has stopped meanwhile
                loop.call_soon_threadsafe(partial(self._end, question, fits=fits))

        self._under_way = True
        try:
            threading.Thread(target=work, name="password", daemon=True).start()
        except RuntimeError:  # no thread to be had
            log.warning("a password was not looked at, and so refused: no thread could be started")
            self._end(question, fits=None)

    def _end(self, question: _Question, *, fits: bool | None) -> None:
        self._under_way = False
        is_right = question.is_user and fits is True
        if fits is not None:
            _remember(self._right if is_right else self._wrong, question.key)
        self._asked.pop(question.key).set_result(is_right)
        self._go_on()


def _remember(results: dict[bytes, None], key: bytes) -> None:
    """The oldest leaves first."""
    while len(results) >= REMEMBERED_MAX:
        del results[next(iter(results))]
    results[key] = None


def _fits(question: _Question) -> bool | None:
    """Whether the password belongs to the hash; None where that could not be found out."""
    try:
        import bcrypt  # noqa: PLC0415  # an extra that only sites with passwords have

        return bcrypt.checkpw(question.password[:BCRYPT_MAX_BYTES], question.hashed.encode())
    except ValueError:  # bcrypt before 4.1 refuses NUL bytes
        return False
    except Exception:  # a bug of the library must cost one answer, never the thread that owes it
        log.exception("a password could not be compared reason=bug")
        return None
