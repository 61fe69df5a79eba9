"""Which links are compared with each other, and how fast each has been since the last time."""

import pytest

from exporter.catalog.signals import SIBLING
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.groups import EVERY_S, Groups
from exporter.signals.jobs import Jobs
from exporter.signals.rule import LinkPlace
from exporter.signals.tracked import Tracked
from tests.signals.passes import DEFAULTS

RAILS = [Link(Fabric.INFINIBAND, f"mlx5_{number}", "1") for number in range(4)]
GB = 1e9


class Node:
    """Rails that carry so much a second, looked at every fifteen seconds."""

    def __init__(self, group: str = "rails") -> None:
        self.links = {link: Tracked(link, (), LinkPlace(group=group)) for link in RAILS}
        self.groups = Groups(DEFAULTS)
        self.now_s = 1000.0
        for tracked in self.links.values():
            tracked.latest |= {Role.TX_BYTES: 0, Role.RX_BYTES: 0}

    def run(self, rates: list[float], seconds: float) -> dict[Link, Number]:
        """What the last comparison that said anything told: ratios by link."""
        told: dict[Link, Number] = {}
        for _ in range(int(seconds / EVERY_S)):
            for tracked, rate in zip(self.links.values(), rates, strict=True):
                for role in (Role.TX_BYTES, Role.RX_BYTES):
                    if role in tracked.latest:
                        tracked.latest[role] += rate * EVERY_S
            found = self.groups.compare(self.links, Jobs(), self.now_s)
            told = {link: outcome.signals[SIBLING.key] for link, outcome in found.items()} or told
            self.now_s += EVERY_S
        return told


def test_rails_are_compared_by_what_they_carried_since_the_last_time() -> None:
    """The median is one."""
    told = Node().run([10 * GB, 10 * GB, 10 * GB, 5 * GB], 300.0)

    assert [round(told[link], 3) for link in RAILS] == [1.0, 1.0, 1.0, 0.5]


def test_comparisons_are_no_more_frequent_than_slow_readers() -> None:
    """Between two of them nothing is said, and nothing is lost."""
    node = Node()
    node.run([10 * GB] * 4, 300.0)

    assert node.groups.compare(node.links, Jobs(), node.now_s - 14.0) == {}


@pytest.mark.parametrize("role", [Role.TX_BYTES, Role.RX_BYTES])
def test_a_link_without_one_of_its_counters_takes_no_part(role: Role) -> None:
    """Nobody knows what it carries."""
    node = Node()
    del node.links[RAILS[0]].latest[role]

    assert RAILS[0] not in node.run([10 * GB] * 4, 300.0)


def test_a_link_of_no_group_is_not_compared() -> None:
    """Storage ports carry what they carry."""
    assert Node(group="").run([10 * GB] * 4, 300.0) == {}


def test_a_reset_is_no_slow_link() -> None:
    """The pass that fell says nothing."""
    node = Node()
    before = node.run([10 * GB] * 4, 300.0)
    node.links[RAILS[0]].latest[Role.TX_BYTES] = 0
    after = node.run([10 * GB] * 4, 30.0)

    assert [round(after[link], 6) for link in RAILS] == [round(before[link], 6) for link in RAILS] == [1.0] * 4


def test_a_clock_that_went_back_begins_anew() -> None:
    """No rate over a negative time."""
    node = Node()
    node.run([10 * GB] * 4, 300.0)

    assert node.groups.compare(node.links, Jobs(), 0.0) == {}
    assert node.groups.compare(node.links, Jobs(), EVERY_S)
