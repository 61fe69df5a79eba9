"""The one place that uses prometheus_client: its process, GC and platform collectors, and its OpenMetrics encoder."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client import exposition as text_exposition
from prometheus_client.core import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.openmetrics import exposition as openmetrics_exposition

from exporter.catalog.limits import SERIES_CAP
from exporter.exposition.choice import Choice, Labels, choose
from exporter.exposition.selection import Selection
from exporter.model.metric import Kind, Metric
from exporter.model.snapshot import Reading

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class ProcessNumbers:
    """Numbers of this process, in prometheus_client's own names. Costs a few /proc reads each time."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def text(self, selection: Selection, labels: Labels = ()) -> bytes:
        """Text format 0.0.4 of the process's series that the selection wants, each with these labels beside its own."""
        registry = self._registry.restricted_registry(list(selection.names)) if selection.names else self._registry
        return text_exposition.generate_latest(registry if not labels else _registry_of(_labelled(registry.collect(), labels)))

    def families(self, selection: Selection, labels: Labels = ()) -> list[Family]:
        """The same as families."""
        registry = self._registry.restricted_registry(list(selection.names)) if selection.names else self._registry
        return list(_labelled(registry.collect(), labels))


class _Families:
    """A collector over families that exist already."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families

    def describe(self) -> Iterable[Family]:
        return ()


def families_of(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection,
                series_cap: int = SERIES_CAP, labels: Labels = ()) -> list[Family]:  # fmt: skip
    """Readings as prometheus_client families: the slow way to the samples of the text page (OpenMetrics, and the tests' oracle)."""
    return families_in(choose(readings, rows, selection, series_cap, labels))


def families_in(choice: Choice) -> list[Family]:
    """The same for series that are chosen already."""
    families: list[Family] = []
    for row, found in choice.rows:
        family = Family(row.name.removesuffix("_total") if row.kind is Kind.COUNTER else row.name, row.help, row.kind.exposed_type)
        for series in found:
            family.add_sample(series.name, dict(series.pairs), series.value)
        families.append(family)
    return families


def encode(families: Sequence[Family]) -> bytes:
    """prometheus_client's own text format 0.0.4."""
    return text_exposition.generate_latest(_registry_of(families))


def encode_openmetrics(families: Sequence[Family]) -> bytes:
    """OpenMetrics 1.0, which ends in # EOF."""
    body: bytes = openmetrics_exposition.generate_latest(_registry_of(families))  # type: ignore[no-untyped-call]  # untyped upstream
    return body


def _labelled(families: Iterable[Family], labels: Labels) -> list[Family]:
    """The families with these labels on each sample."""
    added = dict(labels)
    labelled: list[Family] = []
    for family in families:
        twin = Family(family.name, family.documentation, family.type, family.unit)
        twin.samples = [sample._replace(labels={**sample.labels, **added}) for sample in family.samples]
        labelled.append(twin)
    return labelled


def _registry_of(families: Sequence[Family]) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return registry
