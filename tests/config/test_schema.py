"""Every option is documented, has one flag or none and one variable, and the committed page is the schema's."""

from pathlib import Path

import pytest

from exporter.config.options import OPTIONS, OTHER_VARIABLES, SECTIONS, names_in
from exporter.config.reference import reference_markdown
from exporter.config.schema import Config

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.mark.parametrize("path", OPTIONS)
def test_option_says_what_it_does_and_why_its_default(path: str) -> None:
    """Two sentences, each ending as one."""
    option = OPTIONS[path]

    assert option.doc.endswith(".")
    assert option.reason.endswith(".")


def test_variables_are_unique() -> None:
    """Underscores stand for dots and for themselves; no two options may meet."""
    names = [option.variable for option in OPTIONS.values()] + list(OTHER_VARIABLES)

    assert len(names) == len(set(names))


def test_flags_are_unique() -> None:
    """One flag, one option."""
    flags = [option.spelling.flag for option in OPTIONS.values() if option.spelling.flag]

    assert len(flags) == len(set(flags))


def test_durations_drop_their_unit_in_yaml() -> None:
    """Python says seconds, YAML lets the user say any unit."""
    assert OPTIONS["sources.infiniband.fast_interval"].value(Config()) == 5.0


def test_sections_hold_their_names_in_order() -> None:
    """The top of the file."""
    assert names_in("") == (
        *("web", "control", "state", "sources", "expect", "topology", "signals", "maintenance", "jobs"),
        *("recorder", "probes", "exposition", "logging", "simulate"),
    )
    assert "sources.infiniband" in SECTIONS


def test_committed_page_is_current() -> None:
    """docs/configuration.md is written from the schema: reference_markdown() of exporter/config/reference.py."""
    assert PAGE.read_text(encoding="utf-8") == reference_markdown()
