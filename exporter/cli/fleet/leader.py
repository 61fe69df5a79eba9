"""A node of the fleet that runs the whole pipeline: simulated hardware, sources, sampler, health and page, moved along by hand.

Knows how one node comes to a moment; whose moments these are is fleet.py's. Time is in seconds since the story began.
"""

import os
from collections import deque
from dataclasses import replace

from exporter.cli.fleet.copies import NODE_MARK, Mould, mould_of
from exporter.cli.fleet.plan import DELAYS
from exporter.cli.health import health_of
from exporter.cli.scenario_file import scenario_of
from exporter.cli.virtual_daemon import VirtualDaemon
from exporter.config.schema import Config
from exporter.exposition.choice import Labels
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import PageMaker
from exporter.exposition.selection import Selection
from exporter.model.entity import NODE
from exporter.model.metric import Tier
from exporter.model.snapshot import Reading, Scene
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.status import Identity, identity_reading
from exporter.simulator.hardware import HEAD_START_S, ScenarioHardware

PLAIN: Labels = ()
NAMED: Labels = (("node", NODE_MARK),)
"""What every series of a page carries: nothing, or the name of the node as with `--label.node`."""
BURSTS_S = 60.0
"""What is said of bursts is about the last seconds, and about half a minute of them."""


class Leader:
    """`story` is a scenario's text and `name` what mistakes in it are called; `folder` holds its state; its clock says `wall_s` when the
    story has come to `ahead_s`. Raises ConfigError for a scenario that cannot be read."""

    def __init__(self, story: str, name: str, config: Config, folder: str, *, ahead_s: float, wall_s: float, job: str) -> None:
        scenario = scenario_of(story, name)
        self._hardware = ScenarioHardware(scenario, HEAD_START_S, wall_s - HEAD_START_S - ahead_s)
        self._state = open_state_dir(folder)
        bursts = config.sources.bursts
        if scenario.burst_hz:
            bursts = replace(bursts, enabled=True, interval_s=1 / scenario.burst_hz)
        jobs = replace(config.jobs, directory=_jobs_in(f"{folder}/jobs", job, len(self._hardware.profile.gpus)))
        self._config = replace(config, state=replace(config.state, dir=folder), sources=replace(config.sources, bursts=bursts), jobs=jobs)
        self._tier = Tier[config.exposition.tier.upper()]
        self._daemon: VirtualDaemon | None = None
        self._pages: dict[Labels, PageMaker] = {}
        self._numbers = ProcessNumbers()
        self._identity = Reading(NODE, {})
        self._starts = self._hardware.around.exporter_starts
        self._due_s = self._hardware.now_s
        self._sampled_s = 0.0
        self._busy: dict[bytes, bool] = {}
        self._recent: deque[tuple[Scene, dict[Labels, Mould]]] = deque(maxlen=DELAYS)
        self.title = scenario.title

    def advance(self, to_s: float, pages_from_s: float = 0.0) -> None:
        """Live up to that time. What is shown is kept from `pages_from_s` on, as nobody asks for what was before; and bursts
        are sampled only from BURSTS_S before that, as they cost as much as all else."""
        end_s, hardware = to_s + HEAD_START_S, self._hardware
        while hardware.now_s < end_s:
            self._begin_or_end()
            daemon = self._daemon
            if daemon is not None and self._due_s <= hardware.now_s:
                wait_s, _ = daemon.tick()
                self._due_s = hardware.now_s + max(wait_s, 1e-3)
                if hardware.now_s >= pages_from_s + HEAD_START_S:
                    self._recent.appendleft((daemon.scene, {}))
            next_s = min(self._due_s if daemon is not None else end_s, hardware.next_step_s or end_s, end_s)
            if daemon is not None and hardware.now_s >= pages_from_s + HEAD_START_S - BURSTS_S:
                self._sample(daemon, next_s)
            hardware.advance(next_s)

    def mould(self, delay: int, labels: Labels = PLAIN) -> Mould | None:
        """What its page is made from, as it was so many beats ago or as long as it can tell; None while no exporter runs on it. Made
        when it is first asked for."""
        recent = tuple(self._recent)
        if not recent:
            return None
        scene, made = recent[min(delay, len(recent) - 1)]
        if labels not in made:
            made[labels] = mould_of(self._page(scene, labels), self._busy)
        return made[labels]

    def _begin_or_end(self) -> None:
        """The exporter of the node, as the story wants it."""
        around = self._hardware.around
        if around.exporter_away:
            self._daemon = None
            self._recent.clear()
        elif self._daemon is None or self._starts != around.exporter_starts:
            self._starts, self._due_s = around.exporter_starts, self._hardware.now_s
            self._daemon = VirtualDaemon(self._config, self._hardware, self._state, health_of)
            self._identity = _identity(self._hardware.wall_s())
            self._pages = {}  # a daemon counts its Scenes from 1
            self._recent.clear()

    def _sample(self, daemon: VirtualDaemon, to_s: float) -> None:
        """Let its burst sampler read at its pace until then."""
        period_s = daemon.samples_each_s
        while period_s and (next_s := max(self._sampled_s + period_s, self._hardware.now_s)) < to_s:
            self._hardware.glance(next_s)
            daemon.sample()
            self._sampled_s = next_s

    def _page(self, scene: Scene, labels: Labels) -> bytes:
        if labels not in self._pages:
            cap = self._config.exposition.series_cap
            self._pages[labels] = PageMaker(tier=self._tier, series_cap=cap, process_numbers=self._numbers, labels=labels)
        whole = replace(scene, readings=(*scene.readings, self._identity))
        return self._pages[labels].page(whole, Selection(self._tier)).body


def _identity(began_wall_s: float) -> Reading:
    """What an exporter that began then says of itself."""
    return identity_reading(Identity(simulated=True, state_writable=True, reload_ok=True, reload_wall_s=began_wall_s, gpus_released=False,
                                     gpu_process_stuck=False))  # fmt: skip


def _jobs_in(folder: str, job: str, gpus: int) -> str:
    """A folder that says this job runs on each GPU, as a scheduler's prolog would write it (docs/jobs.md)."""
    os.makedirs(folder, exist_ok=True)
    for gpu in range(gpus):
        with open(f"{folder}/{gpu}", "w", encoding="ascii") as file:
            file.write(f"{job}\n")
    return folder
