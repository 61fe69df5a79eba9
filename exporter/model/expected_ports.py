"""What a port should run at: configured, else the best it was ever seen at, or what its sisters run at; over which link layer. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from exporter.model.quantity import BYTES_PER_S_PER_GBIT
from exporter.model.quoted import shown

OFF = "off"
MAJORITY_MIN = 3
"""Ports that a majority needs."""
_WORDS = re.compile(r"(?P<layer>infiniband|ethernet)?(?:(?(layer),|)(?P<rate>[1-9][0-9]{0,4})Gb/s)?"
                    r"(?:(?(layer),|(?(rate),|))x(?P<lanes>[1-9][0-9]?))?")  # fmt: skip


class LinkLayer(IntEnum):
    """What an RDMA port speaks. Values are our own: what is expected of a link is a number."""

    INFINIBAND = 1
    ETHERNET = 2

    @property
    def title(self) -> str:
        """As a port's file `link_layer` says it."""
        return "InfiniBand" if self is LinkLayer.INFINIBAND else "Ethernet"


@dataclass(frozen=True, slots=True)
class PortSpeed:
    """Data bytes per second of the whole port, lanes, and bytes per second of one lane; None for what is not known."""

    rate_bytes_per_s: int | None = None
    lanes: int | None = None
    lane_rate_bytes_per_s: int | None = None


NOTHING = PortSpeed()


@dataclass(frozen=True, slots=True)
class ExpectedPort:
    """What somebody configured for ports: whether they should be up at all, at which speed and over which link layer. `is_up` is None where
    nothing but a link layer is named: then it says nothing of up or down. No link layer: None."""

    is_up: bool | None = True
    speed: PortSpeed = NOTHING
    layer: LinkLayer | None = None


def best(before: PortSpeed, seen: PortSpeed) -> PortSpeed:
    """Each figure at the most of both; `before` itself if nothing is better."""
    after = PortSpeed(
        _most(before.rate_bytes_per_s, seen.rate_bytes_per_s),
        _most(before.lanes, seen.lanes),
        _most(before.lane_rate_bytes_per_s, seen.lane_rate_bytes_per_s),
    )
    return before if after == before else after


def expected_speed(name: str, learned: PortSpeed, sisters: Sequence[PortSpeed], configured: Mapping[str, ExpectedPort]) -> PortSpeed:
    """The first that answers. `sisters` are what the other ports of its rail group have been seen at, `learned` is its own best: it is
    raised to what more than half of them have, for a port may never have trained right. Patterns match the whole name of the device."""
    for pattern, expected in configured.items():
        if expected.speed != NOTHING and re.fullmatch(pattern, name):
            return expected.speed
    usual = _usual([*sisters, learned])
    return best(learned, usual) if usual is not None else learned


def is_expected_up(name: str, was_up: bool, configured: Mapping[str, ExpectedPort]) -> bool | None:  # noqa: FBT001  # a fact
    """Whether the port should be up: as configured, else yes if it ever was; None if nobody knows (an unused second port, NVIDIA/NVSentinel
    #1361)."""
    for pattern, expected in configured.items():
        if expected.is_up is not None and re.fullmatch(pattern, name):
            return expected.is_up
    return True if was_up else None


def expected_layer(name: str, configured: Mapping[str, ExpectedPort]) -> LinkLayer | None:
    """The link layer that the first pattern which names one gives the port; None if none does. Never guessed from sisters: ports for
    storage speak Ethernet beside InfiniBand rails on purpose."""
    return next((one.layer for pattern, one in configured.items() if one.layer is not None and re.fullmatch(pattern, name)), None)


def expected_port(text: str) -> tuple[str, ExpectedPort]:
    """Pattern and expectation of `mlx5_[0-7]=400Gb/s,x4`, `mlx5_8=ethernet,x4`, `mlx5_8=infiniband` or `mlx5_9=off`. Raises ValueError
    saying what was expected."""
    pattern, equals, words = text.rpartition("=")
    match = _WORDS.fullmatch(words)
    if not pattern or "\n" in text or not equals or not words or (match is None and words != OFF):
        raise ValueError(
            "expected PATTERN=RATE,LANES, PATTERN=ethernet (or infiniband) or PATTERN=off, as in mlx5_.*=400Gb/s,x4, mlx5_8=ethernet or "
            f"mlx5_9=off, got {shown(text)}"
        )
    if match is None:
        return pattern, ExpectedPort(is_up=False)
    rate = int(match["rate"]) * BYTES_PER_S_PER_GBIT if match["rate"] else None
    lanes = int(match["lanes"]) if match["lanes"] else None
    speed = PortSpeed(rate, lanes, rate // lanes if rate and lanes else None)
    layer = LinkLayer[match["layer"].upper()] if match["layer"] else None
    return pattern, ExpectedPort(None if speed == NOTHING else True, speed, layer)


def _usual(ports: Sequence[PortSpeed]) -> PortSpeed | None:
    """What more than half of these ports have, all three figures alike; None if there is no such majority."""
    known = [port for port in ports if port.rate_bytes_per_s is not None]
    if len(known) < MAJORITY_MIN:
        return None
    usual, votes = Counter(known).most_common(1)[0]
    return usual if votes * 2 > len(known) else None


def _most(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)
