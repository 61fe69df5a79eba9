"""Every query of every board is PromQL and fits the catalogue: rows, labels, rates. Read by Prometheus' grammar, not by our own face."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dashboards import units
from dashboards.board import Asked, Expect
from dashboards.boards.infiniband import NORMAL_EVENTS
from dashboards.shipped import queries
from dashboards.substitution import EVERYTHING, filled
from dashboards.words import STATES
from exporter.catalog import CATALOGUE, probes
from exporter.catalog.hw_events import HW_EVENTS_KNOWN
from exporter.model.metric import Metric, Tier
from tests.dashboards.promql_reading import CATALOGUE_BY_NAME, problems, rows_of

ROOT = Path(__file__).parents[2]
ASKED = queries()
SHOWN_NOWHERE = (
    "legacy_", "hw_level", "hw_counters_lifespan", "register_", "data_rate_raw", "raw_errors", "_packets", "lane_bit_errors",
    "pause_transitions",
)  # fmt: skip
"""Parts of names of rows that only a specialist asks for by hand."""


def test_every_query_fits_the_catalogue() -> None:
    """No unknown series or label, no counter without a rate, no gauge with one, no `by` or `on` of a label that is not there."""
    found = {f"{asked.board} / {asked.panel}": wrong for asked in ASKED if (wrong := problems(filled(asked.expr, EVERYTHING)))}

    assert found == {}


@pytest.mark.parametrize(
    ("expr", "problem"),
    [
        ("rate(fabric_infiniband_port_data_sent_bytes_total[5m])", "no series of the catalogue"),
        ('fabric_link_health_status{link="1"}', "has no label link"),
        ("sum by (gpu) (fabric_link_health_status)", "by (gpu)"),
        ("fabric_link_flaps_total", "under nothing"),
        ("rate(fabric_link_health_status[5m])", "under rate"),
        ("fabric_link_health_status * on (rail) group_left () fabric_node_grace_active", "on (rail)"),
    ],
)
def test_the_second_opinion_finds_mistakes(expr: str, problem: str) -> None:
    """The check above is not idle."""
    assert any(problem in found for found in problems(expr))


def test_every_row_worth_it_is_on_some_board() -> None:
    """Rows up to the standard tier that no query asks for are few, and each is one that only a specialist asks for."""
    shown = {name for asked in ASKED for name in rows_of(filled(asked.expr, EVERYTHING))}
    missing = [row.name for row in CATALOGUE.values()
               if row.tier is not Tier.FULL and row.name not in shown and not any(part in row.name for part in SHOWN_NOWHERE)]  # fmt: skip

    assert len(missing) <= 45, missing


def test_panels_of_the_full_tier_say_so() -> None:
    """A reader of an empty panel learns what it needs."""
    full = [asked for asked in ASKED if any(CATALOGUE_BY_NAME[name].tier is Tier.FULL for name in rows_of(filled(asked.expr, EVERYTHING)))]

    assert full
    assert [asked.panel for asked in full if asked.expect is Expect.DATA] == []


def test_questions_about_probes_expect_nothing() -> None:
    """And all others something, at least sometimes."""
    names = {row.name for row in probes.ROWS}

    assert all((asked.expect is Expect.NEVER) == bool(rows_of(filled(asked.expr, EVERYTHING)) & names) for asked in ASKED)


def test_a_question_that_may_stay_empty_says_why() -> None:
    """In words for whoever looks at an empty panel."""
    assert [asked.panel for asked in ASKED if asked.expect is not Expect.DATA and not asked.why] == []


@pytest.mark.parametrize("asked", [asked for asked in ASKED if asked.unit == units.RATIO], ids=lambda asked: f"{asked.board} {asked.panel}")
def test_a_share_is_made_of_ratios_or_of_two_numbers(asked: Asked) -> None:
    """A panel in percent holds a row that is a ratio, a rate of seconds, or a division."""
    rows = [CATALOGUE_BY_NAME[name] for name in rows_of(filled(asked.expr, EVERYTHING))]

    assert any(row.name.endswith(("_ratio", "_seconds_total")) for row in rows) or " / " in asked.expr


@pytest.mark.parametrize("row", STATES, ids=lambda row: row.key)
def test_words_of_states_are_those_of_the_help(row: Metric) -> None:
    """A number means the same on a board as in the reference."""
    said = " ".join(row.help.split())

    assert [f"{number} {word.text}" for number, word in STATES[row].items() if f"{number} {word.text}" not in said] == []


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the catalogue and the boards, to rename rows in."""
    for folder in ("exporter", "dashboards"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def _built(house: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "dashboards.shipped", "out"]
    return subprocess.run(argv, cwd=house, capture_output=True, text=True, timeout=100, check=False)


def _spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_row_that_goes_breaks_the_boards_that_show_it(house: Path) -> None:
    """Renamed in the catalogue alone, CAPACITY is missed by name where a board uses it."""
    _spoil(house / "exporter/catalog/signals.py", "CAPACITY", "CAPABILITY")

    done = _built(house)

    assert done.returncode == 1
    assert "has no attribute 'CAPACITY'" in done.stderr


def test_a_label_that_goes_breaks_the_boards_that_use_it(house: Path) -> None:
    """Without its label `direction`, utilisation cannot be shown by it; the error names the query (NVIDIA/dcgm-exporter#709)."""
    _spoil(house / "exporter/catalog/signals.py", 'Tier.BASIC, ("direction",), nvlink_tier', "Tier.BASIC, nvlink_tier")

    done = _built(house)

    assert done.returncode == 1
    assert "direction" in done.stderr
    assert "fabric_link_utilization_ratio" in done.stderr


def test_a_public_name_that_changes_changes_the_files(house: Path) -> None:
    """So the committed files are no longer current, and the build fails until they are written anew."""
    _spoil(house / "exporter/catalog/signals.py", '_signal("capacity_ratio"', '_signal("ability_ratio"')

    assert _built(house).returncode == 0
    made = (house / "out/fabric-fleet.json").read_text(encoding="utf-8")
    assert "fabric_link_ability_ratio" in made
    assert made != (ROOT / "dashboards/generated/dashboards/fabric-fleet.json").read_text(encoding="utf-8")


def test_events_that_are_left_out_as_normal_are_known() -> None:
    """A renamed event would come back into the table of a driver's odd events."""
    assert set(NORMAL_EVENTS) <= set(HW_EVENTS_KNOWN)
