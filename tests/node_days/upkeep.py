"""What people and programs do to a healthy node in a day: reboots, driver loads, upgrades of the exporter, clocks set, counters cleared.

Pure. Reboots and driver loads fall into spells without a job, as a scheduler drains a node first; everything else comes at any time.
Nothing here is a fault: no link is worse for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from exporter.simulator.profiles import Profile
from tests.node_days.hours import DAY_S, HOUR_S, MINUTE_S

REBOOT, RELOAD = "reboot", "driver_reload"
LINKS_AFTER_MAX_S = {REBOOT: 6 * MINUTE_S, RELOAD: 4 * MINUTE_S}
"""Links that take longer than grace (ten minutes) are for a person to look at."""
OFF_S = {REBOOT: (90.0, 600.0), RELOAD: (5.0, 120.0)}
CLOCK_STEPS_S = (0.2, -0.5, 30.0, -45.0, 600.0, -600.0, HOUR_S, -HOUR_S)
"""By how much a clock is set: by NTP, or by somebody who finds it on local time."""
NO_VALUES: Mapping[str, float | int | str] = {}


class Event(NamedTuple):
    """Something that the simulator does to the node, by the name of its kind of fault (fault_kinds.py). `until_s` None: at once."""

    kind: str
    at_s: float
    until_s: float | None = None
    target: str = ""
    values: Mapping[str, float | int | str] = NO_VALUES

    @property
    def over_s(self) -> float:
        """When it is over, and links are up again."""
        return (self.at_s if self.until_s is None else self.until_s) + float(self.values.get("links_after", 0.0))


def operations_of(random: Random, profile: Profile, spells: Sequence[tuple[float, float]]) -> list[Event]:
    """Reboots and driver loads in spells without a job: each kind once a spell at most, and over before the next and before the job."""
    found: list[Event] = []
    drivers = ["mlx5_core", *(["nvidia"] if profile.gpus else [])]
    for from_s, to_s in spells:
        now_s = from_s
        for target in random.sample(["", *drivers], len(drivers) + 1):
            event = _operation(random, RELOAD if target else REBOOT, target, now_s + random.uniform(20, 240))
            if random.random() < 0.25 and event.over_s + MINUTE_S < to_s:
                found.append(event)
                now_s = event.over_s
    return found


def between(spells: Sequence[tuple[float, float]], operations: Sequence[Event], least_s: float) -> list[tuple[float, float]]:
    """What the operations leave of the spells, if it is at least so long."""
    free: list[tuple[float, float]] = []
    for from_s, to_s in spells:
        now_s = from_s
        for event in operations:
            if from_s <= event.at_s < to_s:
                free.append((now_s, event.at_s))
                now_s = event.over_s
        free.append((now_s, to_s))
    return [(from_s, to_s) for from_s, to_s in free if to_s - from_s >= least_s]


def announcements(random: Random, operations: Sequence[Event]) -> Iterator[Event]:
    """Maintenance, said before every other operation and taken back a while after it."""
    for event in operations:
        if random.random() < 0.5:
            yield Event("maintenance", max(event.at_s - random.uniform(10, 120), 0.0), min(event.over_s + random.uniform(1, 900), DAY_S))


def exporter_restarts(random: Random, operations: Sequence[Event]) -> Iterator[Event]:
    """Up to three: crashes that systemd mends at once, and upgrades that take their time. Never while the node is off."""
    for _ in range(random.randrange(4)):
        at_s = random.uniform(MINUTE_S, DAY_S - 15 * MINUTE_S)
        until_s = at_s + random.choice((0.0, 1.0, random.uniform(2, 60), random.uniform(60, 600)))
        if not any(one.at_s - MINUTE_S < until_s and at_s < one.over_s for one in operations if one.kind == REBOOT):
            yield Event("exporter_restart", at_s, until_s)


def clock_steps(random: Random) -> Iterator[Event]:
    """Up to two."""
    for _ in range(random.randrange(3)):
        yield Event("clock_jump", random.uniform(0, DAY_S), values={"by": random.choice(CLOCK_STEPS_S)})


def counter_resets(random: Random, profile: Profile) -> Iterator[Event]:
    """Up to three, as `perfquery -R` and `nvidia-smi nvlink -r` do: of one port, of all of a fabric, of all links of one GPU."""
    ports = [f"{fabric_of(hca.link_layer)}/{hca.name}/1" for hca in profile.hcas]
    fabrics = sorted({f"{port.partition('/')[0]}/*" for port in ports})
    gpus = sorted({f"nvlink/gpu{place.gpu}/*" for place in profile.nvlinks})
    for _ in range(random.randrange(4)):
        groups = [ports, fabrics, *([gpus] if gpus else [])]
        yield Event("counter_reset", random.uniform(0, DAY_S), target=random.choice(random.choice(groups)))


def fabric_of(link_layer: str) -> str:
    """The first part of the name of an RDMA port's link."""
    return "infiniband" if link_layer == "InfiniBand" else "roce"


def _operation(random: Random, kind: str, target: str, at_s: float) -> Event:
    values = {"links_after": random.uniform(5, LINKS_AFTER_MAX_S[kind])}
    return Event(kind, at_s, at_s + random.uniform(*OFF_S[kind]), target, values)
