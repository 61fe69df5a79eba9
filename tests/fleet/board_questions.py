"""Every question of boards and rules, and what a fleet that lives all stories should answer.

Knows where boards and rule files are (dashboards/); how they are sent is questions.py's.
"""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.fleet.questions import Question
from tests.requires import lacking

RULES = Path(__file__).parents[2] / "dashboards" / "generated" / "prometheus"
"""Folder of the rule files that ship."""


class Due(Enum):
    """What should come back: data, nothing as long as the exporter cannot measure it, or either."""

    DATA = "data"
    EITHER = "either"
    NOTHING = "nothing"


class BoardQuestion(NamedTuple):
    """A question, what it is due, and why it may stay without an answer."""

    question: Question
    due: Due
    why: str


def of_boards() -> list[BoardQuestion]:
    """Those of every panel, variable and annotation of every board. Skips where grafanalib is not installed."""
    try:
        from dashboards.shipped import queries
    except ModuleNotFoundError as missing:
        lacking(f"{missing.name} is not installed: pip install -e '.[dev-full]'")
    due = {"data": Due.DATA, "maybe": Due.EITHER, "never": Due.NOTHING}
    return [
        BoardQuestion(
            Question(f"{asked.board} / {asked.panel}", asked.expr, asked.unit, is_instant=asked.is_instant),
            due[asked.expect.value],
            asked.why,
        )
        for asked in queries()
    ]


def rule_files() -> list[Path]:
    """The rule files that ship."""
    return sorted(RULES.glob("*.rules.y*ml"))


def of_rules() -> list[Question]:
    """The expression of each recording rule and alert."""
    return [Question(f"{name} / {rule.get('record') or rule.get('alert')}", rule["expr"]) for name, rule in _rules()]


def _rules() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in rule_files():
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                yield group["name"], rule
