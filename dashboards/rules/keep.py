"""What goes to a long-term store: recorded levels, the series of tier aggregate with the reasons of sick links, and which alerts fired.

The status of each link stays behind: healthy links are many, and a sick one has its reasons (and its last known status) in the store.
"""

from typing import Any

from dashboards.rules.recording import GROUPS
from exporter.catalog import CATALOGUE
from exporter.model.metric import Tier

PROMETHEUS_OWN = ("ALERTS", "up")
"""Which alert fired when, and which target answered."""


def kept_names() -> tuple[str, ...]:
    """Names of the series that are kept, sorted within their kind: recorded, aggregate tier, Prometheus' own."""
    recorded = [record.name for records in GROUPS.values() for record in records]
    rows = [row.name for row in CATALOGUE.values() if row.tier is Tier.AGGREGATE]
    return (*sorted(recorded), *sorted(rows), *PROMETHEUS_OWN)


def remote_write() -> dict[str, Any]:
    """The `remote_write` section of a Prometheus configuration; the address is the site's."""
    relabel = {"source_labels": ["__name__"], "regex": "|".join(kept_names()), "action": "keep"}
    return {"remote_write": [{"url": "https://long-term-store.example/api/v1/write", "write_relabel_configs": [relabel]}]}
