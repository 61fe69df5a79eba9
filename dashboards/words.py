"""Words and colours for numbers that are states, the same on every board. Data.

Texts of states follow the help of their rows; a test holds the two together.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from exporter.catalog import gpu, infiniband, nvlink, signals
from exporter.catalog.conditions import CONDITIONS
from exporter.model.health import Level
from exporter.model.metric import Metric

GREEN, YELLOW, ORANGE, RED, BLUE, GREY, PURPLE = "green", "yellow", "orange", "red", "blue", "#8e8e8e", "purple"


class Word(NamedTuple):
    """What a number or label value is called and how it is coloured."""

    text: str
    color: str


Words = Mapping[str, Word]
"""Number (as text) or label value → word."""

HEALTH: Words = {
    "0": Word("ok", GREEN), "1": Word("suspect", YELLOW), "2": Word("degraded", ORANGE), "3": Word("failed", RED),
}  # fmt: skip
STATUS: Words = {**{word.text: Word(word.text, word.color) for word in HEALTH.values()}, "unknown": Word("unknown", GREY)}
"""Values of the label `status`."""
OFF_ON: Words = {"0": Word("no", GREEN), "1": Word("yes", BLUE)}
DOWN_UP: Words = {"0": Word("down", RED), "1": Word("up", GREEN)}
SILENT_ANSWERS: Words = {"0": Word("fails", RED), "1": Word("answers", GREEN)}
LACKS_HAS: Words = {"0": Word("no", RED), "1": Word("yes", GREEN)}
RELEASED: Words = {"1": Word("released", ORANGE)}
FREE_STUCK: Words = {"0": Word("no", GREEN), "1": Word("yes", RED)}
_LEVEL_COLORS = {Level.SUSPECT: YELLOW, Level.DEGRADED: ORANGE, Level.FAILED: RED}
REASONS: Words = {
    why.value: Word(f"{why.value}: {condition.help}", _LEVEL_COLORS[condition.level]) for why, condition in CONDITIONS.items()
}
"""Values of the label `reason` of a condition, with what each means."""
HOLDS: Words = {"1": Word("holds", RED)}

STATES: Mapping[Metric, Words] = {
    signals.HEALTH: HEALTH,
    signals.NODE_HEALTH: HEALTH,
    infiniband.STATE: {
        "0": Word("no change", GREY), "1": Word("down", RED), "2": Word("init", ORANGE), "3": Word("armed", YELLOW),
        "4": Word("active", GREEN), "5": Word("active deferred", GREEN),
    },
    infiniband.PHYSICAL_STATE: {
        "0": Word("no change", GREY), "1": Word("sleep", GREY), "2": Word("polling", RED), "3": Word("disabled", GREY),
        "4": Word("training", ORANGE), "5": Word("link up", GREEN), "6": Word("error recovery", ORANGE), "7": Word("phy test", PURPLE),
    },
    nvlink.STATE: {
        "0": Word("inactive", RED), "1": Word("active", GREEN), "2": Word("asleep", BLUE),
        "3": Word("active with its traffic disabled", ORANGE),
    },
    nvlink.PRESENCE: {
        "0": Word("nobody knows", GREY), "2": Word("asleep", BLUE), "3": Word("traffic disabled", ORANGE), "4": Word("down", RED),
        "5": Word("never wired", GREY), "6": Word("hidden by MIG", PURPLE),
    },
    gpu.FABRIC_STATE: {"1": Word("not started", RED), "2": Word("in progress", YELLOW), "3": Word("completed", GREEN)},
    gpu.RECOVERY_ACTION: {
        "0": Word("nothing", GREEN), "1": Word("reset it", ORANGE), "2": Word("reboot the node", RED),
        "3": Word("drain peer-to-peer", ORANGE), "4": Word("drain and reset", RED), "5": Word("recover the IMEX domain", ORANGE),
        "6": Word("reset the bus", RED), "7": Word("reboot the system", RED),
    },
}  # fmt: skip
"""Row of a state → what its numbers mean."""


def mapping(words: Words) -> list[dict[str, Any]]:
    """Grafana's value mappings."""
    options = {number: {"color": word.color, "index": place, "text": word.text} for place, (number, word) in enumerate(words.items())}
    return [{"type": "value", "options": options}] if options else []
