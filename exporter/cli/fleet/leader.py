"""A node of the fleet that runs the whole pipeline: simulated hardware, sources, sampler, health and page, moved along by hand.

Knows how one node comes to a moment; whose moments these are is fleet.py's. Time is in seconds since the story began.
"""

import os
from collections import deque
from dataclasses import replace

from exporter.cli.fleet.copies import Mould, mould_of
from exporter.cli.fleet.plan import DELAYS
from exporter.cli.health import health_of
from exporter.cli.scenario_file import scenario_of
from exporter.cli.virtual_daemon import VirtualDaemon
from exporter.config.schema import Config
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import PageMaker
from exporter.exposition.selection import Selection
from exporter.model.metric import Tier
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.status import Identity, identity_reading
from exporter.simulator.hardware import HEAD_START_S, ScenarioHardware

GPUS_MAX = 8


class Leader:
    """`story` is a scenario's text and `name` what mistakes in it are called; `folder` holds its state; its clock says `wall_s` when the
    story has come to `ahead_s`. `labels` stand on every series. Raises ConfigError for a scenario that cannot be read."""

    def __init__(self, story: str, name: str, config: Config, folder: str, *, ahead_s: float, wall_s: float, job: str,
                 labels: tuple[tuple[str, str], ...] = ()) -> None:  # fmt: skip
        scenario = scenario_of(story, name)
        self._hardware = ScenarioHardware(scenario, HEAD_START_S, wall_s - HEAD_START_S - ahead_s)
        self._state = open_state_dir(folder)
        bursts = config.sources.bursts
        if scenario.burst_hz:
            bursts = replace(bursts, enabled=True, interval_s=1 / scenario.burst_hz)
        self._config = replace(config, state=replace(config.state, dir=folder), sources=replace(config.sources, bursts=bursts),
                               jobs=replace(config.jobs, directory=_jobs_in(f"{folder}/jobs", job)))  # fmt: skip
        self._tier = Tier[config.exposition.tier.upper()]
        self._labels = labels
        self._daemon: VirtualDaemon | None = None
        self._pages = self._new_pages()
        self._starts = self._hardware.around.exporter_starts
        self._due_s = self._sampled_s = self._hardware.now_s
        self._busy: dict[bytes, bool] = {}
        self._moulds: deque[Mould] = deque(maxlen=DELAYS)
        self.title = scenario.title

    def advance(self, to_s: float, pages_from_s: float = 0.0) -> None:
        """Live up to that time. Pages are made from `pages_from_s` on: nobody asks for those before."""
        end_s, hardware = to_s + HEAD_START_S, self._hardware
        while hardware.now_s < end_s:
            self._begin_or_end()
            daemon = self._daemon
            if daemon is not None and self._due_s <= hardware.now_s:
                wait_s, _ = daemon.tick()
                self._due_s = hardware.now_s + max(wait_s, 1e-3)
                if hardware.now_s >= pages_from_s + HEAD_START_S:
                    self._moulds.appendleft(mould_of(self._page(daemon), self._busy))
            next_s = min(self._due_s if daemon is not None else end_s, hardware.next_step_s or end_s, end_s)
            if daemon is not None:
                self._sample(daemon, next_s)
            hardware.advance(next_s)

    def mould(self, delay: int) -> Mould | None:
        """What its page is made from, as it was so many beats ago or as long as it can tell; None while no exporter runs on it."""
        moulds = self._moulds
        return moulds[min(delay, len(moulds) - 1)] if moulds else None

    def _begin_or_end(self) -> None:
        """The exporter of the node, as the story wants it."""
        around = self._hardware.around
        if around.exporter_away:
            self._daemon = None
            self._moulds.clear()
        elif self._daemon is None or self._starts != around.exporter_starts:
            self._starts, self._due_s = around.exporter_starts, self._hardware.now_s
            self._daemon = VirtualDaemon(self._config, self._hardware, self._state, health_of)
            self._pages = self._new_pages()
            self._moulds.clear()

    def _sample(self, daemon: VirtualDaemon, to_s: float) -> None:
        """Let its burst sampler read at its pace until then."""
        period_s = daemon.samples_each_s
        while period_s and (next_s := max(self._sampled_s + period_s, self._hardware.now_s)) < to_s:
            self._hardware.glance(next_s)
            daemon.sample()
            self._sampled_s = next_s

    def _new_pages(self) -> PageMaker:
        return PageMaker(tier=self._tier, series_cap=self._config.exposition.series_cap, process_numbers=ProcessNumbers(),
                         labels=self._labels)  # fmt: skip

    def _page(self, daemon: VirtualDaemon) -> bytes:
        scene = daemon.scene
        identity = Identity(simulated=True, state_writable=True, reload_ok=True, reload_wall_s=self._hardware.wall_s())
        scene = replace(scene, readings=(*scene.readings, identity_reading(identity)))
        return self._pages.page(scene, Selection(self._tier)).body


def _jobs_in(folder: str, job: str) -> str:
    """A folder that says this job runs on each GPU, as a scheduler's prolog would write it (docs/jobs.md)."""
    os.makedirs(folder, exist_ok=True)
    for gpu in range(GPUS_MAX):
        with open(f"{folder}/{gpu}", "w", encoding="ascii") as file:
            file.write(f"{job}\n")
    return folder
