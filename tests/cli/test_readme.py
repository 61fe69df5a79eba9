"""What README.md and CHANGELOG.md claim of commands, profiles and series is so."""

import re
from pathlib import Path

import pytest

from exporter.catalog import CATALOGUE, ethernet, pcie
from exporter.cli.verbs import VERBS, leaves, options_of, parser_of
from exporter.simulator.profiles import PROFILES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", sorted(set(re.findall(r"(?:`|bin/|\$ )fabric-exporter ([a-z]+(?: [^`\n]*)?)[`\n]", README))))
def test_each_command_in_the_readme_exists_with_its_options(command: str) -> None:
    """A verb that the parser knows, and flags that the verb knows."""
    verb, *words = command.partition(" #")[0].replace("[", " ").replace("]", " ").split()
    known = {option for leaf in leaves(parser_of(verb)[0]) for option in options_of(leaf)}

    assert verb in VERBS
    assert [word for word in words if word.startswith("--") and word.partition("=")[0] not in known] == []


def test_each_series_in_the_readme_is_in_the_catalogue() -> None:
    """Names as they stand on the page; one that ends in `…` or `_` is a family's beginning."""
    names = {row.name for row in CATALOGUE.values()}
    claimed = set(re.findall(r"\bfabric_[a-z_]*[a-z](?=[`{ ])", README))

    assert len(claimed) > 10
    assert claimed - names == set()


@pytest.mark.parametrize("text", [README, CHANGELOG], ids=["README", "CHANGELOG"])
def test_each_profile_that_is_named_can_be_simulated(text: str) -> None:
    """What follows --simulate."""
    named = set(re.findall(r"--simulate[ =]([a-z0-9-]+)", text))

    assert named
    assert named <= set(PROFILES)


def test_each_new_metric_has_its_place_in_the_changelog() -> None:
    """An operator finds what is new by name."""
    rows = (*ethernet.ROWS, *pcie.ROWS)

    assert [row.name for row in rows if not re.search(rf"`{row.name}[`{{]", CHANGELOG)] == []
