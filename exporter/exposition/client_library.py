"""The one place that uses prometheus_client: its process, GC and platform collectors, and its OpenMetrics encoder."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client import exposition as text_exposition
from prometheus_client.core import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.openmetrics import exposition as openmetrics_exposition

from exporter.exposition.selection import Selection
from exporter.exposition.text import label_pairs
from exporter.model.metric import Kind, Metric
from exporter.model.snapshot import Reading, metric_key

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class ProcessNumbers:
    """Numbers of this process, in prometheus_client's own names. Costs a few /proc reads each time."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def text(self, selection: Selection) -> bytes:
        """Text format 0.0.4 of the process's series that the selection wants."""
        registry = self._registry.restricted_registry(list(selection.names)) if selection.names else self._registry
        return text_exposition.generate_latest(registry)

    def families(self, selection: Selection) -> list[Family]:
        """The same as families."""
        registry = self._registry.restricted_registry(list(selection.names)) if selection.names else self._registry
        return list(registry.collect())


class _Families:
    """A collector over families that exist already."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families

    def describe(self) -> Iterable[Family]:
        return ()


def families_of(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection) -> list[Family]:
    """Readings as prometheus_client families: the slow, independent way to the same samples (OpenMetrics, and the tests' oracle)."""
    families: dict[str, Family] = {}
    for row in rows.values():
        if row.tier <= selection.tier and selection.wants_name(row.name):
            stem = row.name.removesuffix("_total") if row.kind is Kind.COUNTER else row.name
            families[row.key] = Family(stem, row.help, row.kind.exposed_type)
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for reading in readings:
        for key, value in reading.values.items():
            row_key = metric_key(key)
            pairs = label_pairs(rows[row_key], reading.entity, key) if row_key in families else None
            if pairs is None or (row_key, pairs) in seen:
                continue
            seen.add((row_key, pairs))
            families[row_key].add_sample(rows[row_key].name, {k: v.encode("utf-8", "replace").decode() for k, v in pairs}, value)
    return [family for family in families.values() if family.samples]


def encode(families: Sequence[Family]) -> bytes:
    """prometheus_client's own text format 0.0.4."""
    return text_exposition.generate_latest(_registry_of(families))


def encode_openmetrics(families: Sequence[Family]) -> bytes:
    """OpenMetrics 1.0, which ends in # EOF."""
    body: bytes = openmetrics_exposition.generate_latest(_registry_of(families))  # type: ignore[no-untyped-call]  # untyped upstream
    return body


def _registry_of(families: Sequence[Family]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return registry
