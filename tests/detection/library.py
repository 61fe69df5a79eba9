"""The library of scenarios: which files there are, and which of them a rule's name labels. Knows no outcome."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from exporter.cli.scenario_file import read_scenario
from exporter.cli.simulate import RULE_NAMES
from exporter.simulator.scenario import Scenario

FOLDER = Path(__file__).parent.parent / "scenarios"


class Entry(NamedTuple):
    """One scenario by the name of its file, without folder and ending."""

    name: str
    scenario: Scenario


def scenario_files() -> list[Path]:
    """Every scenario of the library, by name."""
    return sorted(FOLDER.glob("*.yaml"))


def read(files: Sequence[Path]) -> list[Entry]:
    """These scenarios in the order of their names. Raises ConfigError for one with a mistake."""
    return [Entry(file.stem, read_scenario(str(file))) for file in sorted(files)]


def labelled(entries: Sequence[Entry], rule: str) -> list[Entry]:
    """Those that say that they test this rule."""
    return [entry for entry in entries if rule in entry.scenario.rules]


def by_rule(entries: Sequence[Entry]) -> Mapping[str, Sequence[Entry]]:
    """For every rule that can be left out, the scenarios labelled with it: none for one that nobody tests."""
    return {rule: labelled(entries, rule) for rule in sorted(RULE_NAMES)}


def unknown_labels(entries: Sequence[Entry]) -> list[str]:
    """A line for each label that is the name of no rule."""
    return [f"{entry.name}: there is no rule {rule}" for entry in entries for rule in entry.scenario.rules if rule not in RULE_NAMES]
