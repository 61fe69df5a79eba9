"""A scenario from beginning to end in virtual time: the hardware moves from step to step and beat to beat, the exporter lives and dies.

Knows the order of things; what befalls the hardware is the scenario's, what is made of it virtual_daemon.py's.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace

from exporter.cli.virtual_daemon import MakeHealth, VirtualDaemon
from exporter.config.schema import Config
from exporter.model.health import Verdict
from exporter.runtime.state_dir import open_state_dir
from exporter.simulator.hardware import ScenarioHardware
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Event, Remark, Transition
from exporter.simulator.scenario_signals import SignalWatch


def played(scenario: Scenario, config: Config, make_health: MakeHealth) -> Iterator[Event]:
    """Every change of a link's health and each signal that is expected or forbidden. The same scenario and configuration give the same."""
    hardware, watch = ScenarioHardware(scenario), SignalWatch(scenario)
    end_s = hardware.now_s + scenario.duration_s
    with tempfile.TemporaryDirectory(prefix="fabric-exporter-scenario-") as folder:
        state = open_state_dir(folder)
        expect = replace(config.expect, ports=(*scenario.ports, *config.expect.ports))
        if scenario.burst_hz:
            bursts = replace(config.sources.bursts, enabled=True, interval_s=1 / scenario.burst_hz)
            config = replace(config, sources=replace(config.sources, bursts=bursts))
        config = replace(config, expect=expect, state=replace(config.state, dir=folder), simulate=replace(config.simulate, profile=None))
        daemon: VirtualDaemon | None = None
        starts, due_s, noted = hardware.around.exporter_starts, hardware.now_s, frozenset[str]()
        sampled_s = hardware.now_s
        while hardware.now_s < end_s:
            around = hardware.around
            if around.exporter_away:
                daemon = None
            elif daemon is None or starts != around.exporter_starts:
                starts, due_s = around.exporter_starts, hardware.now_s
                daemon = VirtualDaemon(config, hardware, state, make_health)
            if daemon is not None and due_s <= hardware.now_s:
                wait_s, changes = daemon.tick()
                due_s = hardware.now_s + max(wait_s, 1e-3)
                t_s = round(hardware.now_s - hardware.head_start_s, 3)
                yield from (_transition(t_s, *change) for change in changes)
                for note in frozenset(daemon.notes) - noted:
                    yield Remark(t_s, note)
                noted |= frozenset(daemon.notes)
                if not watch.is_over:
                    yield from watch.look(t_s, daemon.signals)
            to_s = min(due_s if daemon else end_s, hardware.next_step_s or end_s, end_s)
            if daemon is not None and daemon.samples_each_s:
                sampled_s = _sampled(hardware, daemon, sampled_s, to_s)
            hardware.advance(to_s)


def _sampled(hardware: ScenarioHardware, daemon: VirtualDaemon, last_s: float, to_s: float) -> float:
    """Let the burst sampler read at its pace until `to_s`, on hardware of which nothing moves meanwhile but bytes. When it read last."""
    while (next_s := max(last_s + (daemon.samples_each_s or to_s), hardware.now_s)) < to_s:
        hardware.glance(next_s)
        daemon.sample()
        last_s = next_s
    return last_s


def _transition(t_s: float, before: Verdict, after: Verdict) -> Transition:
    return Transition(t_s, str(after.link), _word(before), _word(after), tuple(active.why.value for active in after.active),
                      tuple(active.evidence for active in after.active), "" if after.unknown is None else after.unknown.value)  # fmt: skip


def _word(verdict: Verdict) -> str:
    return verdict.level.word if verdict.level is not None else "unknown"
