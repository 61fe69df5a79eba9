"""What the GPUs of a simulated node send each other over NVLink while their HCAs carry gradients: totals since the start. Pure.

A hierarchical all-reduce of N bytes a GPU over g GPUs on each of many nodes: reduce-scatter within the node, in which each GPU sends
(g - 1)/g · N; all-reduce of its share N/g among the GPUs of the same place in all nodes, over the rail of that place, in which a ring
sends 2 · N/g (of n nodes, 2 · (n - 1)/n · N/g); all-gather within the node, again (g - 1)/g · N. So a GPU sends 2 · (g - 1)/g · N over
NVLink where its rail sends 2 · N/g: g - 1 times as much. The node here is the group of GPUs that reach each other over NVLink; where it
has fewer rails than GPUs, several GPUs share one and each accounts for its part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from exporter.simulator.hcas import Hca, Use, ndr_rail
from exporter.simulator.nvlink_wiring import PEER_SWITCH, Place, group_of
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import Flow, PortTraffic, key_of, noise

_WEIGHT, _SPREAD = 10_000, 100
"""Bytes of one round on one link: 1 % more or less, and less than a packet or two, so that a link is never far from its share."""
_UNSEEN_RAIL = ndr_rail(0, (), 0)
"""What sets the pace of each GPU on a node whose profile has no HCA for gradients."""


@dataclass(frozen=True, slots=True)
class RailShare:
    """A GPU's group, the HCA that carries its share of a collective to other nodes, and how many GPUs of the group that HCA serves."""

    group: tuple[int, ...]
    rail: Hca
    sharers: int

    def bytes_within(self, rail_bytes: int) -> int:
        """What the GPU sends over NVLink while the rail sends so much."""
        return (len(self.group) - 1) * rail_bytes // self.sharers


def rail_share(profile: Profile, gpu: int) -> RailShare:
    """By the GPU's place in its group: the first takes the first rail, and so on."""
    group = group_of(profile.nvlinks, gpu)
    rails = tuple(hca for hca in profile.hcas if hca.use is Use.COMPUTE) or (_UNSEEN_RAIL,) * len(group)
    taken = min(len(rails), len(group))
    numbers = [place * taken // len(group) for place in range(len(group))]
    number = numbers[group.index(gpu)]
    return RailShare(group, rails[number], numbers.count(number))


def sent_bytes(share: RailShare, flows: tuple[Flow, ...], seed: int, elapsed_s: float) -> int:
    """Bytes that the GPU has sent over all its links after that time; they never fall. Raises ValueError for a negative time."""
    return share.bytes_within(PortTraffic(share.rail, flows, seed).sent(elapsed_s)) if len(share.group) > 1 else 0


def sender_to(profile: Profile, gpu: int) -> int | None:
    """The GPU whose bytes arrive here through the switches: the one before it in the ring of its group. None where links lead straight to
    other GPUs and each brings what the far end's own link sent."""
    if not any(place.gpu == gpu and end.kind == PEER_SWITCH for place, end in profile.nvlinks.items()):
        return None
    group = group_of(profile.nvlinks, gpu)
    return group[group.index(gpu) - 1]


def weights(seed: int, gpu: int, links: Sequence[int], direction: str) -> tuple[int, ...]:
    """What each link carries of a round: an even share, 1 % more or less."""
    key = key_of(seed, f"gpu{gpu}", direction)
    return tuple(_WEIGHT - _SPREAD + ((2 * _SPREAD + 1) * noise(key, link) >> 32) for link in links)


def shared_out(total: int, portions: Sequence[int]) -> tuple[int, ...]:
    """The total in parts: rounds in which each takes its portion in turn, the last one as far as it goes. The parts sum up to the total,
    and none falls while the total grows."""
    if not portions:
        return ()
    bounds = (0, *accumulate(portions))
    rounds, rest = divmod(total, bounds[-1])
    return tuple(rounds * (end - begin) + min(max(rest - begin, 0), end - begin) for begin, end in pairwise(bounds))


def far_place(profile: Profile, place: Place) -> Place | None:
    """The other GPU's end of a link that leads straight there."""
    end = profile.nvlinks.get(place)
    return None if end is None or end.kind == PEER_SWITCH else Place(end.number, end.port)
