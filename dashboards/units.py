"""Grafana's name for the unit of what a query returns, which follows from the row's unit and from what the query does with it. Data.

Names: grafana/grafana packages/grafana-data/src/valueFormats/categories.ts. Bytes are decimal, as link rates are (400 Gb/s = 50 GB/s).
"""

from collections.abc import Mapping

from exporter.model.metric import Unit

RATIO, COUNT, PER_SECOND, BYTES, BYTES_PER_SECOND, SECONDS = "percentunit", "short", "cps", "decbytes", "Bps", "s"
PLAIN = "none"
"""A number without unit, not shortened: states, lanes."""
SCIENTIFIC = "sci"
"""For ratios far below a percent: errors per bit."""
FROM_NOW = "dateTimeFromNow"
"""Milliseconds since 1970, shown as `3 hours ago`."""

OF_VALUE: Mapping[Unit, str] = {
    Unit.COUNT: COUNT,
    Unit.BYTES: BYTES,
    Unit.BYTES_PER_SECOND: BYTES_PER_SECOND,
    Unit.SECONDS: SECONDS,
    Unit.RATIO: RATIO,
    Unit.LANES: PLAIN,
    Unit.TRANSFERS_PER_SECOND: "si:T/s",
    Unit.TICKS: COUNT,
    Unit.STATE: PLAIN,
}
"""Unit of a gauge's value, or of what a counter grew by. A point in time has none: it is shown by its age."""

OF_RATE: Mapping[Unit, str] = {Unit.COUNT: PER_SECOND, Unit.BYTES: BYTES_PER_SECOND, Unit.SECONDS: RATIO, Unit.TICKS: PER_SECOND}
"""Unit of a counter's rate; seconds per second are a share of time."""
