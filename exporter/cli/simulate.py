"""Play a scenario on a simulated node in virtual time and print what becomes of each link's health: one JSON object a line, a summary last.
Exit status 0 if the scenario's `expect`, `silent` and `never` held, else 1. The same scenario, seed and configuration print the same."""

import argparse
import json
import sys
from collections.abc import Collection
from dataclasses import replace

from exporter.cli.exits import Exit
from exporter.cli.health import health_of
from exporter.cli.options import add_options, loaded
from exporter.cli.scenario_file import read_scenario
from exporter.cli.virtual_daemon import MakeHealth
from exporter.cli.virtual_run import played
from exporter.config.mistake import Mistake, error_of
from exporter.config.schema import Config
from exporter.runtime.clock import SystemClock
from exporter.runtime.health import GPUDIRECT_RULE, MISSING_RULE
from exporter.runtime.logs import set_up
from exporter.signals.comparisons import RAILS_RULE, SIBLINGS
from exporter.signals.engine import DOMAIN_RULE
from exporter.signals.rules import RULES
from exporter.simulator.fault_checks import near
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Event, Remark, Sighting, Transition, Unwanted, outcome_of, summary_of

SEED_MAX = 1 << 53
RULE_NAMES = frozenset({rule.name for rule in RULES} | {SIBLINGS, RAILS_RULE, DOMAIN_RULE, MISSING_RULE, GPUDIRECT_RULE})
"""What `--without` may leave out: the rules, and what the engine and health judge themselves."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`simulate --scenario F [--node PROFILE] [--seed N] [--without RULE]` and the shared flags."""
    parser.add_argument("--scenario", metavar="FILE", required=True, help="the scenario, YAML")
    parser.add_argument("--node", metavar="PROFILE", help="the node it is meant for; default: the one that the scenario names")
    parser.add_argument("--seed", type=_seed, metavar="N", help="another seed than the scenario's")
    parser.add_argument("--without", action="append", default=[], metavar="RULE", help="leave this rule out. Repeatable.")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Play it; transitions and the summary on stdout, how fast it was on stderr. Raises ConfigError."""
    config = loaded(args).config
    set_up("error", config.logging.format)
    scenario = _scenario(args)
    clock = SystemClock()
    started_s = clock.monotonic_s()
    status = play(scenario, config, health_without(frozenset(args.without)))
    took_s = max(clock.monotonic_s() - started_s, 1e-9)
    speed = scenario.duration_s / took_s
    print(f"{scenario.duration_s:g} s of virtual time in {took_s:.1f} s: {speed:.0f} times real time", file=sys.stderr)
    return status


def play(scenario: Scenario, config: Config, make_health: MakeHealth) -> Exit:
    """Print each transition and expected signal as it comes, then the summary; whether the scenario's expectations held."""
    seen: list[Event] = []
    for event in played(scenario, config, make_health):
        seen.append(event)
        print(json.dumps(_line(scenario, event), ensure_ascii=False))
    outcome = outcome_of(scenario, seen)
    transitions = sum(isinstance(event, Transition) for event in seen)
    print(json.dumps({"summary": summary_of(scenario, outcome, transitions)}, ensure_ascii=False))
    return Exit.OK if outcome.holds else Exit.FINDING


def _scenario(args: argparse.Namespace) -> Scenario:
    """The scenario of the command line. Raises ConfigError."""
    scenario = read_scenario(args.scenario)
    if args.node is not None and args.node != scenario.node:
        problem = f"the scenario is for {scenario.node}: its links are not those of {args.node}"
        raise error_of((Mistake("--node", problem, args.scenario),))
    return scenario if args.seed is None else replace(scenario, seed=args.seed)


def _line(scenario: Scenario, event: Event) -> dict[str, object]:
    if isinstance(event, Sighting):
        return {"t": event.t_s, "link": event.link, "signal": " ".join(scenario.expect[event.number].signal), "value": event.value}
    if isinstance(event, Remark):
        return {"t": event.t_s, "note": event.text}
    if isinstance(event, Unwanted):
        return {"t": event.t_s, "link": event.link, "signal": event.signal, "unwanted": True}
    t_s, link, before, after, reasons, evidence, _ = event
    return {"t": t_s, "link": link, "from": before, "to": after, "reasons": reasons, "evidence": evidence}


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= SEED_MAX):
        raise argparse.ArgumentTypeError(f"expected a whole number up to {SEED_MAX}, got {text!r}")
    return int(text)


def health_without(left_out: Collection[str]) -> MakeHealth:
    """Makes health without these rules. Raises ConfigError for a name that no rule has."""
    for name in left_out:
        if name not in RULE_NAMES:
            raise error_of((Mistake("--without", f"there is no rule {name}{near(name, RULE_NAMES)}"),))
    return lambda config, memory, boot: health_of(config, memory, boot, left_out)
