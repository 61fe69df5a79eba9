"""The signals section: every threshold of the rules is an option, by the unit in its name."""

from dataclasses import fields
from pathlib import Path

import pytest

from exporter.config.load import load
from exporter.config.mistake import ConfigError
from exporter.config.options import OPTIONS
from exporter.config.schema import Config
from exporter.config.signal_options import thresholds_of
from exporter.model.thresholds import Thresholds
from exporter.signals.verdict import REMEMBERED_PASSES

NAMES = [item.name for item in fields(Thresholds)]
PATHS = {path.removeprefix("signals."): path for path in OPTIONS if path.startswith("signals.")}


def with_signals(folder: Path, text: str) -> Config:
    """The configuration of a file with this section."""
    (folder / "config.yaml").write_text(f"signals: {{{text}}}\n")
    return load(str(folder / "config.yaml")).config


def option_of(name: str) -> str:
    """Name of a threshold's option: a duration drops its unit, for any may be given."""
    return name.removesuffix("_s") if name.endswith("_s") and not name.endswith("_per_s") else name


@pytest.mark.parametrize("name", NAMES)
def test_every_threshold_is_an_option(name: str) -> None:
    """With its default, its words and its reason; a mark says where the figure comes from."""
    item = next(item for item in fields(Thresholds) if item.name == name)
    option = OPTIONS[PATHS[option_of(name)]]

    assert option.value(Config()) == item.default == getattr(thresholds_of(Config().signals), name)
    assert (option.doc, option.reason) == (item.metadata["doc"], item.metadata["reason"])
    assert "[" in option.reason or name in ("downgrade_ratio",)


def test_the_section_holds_the_thresholds_and_what_rules_cannot_see() -> None:
    """Nothing else."""
    assert list(PATHS) == [*map(option_of, NAMES), "tick_bytes", "maintenance_file"]


def test_a_site_may_set_them(tmp_path: Path) -> None:
    """The rules get just that."""
    config = with_signals(tmp_path, "grace: 5m, hold: 30s, failed_hold: 1h30m, down_passes: 5, stall_raise_ratio: 0.2, errors_min: 1e2")

    expected = Thresholds(grace_s=300.0, hold_s=30.0, failed_hold_s=5400.0, down_passes=5, stall_raise_ratio=0.2, errors_min=100.0)
    assert thresholds_of(config.signals) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("grace: 10", "signals.grace: expected a duration such as 5s"),
        ("hold: 0s", "signals.hold: expected 100ms to 365d"),
        ("hold: 2000d", "signals.hold: expected 100ms to 365d"),
        ("down_passes: 0", f"signals.down_passes: expected a whole number from 1 to {REMEMBERED_PASSES}"),
        ("down_passes: 9", f"signals.down_passes: expected a whole number from 1 to {REMEMBERED_PASSES}"),
        ("downgrade_passes: 2.5", f"signals.downgrade_passes: expected a whole number from 1 to {REMEMBERED_PASSES}"),
        ("stall_raise_ratio: 5", "signals.stall_raise_ratio: expected a number from 0 to 2"),
        ("sibling_ratio: -1", "signals.sibling_ratio: expected a number from 0 to 2"),
        ("flaps_per_h: many", "signals.flaps_per_h: expected a number from 0 to 1e+15"),
        ("tick_bytes: 0", "signals.tick_bytes: expected a whole number from 1 to 4096"),
        ("graces: 5m", "signals.graces: unknown key"),
    ],
)
def test_a_mistake_is_named_with_what_was_expected(tmp_path: Path, text: str, complaint: str) -> None:
    """A percentage in a ratio's place too: five would never be reached."""
    with pytest.raises(ConfigError) as caught:
        with_signals(tmp_path, text)

    assert complaint in str(caught.value)
