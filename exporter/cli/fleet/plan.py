"""Which nodes a fleet has, what they are called and which story each lives. Values only."""

from typing import NamedTuple

from exporter.cli.fleet.stories import STORIES, Story

SICK_ONE_IN = 50
"""Of the nodes beyond the first of each story: in a fleet of a thousand some twenty more have a fault."""
DELAYS = 6
"""Copies lag behind the node they are made of by none to five beats, so that bursts do not come everywhere in the same second."""


class FleetNode(NamedTuple):
    """`number` tells a node from all others of the fleet; `story` is its place in STORIES. A node without a `delay` whose number is that of
    its story runs the whole pipeline itself; all others show a copy of such a one, as it was `delay` beats ago."""

    name: str
    number: int
    story: int
    delay: int = 0

    @property
    def is_leader(self) -> bool:
        """Whether it runs the whole pipeline."""
        return self.number == self.story

    @property
    def pool(self) -> str:
        """Its kind."""
        return STORIES[self.story].pool


def fleet_of(count: int, stories: tuple[Story, ...] = STORIES) -> tuple[FleetNode, ...]:
    """So many nodes: one for each story first, then copies, mostly of those that are well. Raises ValueError for less than one."""
    if count < 1:
        raise ValueError(f"a fleet has at least one node, not {count}")
    leaders = [FleetNode(_name(number), number, number) for number in range(min(count, len(stories)))]
    well = [number for number, story in enumerate(stories) if story.is_well]
    sick = [number for number, story in enumerate(stories) if not story.is_well]
    copies = [
        FleetNode(_name(number), number, _of_turn(sick if number % SICK_ONE_IN == 0 else well, number), number % DELAYS)
        for number in range(len(leaders), count)
    ]
    return (*leaders, *copies)


def _of_turn(stories: list[int], number: int) -> int:
    turn = number // SICK_ONE_IN + number
    return stories[turn % len(stories)]


def _name(number: int) -> str:
    return f"node-{number + 1:04d}"
