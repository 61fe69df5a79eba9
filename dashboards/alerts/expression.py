"""PromQL of rules, made of rows of the catalogue: a row that is renamed is an import error here, a label that it lacks a ValueError.

Boards have a face of their own (dashboards/promql.py): they are scoped by variables and show every moment. A rule judges one moment of the
whole fleet and keeps the labels of the scrape, by which alerts are routed.
"""

from exporter.model.metric import Kind, Metric

FLEET_LABELS = ("job", "instance", "node", "pool")
"""Labels that the scrape gives each series. `node` and `pool` may be missing: then they are empty, and `instance` tells nodes apart."""
TARGET = "on (instance, node)"
"""Two series of one exporter. By `instance` as well as `node`, so that a site without `node` does not silence its fleet with one node."""
LINK = "on (instance, node, fabric, device, port)"
"""Two series of one link."""
DEVICE = "on (instance, node, device)"
"""Two series of one GPU or NIC."""
OURS = 'up{job=~".*fabric-exporter.*"}'
"""Prometheus' own series of our targets: the scrape job's name must hold `fabric-exporter` (docs/alerts.md)."""


def select(row: Metric, **where: str) -> str:
    """The row's series with these matchers; a value with `~` before it is a pattern, with `!` it is refused. Raises ValueError for a label
    that the row does not have, and for a histogram."""
    if row.kind is Kind.HISTOGRAM:
        raise ValueError(f"{row.name} is a histogram: no rule reads one")
    if unknown := set(where) - {*row.labels, *FLEET_LABELS}:
        raise ValueError(f"{row.name} has no label {sorted(unknown)}; it has {row.labels}")
    matchers = ",".join(f"{label}{_matcher(wanted)}" for label, wanted in where.items())
    return f"{row.name}{{{matchers}}}" if matchers else row.name


def increase(row: Metric, window: str, **where: str) -> str:
    """What a counter grew by within the window. Raises ValueError for anything but a counter."""
    return f"increase({_counter(row, where)}[{window}])"


def rate(row: Metric, window: str, **where: str) -> str:
    """A counter's growth per second. Raises ValueError for anything but a counter."""
    return f"rate({_counter(row, where)}[{window}])"


def mean(row: Metric, window: str, **where: str) -> str:
    """A gauge's mean over the window. Raises ValueError for a counter."""
    return f"avg_over_time({_gauge(row, where)}[{window}])"


def last(row: Metric, window: str, **where: str) -> str:
    """A gauge's newest value within the window, also of a series that has ended. Raises ValueError for a counter."""
    return f"last_over_time({_gauge(row, where)}[{window}])"


def happened(row: Metric, window: str, **where: str) -> str:
    """Positive while a counter grew within the window, its first event included: one that is created at 0 grows by it, and one that comes
    into being with its first event (a rare Xid) was not there before. What may count as coming into being is for guards of the place
    `new`: a counter that a scrape sees for the first time may be old."""
    counter = _counter(row, where)
    return f"(\n  increase({counter}[{window}]) > 0\n  or\n  ({counter} > 0 unless {counter} offset {window}⟦new⟧)\n)"


def _counter(row: Metric, where: dict[str, str]) -> str:
    if row.kind is not Kind.COUNTER:
        raise ValueError(f"{row.name} is a {row.kind.value}: it has no growth")
    return select(row, **where)


def _gauge(row: Metric, where: dict[str, str]) -> str:
    if row.kind is Kind.COUNTER:
        raise ValueError(f"{row.name} is a counter: its value means nothing")
    return select(row, **where)


def _matcher(wanted: str) -> str:
    for mark, sign in (("!~", "!~"), ("~", "=~"), ("!", "!=")):
        if wanted.startswith(mark):
            return f'{sign}"{wanted.removeprefix(mark)}"'
    return f'="{wanted}"'
