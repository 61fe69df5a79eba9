"""A node-day: its number makes its seed, the seed its node, what runs on it and what befalls it. Pure; the same number is the same day.

Nine days are one of each simulated node, in an order of their own. Knows how the parts fit together; plays nothing.
"""

from dataclasses import dataclass
from random import Random

from exporter.simulator.profiles import PROFILES, Profile
from exporter.simulator.scenario import PlannedFault, Scenario
from tests.node_days import noise, upkeep
from tests.node_days.hours import DAY_S, MINUTE_S, Block, blocks_of, quiet_spells
from tests.node_days.upkeep import Event

SEED_OF_ALL = 20_260
"""Another one makes other days."""
BURST_HZ, BURST_EVERY = 10.0, 10
"""Each tenth day has the burst sampler on; it costs three times as long to play."""
SLEEP_AFTER_S = 2 * MINUTE_S
"""Spells shorter than this put no GPU to sleep."""


@dataclass(frozen=True, slots=True)
class NodeDay:
    """Day `number` (from 1 on), as a scenario that nobody expects anything of. `uses` are the kinds of its blocks in order."""

    number: int
    scenario: Scenario
    uses: tuple[str, ...]


def node_of(number: int) -> str:
    """The profile of that day."""
    rounds, place = divmod(number - 1, len(PROFILES))
    return _random("nodes", rounds).sample(sorted(PROFILES), len(PROFILES))[place]


def seed_of(number: int) -> int:
    """The seed of that day's node and of everything in it."""
    return _random("day", number).getrandbits(32) | 1


def node_day(number: int, duration_s: float = DAY_S) -> NodeDay:
    """The day of that number, or its beginning: nothing of what comes is another for a shorter one."""
    seed, profile = seed_of(number), PROFILES[node_of(number)]
    random = Random(seed)  # noqa: S311  # a day that repeats, no secret
    blocks = blocks_of(random)
    traffic = tuple(part for block in blocks for part in block.traffic if part.from_s < duration_s)
    events = [event for event in events_of(random, profile, blocks) if event.at_s < duration_s]
    faults = tuple(
        PlannedFault(place, event.kind, event.at_s, event.until_s, event.target, event.values)
        for place, event in enumerate(sorted(events, key=lambda event: event.at_s))
    )
    burst_hz = BURST_HZ if number % BURST_EVERY == 0 else None
    scenario = Scenario(profile.name, duration_s, seed, burst_hz, traffic=traffic, faults=faults, silent=("*",), title=f"node-day {number}")
    return NodeDay(number, scenario, tuple(block.kind for block in blocks if block.from_s < duration_s))


def events_of(random: Random, profile: Profile, blocks: tuple[Block, ...]) -> list[Event]:
    """Everything that befalls the node."""
    spells = quiet_spells(blocks, 0.0)
    operations = upkeep.operations_of(random, profile, spells)
    return [
        *operations,
        *upkeep.announcements(random, operations),
        *upkeep.exporter_restarts(random, operations),
        *upkeep.clock_steps(random),
        *upkeep.counter_resets(random, profile),
        *noise.sleeping_gpus(random, profile, upkeep.between(spells, operations, SLEEP_AFTER_S)),
        *noise.partitions(random, profile, blocks),
        *noise.symbol_errors(random, profile),
        *noise.resent_packets(random, profile, blocks),
        *noise.ended_jobs(random, profile, blocks),
        *noise.nvlink_errors(random, profile),
        *noise.short_pressure(random, profile),
        *noise.hiccups(random, profile),
    ]


def _random(what: str, number: int) -> Random:
    return Random(f"{SEED_OF_ALL}/{what}/{number}")  # noqa: S311  # as above
