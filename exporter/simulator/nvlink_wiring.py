"""Who is wired to whom by NVLink: each link of each GPU of a simulated node and what it leads to. Pure; knows no address and no traffic.

GPUs and switches go by their number on the node. A link that stands in no wiring leads nowhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

PEER_GPU, PEER_SWITCH = 0, 2
"""nvmlIntNvLinkDeviceType_t."""


class Place(NamedTuple):
    """One link of one GPU."""

    gpu: int
    link: int


class FarEnd(NamedTuple):
    """What a link leads to: a GPU or a switch (`kind`), its number, and the port there (a GPU's port is its link)."""

    kind: int
    number: int
    port: int


Wiring: TypeAlias = Mapping[Place, FarEnd]


def switched(gpus: int, links_to_each: Sequence[int], first: int = 0) -> Wiring:
    """Every GPU on every switch, with `links_to_each` links to each of them. `first`: GPUs of other nodes that have the ports before."""
    return {
        Place(gpu, sum(links_to_each[:switch]) + nth): FarEnd(PEER_SWITCH, switch, (first + gpu) * links + nth)
        for gpu in range(gpus)
        for switch, links in enumerate(links_to_each)
        for nth in range(links)
    }


def bridged(pairs: Sequence[tuple[int, int]], links: Iterable[int]) -> Wiring:
    """GPUs in pairs, each of these links to the same one of the other."""
    return {
        Place(one, link): FarEnd(PEER_GPU, other, link)
        for link in links
        for pair in pairs
        for one, other in (pair, pair[::-1])
    }  # fmt: skip


def meshed(counts: Mapping[tuple[int, int], int]) -> Wiring:
    """GPUs wired to each other by so many links a pair; each GPU's links are taken in turn."""
    found: dict[Place, FarEnd] = {}
    taken: dict[int, int] = {}
    for (one, other), links in counts.items():
        for _ in range(links):
            near, far = taken.get(one, 0), taken.get(other, 0)
            found[Place(one, near)] = FarEnd(PEER_GPU, other, far)
            found[Place(other, far)] = FarEnd(PEER_GPU, one, near)
            taken[one], taken[other] = near + 1, far + 1
    return found


CUBE_MESH: Mapping[tuple[int, int], int] = MappingProxyType({
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
    (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
})  # fmt: skip
"""Links between the eight V100 of a DGX-1V or p3.16xlarge, as `nvidia-smi topo -m` shows them: six a GPU, one or two a pair."""


def links_of(wiring: Wiring, gpu: int) -> tuple[int, ...]:
    """The wired links of a GPU, in order."""
    return tuple(sorted(place.link for place in wiring if place.gpu == gpu))


def group_of(wiring: Wiring, gpu: int) -> tuple[int, ...]:
    """The GPUs that reach each other over NVLink, this one included, in order: all on the same switches, or in however many steps."""
    found = {gpu}
    switches: set[int] = set()
    while True:
        ends = [(place.gpu, end) for place, end in wiring.items()]
        reached = {end.number for near, end in ends if near in found and end.kind == PEER_GPU}
        switches |= {end.number for near, end in ends if near in found and end.kind == PEER_SWITCH}
        reached |= {near for near, end in ends if end.kind == PEER_SWITCH and end.number in switches}
        if reached <= found:
            return tuple(sorted(found))
        found |= reached
