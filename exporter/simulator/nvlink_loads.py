"""How many bytes each NVLink of a simulated node has carried, also while links come and go: what goes down leaves its share to the others.

Knows which links carry traffic because it is told; the totals are nvlink_traffic.py's. As long as nobody changes a link, all numbers depend
on profile, seed and time alone.
"""

from collections.abc import Collection, Mapping, Sequence

from exporter.simulator.nvlink_traffic import far_place, rail_share, sender_to, shared_out, weights
from exporter.simulator.nvlink_wiring import Place, links_of
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import Flow, PortTraffic


class NvlinkLoads:
    """Of one node. Time is virtual, in seconds since the node started."""

    def __init__(self, profile: Profile, seed: int, flows: tuple[Flow, ...]) -> None:
        gpus = range(len(profile.gpus))
        self._profile = profile
        self._shares = tuple(rail_share(profile, gpu) for gpu in gpus)
        self._rails = tuple(PortTraffic(share.rail, flows, seed) for share in self._shares)
        self._senders = tuple(sender_to(profile, gpu) for gpu in gpus)
        self._sending = [_Meter(seed, gpu, links_of(profile.nvlinks, gpu), "sent") for gpu in gpus]
        self._receiving = [_Meter(seed, gpu, links_of(profile.nvlinks, gpu), "received") for gpu in gpus]

    def sent(self, gpu: int, elapsed_s: float) -> Mapping[int, int]:
        """Bytes by wired link."""
        return self._sending[gpu].at(self._total(gpu, elapsed_s))

    def received(self, gpu: int, elapsed_s: float) -> Mapping[int, int]:
        """Bytes by wired link: all nodes' sums of both directions are the same while every GPU has a link that carries."""
        sender = self._senders[gpu]
        if sender is not None:
            return self._receiving[gpu].at(self._total(sender, elapsed_s))
        far_ends = {link: far_place(self._profile, Place(gpu, link)) for link in self._sending[gpu].links}
        sent = {far.gpu: self.sent(far.gpu, elapsed_s) for far in far_ends.values() if far is not None}
        return {link: sent[far.gpu][far.link] for link, far in far_ends.items() if far is not None}

    def carry_over(self, gpu: int, carrying: Collection[int], elapsed_s: float) -> None:
        """From that time on only these links of the GPU carry traffic."""
        self._sending[gpu].carry_over(carrying, self._total(gpu, elapsed_s))
        sender = self._senders[gpu]
        if sender is not None:
            self._receiving[gpu].carry_over(carrying, self._total(sender, elapsed_s))

    def _total(self, gpu: int, elapsed_s: float) -> int:
        share = self._shares[gpu]
        return share.bytes_within(self._rails[gpu].sent(elapsed_s)) if len(share.group) > 1 else 0


class _Meter:
    """One direction of one GPU's links: what each had carried when the links last changed, and who carries since."""

    def __init__(self, seed: int, gpu: int, links: Sequence[int], direction: str) -> None:
        self.links = links
        self._weights = dict(zip(links, weights(seed, gpu, links, direction), strict=True))
        self._carrying = tuple(links)
        self._portions = [self._weights[link] for link in links]
        self._before = dict.fromkeys(links, 0)
        self._since = 0

    def at(self, total: int) -> dict[int, int]:
        """Bytes of each link once the GPU has sent so many."""
        parts = shared_out(max(0, total - self._since), self._portions)
        shown = dict(self._before)
        for link, part in zip(self._carrying, parts, strict=True):
            shown[link] += part
        return shown

    def carry_over(self, carrying: Collection[int], total: int) -> None:
        self._before = self.at(total)
        self._since = total
        self._carrying = tuple(link for link in self.links if link in carrying)
        self._portions = [self._weights[link] for link in self._carrying]
