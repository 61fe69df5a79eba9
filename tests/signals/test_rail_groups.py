"""Rails followed from window to window: what the burst sampler says and what the counters carried, within one job, every 100 s."""

from exporter.catalog import signals as rows
from exporter.catalog.jobs import JOB_INFO
from exporter.model.entity import Device, Fabric, Link
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.signals.bursts import WINDOW_S
from exporter.signals.jobs import Jobs
from exporter.signals.rail_groups import SOURCE, RailGroups
from exporter.signals.rule import LinkPlace
from exporter.signals.tracked import Tracked
from tests.signals.passes import DEFAULTS

RAILS = [Link(Fabric.INFINIBAND, f"mlx5_{number}", "1") for number in range(8)]
SLOW = RAILS[3]


def burst_of(rate: float) -> dict[SeriesKey, Number]:
    """What the sampler says of a port with bursts at that rate both ways."""
    found: dict[SeriesKey, Number] = {}
    for direction in ("transmit", "receive"):
        found |= {(rows.BURST.key, direction, "p95"): rate, (rows.BURST_BUSY.key, direction): 0.4,
                  (rows.BURST_RESOLVED.key, direction): 0.5}  # fmt: skip
    return found


class Node:
    """Eight rails, each of its own GPU; one has bursts at half speed."""

    def __init__(self) -> None:
        self.links = {link: Tracked(link, (), LinkPlace(group="rails", gpu=f"gpu{at}")) for at, link in enumerate(RAILS)}
        for tracked in self.links.values():
            tracked.expected[Role.CAPACITY] = 50e9
            tracked.latest |= {Role.TX_BYTES: 0, Role.RX_BYTES: 0}
        self.groups, self.jobs, self.now_s = RailGroups(DEFAULTS), Jobs(), 1000.0

    def window(self, moved: int = 10**12, *, seen: bool = True) -> set[Link]:
        """Go on for a window in which each rail moves so many bytes; who is slow at its end."""
        self.now_s += WINDOW_S
        for link, tracked in self.links.items():
            tracked.latest[Role.TX_BYTES] += moved
            if seen:
                reading = Reading(link, burst_of(23e9 if link == SLOW else 46e9))
                self.groups.take(Snapshot(Feed(SOURCE, link.device, Cadence.NORMAL), 0.0, self.now_s - 5.0, (reading,)))
        return {link for link, outcome in self.groups.compare(self.links, self.jobs, self.now_s).items() if outcome.findings}

    def shown(self) -> dict[str, dict[SeriesKey, Number]]:
        """What is shown of each rail's device."""
        return {entity.name: dict(values) for entity, values in self.groups.readings() if isinstance(entity, Device)}

    def run_jobs(self, *of_gpus: str) -> None:
        """GPU after GPU, the job that uses it; "" for none."""
        rest = ("",) * (len(JOB_INFO.own_labels) - 1)
        readings = [Reading(Device(f"gpu{at}"), {(JOB_INFO.key, job, *rest): 1}) for at, job in enumerate(of_gpus) if job]
        self.jobs.take(Snapshot(Feed("jobs", "", Cadence.NORMAL), 0.0, self.now_s, tuple(readings)))


def test_the_slow_rail_is_found_at_the_end_of_each_window_but_the_first() -> None:
    """The first only tells where the counters stand; within a window nothing is said."""
    node = Node()

    assert [node.window() for _ in range(3)] == [set(), {SLOW}, {SLOW}]
    assert node.groups.compare(node.links, node.jobs, node.now_s + WINDOW_S / 2) == {}
    assert node.shown()["mlx5_3"] == {rows.RAIL_BURST.key: 0.5, rows.RAIL_SHARE.key: 1.0}


def test_without_the_burst_sampler_only_shares_are_shown() -> None:
    """Nobody is accused, and nobody is blind: nothing was looked for."""
    node = Node()

    assert [node.window(seen=False) for _ in range(3)] == [set()] * 3
    assert node.shown()["mlx5_3"] == {rows.RAIL_SHARE.key: 1.0}
    assert not node.groups.is_blind


def test_a_sampler_that_fell_silent_says_nothing_of_now() -> None:
    """Its last words are older than a minute."""
    node = Node()
    node.window()
    found = node.window(), node.window(seen=False)

    assert found == ({SLOW}, set())


def test_rails_are_compared_within_one_job() -> None:
    """Two jobs of four GPUs: each has its own median; a rail whose GPU no job uses is left alone."""
    node = Node()
    node.run_jobs("1", "1", "1", "1", "2", "2", "2", "2")
    together = [node.window() for _ in range(2)][-1]
    node.run_jobs("1", "1", "1", "", "2", "2", "2", "2")
    idle = node.window()
    node.run_jobs("1", "1", "2", "2", "3", "3", "3", "3")
    pairs = node.window()

    assert (together, idle, pairs) == ({SLOW}, set(), set())


def test_a_counter_that_was_reset_takes_no_part_in_that_window() -> None:
    """Nobody knows what it carried."""
    node = Node()
    node.window()
    node.links[SLOW].latest[Role.TX_BYTES] = -(10**12)

    assert (node.window(), node.window()) == (set(), {SLOW})


def test_a_clock_that_went_back_begins_anew() -> None:
    """Nothing is divided by a negative time."""
    node = Node()
    node.window()
    node.now_s = 0.0

    assert (node.window(), node.window()) == (set(), {SLOW})
