"""Small ticks for tests of the recorder: a port that counts, as a source brings it."""

from collections.abc import Sequence

from exporter.model.entity import NODE, Device, Fabric, Link
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Reading, SeriesKey, Snapshot, SourceStatus
from exporter.recorder.store import Bounds
from exporter.recorder.tick import Event, EventKind, Life, Tick
from exporter.recorder.writer import Options

WALL_S = 1_800_000_000.0
PORT = Link(Fabric.INFINIBAND, "mlx5_0", "1")
PLACES: dict[SeriesKey, int] = {"ib_state": 0, "ib_data_transmitted": 1, ("ib_hw_events", "packet_seq_err"): 2}
FEED = Feed("infiniband", "mlx5_0", Cadence.FAST)
STATUS = SourceStatus("infiniband", up=True, devices=1, subjects=frozenset({"mlx5_0"}), looked_for="HCAs")
LIFE = Life("boot-1", 100.0, 0.0, {"thresholds": {}, "ports": {}, "tick_bytes": None, "left_out": []}, {}, "1.0", WALL_S)
OPTIONS = Options(10.0, Bounds(64_000_000, 86_400.0))
FAULT = Fault("infiniband", "mlx5_0", Reason.IO, "cannot read it")


def tick(now_s: float, sent: int | None = None, *, wall_s: float | None = None, faults: tuple[Fault, ...] = (), ports: int = 1,
         statuses: Sequence[SourceStatus] = (STATUS,)) -> Tick:  # fmt: skip
    """One look at that monotonic time; `sent` is the port's counter, by default as old as the node."""
    wall_s = WALL_S + now_s if wall_s is None else wall_s
    sent = int(now_s * 1_000_003) if sent is None else sent
    readings = [
        Reading(Link(Fabric.INFINIBAND, f"mlx5_{port}", "1"), FixedValues(PLACES, [4, sent * (port + 7919) % (1 << 61), port]))
        for port in range(ports)
    ]
    readings += [Reading(Device("mlx5_0"), {"ib_visible": 1.5}), Reading(NODE, {})]
    return Tick(wall_s, now_s, (Snapshot(FEED, wall_s, now_s, tuple(readings), faults),), statuses)


def event(now_s: float, text: str = "something happened") -> Event:
    """An event at that time."""
    return Event(EventKind.HEALTH, WALL_S + now_s, now_s, str(PORT), text, {"from": "ok", "to": "failed"})
