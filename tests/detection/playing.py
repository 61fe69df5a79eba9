"""Plays scenarios, each in a process of a pool, with the rules and the configuration of a fresh installation. Knows no target."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context
from typing import NamedTuple

from exporter.cli.simulate import health_without
from exporter.cli.virtual_run import played
from exporter.config.schema import Config
from exporter.runtime.clock import SystemClock
from exporter.runtime.logs import set_up
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Outcome, outcome_of
from tests.detection.library import Entry

JOBS = 2


class Task(NamedTuple):
    """One scenario to be played, without these rules."""

    entry: Entry
    without: Collection[str] = ()


class Played(NamedTuple):
    """What became of it, and how long that took in real time."""

    name: str
    scenario: Scenario
    outcome: Outcome
    took_s: float
    without: Collection[str] = ()


def play(task: Task) -> Played:
    """Play one in this process."""
    set_up("error", "logfmt")
    clock = SystemClock()
    started_s = clock.monotonic_s()
    scenario = task.entry.scenario
    outcome = outcome_of(scenario, list(played(scenario, Config(), health_without(task.without))))
    return Played(task.entry.name, scenario, outcome, clock.monotonic_s() - started_s, task.without)


def play_all(tasks: Sequence[Task], jobs: int = JOBS) -> Iterator[Played]:
    """Each as it is done, in the order of the tasks. Fresh processes: nothing of one play is left for another."""
    if jobs == 1 or len(tasks) == 1:
        yield from map(play, tasks)
        return
    with get_context("spawn").Pool(min(jobs, len(tasks))) as pool:
        yield from pool.imap(play, tasks)


def reseeded(entries: Sequence[Entry], seed: int | None) -> list[Entry]:
    """The same with that seed; as they are without one."""
    return [entry if seed is None else entry._replace(scenario=replace(entry.scenario, seed=seed)) for entry in entries]
