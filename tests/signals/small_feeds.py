"""Feeds of a small node for tests of the engine: Snapshots with the real keys of ports, NVLinks, GPUs and the kernel log."""

from collections.abc import Iterable, Mapping, Sequence

from exporter.catalog import gpu, infiniband, nvlink, signals, xid
from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.model.thresholds import Thresholds
from exporter.signals.engine import Change, Engine
from exporter.signals.rules import RULES
from exporter.signals.verdict import Moment

WALL_S = 1.8e9
EVERY_S = 5.0
FIRST_S = 1000.0
PORT, OTHER = Link(Fabric.INFINIBAND, "mlx5_0", "1"), Link(Fabric.INFINIBAND, "mlx5_1", "1")
LINK = Link(Fabric.NVLINK, "gpu0", "4")
UP = {infiniband.STATE.key: 4, infiniband.PHYSICAL_STATE.key: 5}
DOWN = {infiniband.STATE.key: 1, infiniband.PHYSICAL_STATE.key: 2}
ACTIVE, INACTIVE = {nvlink.STATE.key: 1}, {nvlink.STATE.key: 0, nvlink.PRESENCE.key: nvlink.PRESENCE_DOWN}
UNWIRED = {nvlink.STATE.key: 0, nvlink.PRESENCE.key: nvlink.PRESENCE_UNWIRED}


def snapshot(now_s: float, readings: Iterable[tuple[Entity, Mapping[SeriesKey, Number]]], *, source: str = "infiniband", subject: str = "x",
             cadence: Cadence = Cadence.FAST) -> Snapshot:  # fmt: skip
    """One pass of a feed."""
    return Snapshot(Feed(source, subject, cadence), WALL_S + now_s, now_s, tuple(Reading(*reading) for reading in readings))


def identity(now_s: float, link: Link, pci: str) -> Snapshot:
    """A slow pass that says where a port sits."""
    labels = {"pci": pci, "role": "compute", "rail": "0", "gpu": "gpu0"}
    key = (infiniband.PORT_INFO.key, *(labels.get(name, "") for name in infiniband.PORT_INFO.own_labels))
    return snapshot(now_s, [(link, {key: 1})], subject=link.device, cadence=Cadence.SLOW)


def gpu_identity(now_s: float, name: str, uuid: str) -> Snapshot:
    """A slow pass that says who a GPU is."""
    key = (gpu.INFO.key, uuid, *("" for _ in gpu.INFO.own_labels[1:]))
    return snapshot(now_s, [(Device(name), {key: 1})], source="nvlink", subject=name, cadence=Cadence.SLOW)


def logged(now_s: float, link: Link, times: int, code: str = "74") -> Snapshot:
    """The kernel log's tally of an Xid that names a link."""
    return snapshot(now_s, [(link, {(xid.XID.key, code): times})], source="kernel_log", subject="")


class Player:
    """An engine and its clock: `play` gives it passes of one link, five seconds apart."""

    def __init__(self, thresholds: Thresholds = Thresholds(), *, expected: Mapping[Link, int] | None = None,  # noqa: B008  # frozen
                 left_out: Sequence[str] = ()) -> None:  # fmt: skip
        self.engine = Engine(RULES, thresholds, left_out=left_out)
        self.now_s = FIRST_S
        self.in_grace = False
        self.changes: list[Change] = []
        for link, is_up in (expected if expected is not None else {PORT: 1, OTHER: 1}).items():
            self.engine.expect(link, {Role.STATE: is_up})

    @property
    def moment(self) -> Moment:
        """Now."""
        return Moment(self.now_s, WALL_S + self.now_s, self.in_grace)

    def tick(self, *snapshots: Snapshot) -> "Player":
        """One tick that brings these; the clock stands still."""
        self.changes += self.engine.take(snapshots, self.moment)
        self.changes += self.engine.compare(self.moment)
        self.changes += self.engine.settle(self.moment)
        return self

    def play(self, values: Mapping[SeriesKey, Number], count: int = 1, link: Link = PORT, every_s: float = EVERY_S) -> "Player":
        """So many passes that see this."""
        for _ in range(count):
            self.now_s += every_s
            self.tick(snapshot(self.now_s, [(link, values)], subject=link.device, source=_source(link)))
        return self

    def wait(self, seconds: float) -> "Player":
        """Ticks without any pass."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s = min(self.now_s + EVERY_S, until_s)
            self.tick()
        return self

    def shown(self, link: Link = PORT) -> dict[SeriesKey, Number]:
        """What is shown of a link now."""
        return dict(next(values for entity, values in self.engine.readings(self.moment) if entity == link))

    def status(self, link: Link = PORT) -> str:
        """Its health as a word, or why that is unknown."""
        shown = self.shown(link)
        if signals.HEALTH.key in shown:
            return ("ok", "suspect", "degraded", "failed")[int(shown[signals.HEALTH.key])]
        return next(key[1] for key in shown if key[0] == signals.UNKNOWN.key)

    def reasons(self, link: Link = PORT) -> set[str]:
        """What is wrong with it."""
        return {key[1] for key in self.shown(link) if key[0] == signals.CONDITION.key}

    @property
    def node(self) -> dict[SeriesKey, Number]:
        """What is shown of the node."""
        return dict(next(values for entity, values in self.engine.readings(self.moment) if entity == NODE))


def _source(link: Link) -> str:
    return "nvlink" if link.fabric is Fabric.NVLINK else "infiniband"
