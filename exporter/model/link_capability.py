"""What a PCIe link can do: transfers per second on each lane, and lanes. Least and greatest of several. Pure; knows no file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.model.quoted import shown

TRANSFERS_PER_GT = 1_000_000_000
_EXPECTED = re.compile(r"(?P<pattern>.+)=(?:(?P<speed>[0-9]{1,3}(?:\.[0-9])?)GT/s)?(?:(?(speed),|)x(?P<lanes>[0-9]{1,2}))?")


@dataclass(frozen=True, slots=True)
class Capability:
    """Speed in transfers per second (32 GT/s = 32_000_000_000) and width in lanes; None where it is not known."""

    transfers_per_s: int | None = None
    lanes: int | None = None


UNKNOWN = Capability()


def least(capabilities: Iterable[Capability]) -> Capability:
    """Speed and width each at the least that any of them knows; None where none knows."""
    listed = tuple(capabilities)
    return Capability(
        min((one.transfers_per_s for one in listed if one.transfers_per_s is not None), default=None),
        min((one.lanes for one in listed if one.lanes is not None), default=None),
    )


def greatest(capabilities: Iterable[Capability]) -> Capability:
    """Speed and width each at the greatest that any of them knows; None where none knows."""
    listed = tuple(capabilities)
    return Capability(
        max((one.transfers_per_s for one in listed if one.transfers_per_s is not None), default=None),
        max((one.lanes for one in listed if one.lanes is not None), default=None),
    )


def expectation(own: Capability, partners: Iterable[Capability], bounds: Iterable[Capability]) -> Capability:
    """What one end of a link should run at: the least of what it can do, what the other end can do, and `bounds` (configured, learned).

    A port alone says little: on a healthy H100 node switch ports run at half their speed because a slower card sits below. Unknown
    where neither this end nor a bound names a value: the other end alone would accuse a card that cannot do more.
    """
    firm = least((own, *bounds))
    whole = least((firm, *partners))
    return Capability(
        None if firm.transfers_per_s is None else whole.transfers_per_s,
        None if firm.lanes is None else whole.lanes,
    )


def expected_link(text: str) -> tuple[str, Capability]:
    """Pattern and capability of `mlx5_.*=x8`, `0000:3b:00.0=16GT/s` or `gpu.*=32GT/s,x16`. Raises ValueError saying what was expected."""
    match = _EXPECTED.fullmatch(text)
    if match is None or not (match["speed"] or match["lanes"]):
        raise ValueError(f"expected PATTERN=SPEED,WIDTH such as mlx5_.*=16GT/s,x8 or gpu.*=x16, got {shown(text)}")
    speed = round(float(match["speed"]) * TRANSFERS_PER_GT) if match["speed"] else None
    return match["pattern"], Capability(speed, int(match["lanes"]) if match["lanes"] else None)
