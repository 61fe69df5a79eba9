"""Options of the rules: a threshold each, as model/thresholds.py lists them, and what the rules cannot see for themselves."""

from dataclasses import dataclass, fields, make_dataclass
from typing import Any

from exporter.config.kinds import PATH, Kind, count, decimal, duration
from exporter.config.option import option
from exporter.model.thresholds import Thresholds

SECONDS, PER_SECOND, PASSES, RATIO = "_s", "_per_s", "_passes", "_ratio"
RATIO_MAX = 2.0
"""A percentage in a ratio's place is refused; a rate may be taken for implausible only above the whole."""


def _threshold_option(name: str, default: float, doc: str, reason: str) -> tuple[str, type, Any]:
    return name, float, option(default, _kind(name), doc, reason)


def _kind(name: str) -> Kind:
    """By the unit in the name. As many passes as verdict.py remembers."""
    if name.endswith(PASSES):
        return count(1, 8, "passes")
    if name.endswith(RATIO):
        return decimal(0.0, RATIO_MAX)
    return duration(0.1, 31_536_000) if name.endswith(SECONDS) and not name.endswith(PER_SECOND) else decimal(0.0, 1e15)


_Thresholds = make_dataclass(
    "_Thresholds",
    [_threshold_option(item.name, item.default, item.metadata["doc"], item.metadata["reason"]) for item in fields(Thresholds)],  # type: ignore[arg-type]
    frozen=True,
    slots=True,
)


@dataclass(frozen=True, slots=True)
class Signals(_Thresholds):  # type: ignore[misc, valid-type]  # a base made from the table of thresholds
    """Thresholds of the rules, and what the rules cannot see for themselves."""

    tick_bytes: int | None = option(
        None,
        count(1, 4096, "bytes"),
        "Bytes of port time that one tick of port_xmit_wait stands for; set it for cards before ConnectX-6 (32 for each lane).",
        "None: eight bytes, as NVIDIA describes its newer devices, unless traffic contradicts it.",
    )
    maintenance_file: str | None = option(
        None,
        PATH,
        "File whose presence says that somebody works on the node; a line until: TIME says until when.",
        "None: the file maintenance in state.dir.",
    )


def thresholds_of(signals: Signals) -> Thresholds:
    """The thresholds as the rules take them."""
    return Thresholds(**{item.name: getattr(signals, item.name) for item in fields(Thresholds)})
