"""The grammar of Prometheus text format 0.0.4: heads, label pairs, numbers. Pure."""

import math
from collections.abc import Sequence

from exporter.model.entity import Entity
from exporter.model.metric import BUCKET, OBSERVATIONS, SUM, Kind, Metric
from exporter.model.quoted import printable
from exporter.model.snapshot import Number, SeriesKey


def head_of(row: Metric) -> str:
    """The HELP and TYPE lines of a row."""
    return f"# HELP {row.name} {_escape_help(row.help)}\n# TYPE {row.name} {row.kind.exposed_type}\n"


def series_of(name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Name and labels, as they stand before the value."""
    inside = ",".join(f'{label}="{_escape_label(value)}"' for label, value in pairs)
    return f"{name}{{{inside}}}" if inside else name


def sample_name(row: Metric, key: SeriesKey) -> str:
    """The row's name; of a histogram with what part of it this is."""
    if row.kind is not Kind.HISTOGRAM:
        return row.name
    part = key[-1]
    return f"{row.name}_{part if part in (SUM, OBSERVATIONS) else 'bucket'}"


def label_pairs(row: Metric, entity: Entity, key: SeriesKey) -> tuple[tuple[str, str], ...] | None:
    """(label, value) in the row's order; None if entity and key do not supply exactly what the row's labels ask for.

    Values are legal UTF-8: a lone surrogate, which is how Python reads a stray byte, becomes a question mark.
    """
    own = () if isinstance(key, str) else key[1:]
    if len(own) != len(row.own_labels):
        return None
    values = dict(zip(row.own_labels, own, strict=True))
    names = row.labels
    if row.kind is Kind.HISTOGRAM and own[-1] not in (SUM, OBSERVATIONS):
        names = (*names, BUCKET)
    pairs = tuple((name, values[name] if name in values else entity.label(name)) for name in names)
    return None if any(value is None for _, value in pairs) else tuple((name, printable(value or "")) for name, value in pairs)


def number_text(value: Number) -> str:
    """A sample value; infinities and NaN as Prometheus spells them."""
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _escape_label(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _escape_help(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
