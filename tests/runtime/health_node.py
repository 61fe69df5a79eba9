"""A small node for tests of health: two ports and a GPU's NVLinks, seen by the real Health every five seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.catalog import signals
from exporter.model.entity import NODE, Fabric, Link
from exporter.model.expected_ports import ExpectedPort
from exporter.model.maintenance import Maintenance
from exporter.model.snapshot import Feed, Number, SeriesKey, Snapshot, SourceStatus
from exporter.model.thresholds import Thresholds
from exporter.runtime import kept_verdicts, learned_ports
from exporter.runtime.health import Boot, Health, HealthSettings
from exporter.runtime.kept_verdicts import KeptVerdicts
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file
from exporter.signals.rules import RULES
from tests.signals.small_feeds import ACTIVE, LINK, OTHER, PORT, UP, WALL_S, gpu_identity, identity, snapshot

BOOT = Boot("boot-1")
NO_MAINTENANCE = Maintenance()
CARDS = {"mlx5_0": "0000:19:00.0", "mlx5_1": "0000:3a:00.0"}
QUICK = Thresholds(grace_s=60.0, hold_s=30.0, failed_hold_s=60.0)


@dataclass
class HealthNode:
    """What hardware shows (`seen` by link, `cards` who it is), and what the newest scans found."""

    folder: Path | None = None
    boot: Boot = BOOT
    ports: Mapping[str, ExpectedPort] = field(default_factory=dict)
    thresholds: Thresholds = QUICK
    maintenance: Maintenance = NO_MAINTENANCE
    now_s: float = 1000.0
    seen: dict[Link, Mapping[SeriesKey, Number]] = field(default_factory=lambda: {PORT: UP, OTHER: UP, LINK: ACTIVE})
    cards: dict[str, str] = field(default_factory=lambda: {**CARDS, "gpu0": "GPU-1"})
    found: dict[str, frozenset[str]] = field(
        default_factory=lambda: {"infiniband": frozenset(CARDS), "nvlink": frozenset({"gpu0"}), "ethernet": frozenset()}
    )
    mute: frozenset[str] = frozenset()
    """Sources of which no device answers, though the newest scan found them."""
    shown: Snapshot | None = None

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> "HealthNode":
        """A process of the daemon, with what the state directory holds; the one before is gone without a word."""
        state = open_state_dir(str(self.folder)) if self.folder is not None else None
        verdicts = state_file(state, kept_verdicts.FILE, kept_verdicts.VERSION) if state is not None else None
        ports = state_file(state, learned_ports.FILE, learned_ports.VERSION) if state is not None else None
        self.kept, self.learned = KeptVerdicts(verdicts), LearnedPorts(ports)
        settings = HealthSettings(self.thresholds, self.ports)
        self.health = Health(RULES, settings, self.learned, self.kept, self.boot, lambda _wall_s: self.maintenance)
        self._feeds: dict[Feed, tuple[Snapshot, float]] = {}
        return self

    def run(self, seconds: float = 5.0, wall_jump_s: float = 0.0) -> "HealthNode":
        """Let time pass, tick by tick."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += 5.0
            for link, values in self.seen.items():
                if _source(link) in self.mute:
                    continue
                self._bring(snapshot(self.now_s, [(link, values)], subject=link.device, source=_source(link)))
                if link.fabric is not Fabric.NVLINK:
                    self._bring(identity(self.now_s, link, self.cards[link.device]))
            if LINK in self.seen:
                self._bring(gpu_identity(self.now_s, "gpu0", self.cards["gpu0"]))
            statuses = [
                SourceStatus(name, up=True, devices=len(devices), subjects=devices,
                             oldest_sample_monotonic_s=None if name in self.mute else self.now_s)
                for name, devices in self.found.items()
            ]  # fmt: skip
            self.shown = self.health.observe(self._feeds, statuses, WALL_S + self.now_s + wall_jump_s, self.now_s)
            self.kept.save_if_changed()
            self.learned.save_if_changed()
        return self

    def lose(self, device: str) -> "HealthNode":
        """The device is gone: no pass, and no scan shows it."""
        self.seen = {link: values for link, values in self.seen.items() if link.device != device}
        self.found = {name: devices - {device} for name, devices in self.found.items()}
        return self

    def status(self, link: Link = PORT) -> str:
        """Its health as a word; `absent` if nothing is shown of it."""
        assert self.shown is not None
        values = next((values for entity, values in self.shown.readings if entity == link), {})
        if signals.HEALTH.key in values:
            return ("ok", "suspect", "degraded", "failed")[int(values[signals.HEALTH.key])]
        return next((key[1] for key in values if key[0] == signals.UNKNOWN.key), "absent")

    def reasons(self, link: Link = PORT) -> set[str]:
        """What is wrong with it."""
        assert self.shown is not None
        return {key[1] for entity, values in self.shown.readings if entity == link for key in values if key[0] == signals.CONDITION.key}

    @property
    def node(self) -> dict[SeriesKey, Number]:
        """Everything that is shown of the node."""
        assert self.shown is not None
        return {key: value for entity, values in self.shown.readings if entity == NODE for key, value in values.items()}

    def _bring(self, one: Snapshot) -> None:
        self._feeds[one.feed] = one, self.now_s + 60.0


def _source(link: Link) -> str:
    return "nvlink" if link.fabric is Fabric.NVLINK else "infiniband"
