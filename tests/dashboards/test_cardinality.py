"""The figures of docs/cardinality.md: what a node shows by tier, counted, and what follows for a fleet."""

import re
from pathlib import Path

import pytest

from dashboards.rules.keep import kept_names
from exporter.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs/cardinality.md").read_text(encoding="utf-8")
TIERS = ("aggregate", "basic", "standard", "full")
P11 = {"aggregate": 300, "basic": 1500, "standard": 3400, "full": 7600}
"""Series of a DGX H100 node, at most."""
NEAR = 0.05
"""What a page may be behind: a row more is no new page."""


def _shown(capsys: pytest.CaptureFixture[str], profile: str, tier: str) -> list[str]:
    """Names of the series on a simulated node's page, one for each series."""
    assert main(["scrape", "--simulate", profile, "--exposition.tier", tier]) == 0
    return [re.split("[{ ]", line)[0] for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]


def _row(profile: str) -> list[int]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{profile}`"))
    return [int(cell.replace(",", "")) for cell in line.split("|")[2:6]]


@pytest.mark.parametrize("profile", ["hgx-h100", "gb200-tray"])
def test_the_page_s_counts_are_those_of_the_simulated_node(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each tier's series, within a twentieth."""
    counted = [len(_shown(capsys, profile, tier)) for tier in TIERS]

    assert _row(profile) == pytest.approx(counted, rel=NEAR)


@pytest.mark.parametrize("tier", TIERS)
def test_an_h100_node_keeps_to_the_budget(tier: str, capsys: pytest.CaptureFixture[str]) -> None:
    """P11: the series that a site pays for do not creep up."""
    assert len(_shown(capsys, "hgx-h100", tier)) <= P11[tier]


def test_the_long_term_store_gets_as_many_series_of_a_healthy_node_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the tier: the keep-list takes the aggregate ones."""
    kept = [name for name in _shown(capsys, "hgx-h100", "basic") if name in set(kept_names())]
    said = re.search(r"(\d+) series of a healthy HGX H100 node", PAGE)

    assert said is not None
    assert int(said[1]) == pytest.approx(len(kept), rel=NEAR)
