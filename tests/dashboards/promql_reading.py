"""PromQL read with Prometheus' own grammar and held against the catalogue: which rows, which labels, counters under a rate or not.

Knows nothing of how boards make their queries (dashboards/promql.py): a second opinion.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import promql_parser

from exporter.catalog import CATALOGUE
from exporter.model.metric import BUCKET, Kind, Metric, Unit

TARGET_LABELS = frozenset({"node", "pool"})
"""Labels that the scrape configuration sets (docs/dashboards.md)."""
GROWTH = frozenset({"rate", "increase", "irate", "resets"})
"""Functions that a counter must pass through first, and nothing else may."""


def series_names() -> Mapping[str, Metric]:
    """Every name that a query may ask for → its row; a histogram's three parts included."""
    parts = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count")}
    return {row.name + part: row for row in CATALOGUE.values() for part in parts.get(row.kind, ("",))}


NAMES = series_names()


def problems(expr: str) -> list[str]:
    """What is wrong with a query whose variables have values; empty if nothing. Raises ValueError for text that is no PromQL."""
    tree = promql_parser.parse(expr)
    return [*_labels_wrong(tree), *_growth_wrong(tree, under=None)]


def rows_of(expr: str) -> set[str]:
    """Names of the rows that a query asks for."""
    return {NAMES[selector.name].name for selector in _selectors(promql_parser.parse(expr)) if selector.name in NAMES}


def _selectors(tree: Any) -> Iterator[Any]:
    if isinstance(tree, promql_parser.VectorSelector):
        yield tree
    for child in _children(tree):
        yield from _selectors(child)


def _children(tree: Any) -> Iterator[Any]:
    if isinstance(tree, promql_parser.MatrixSelector):
        yield tree.vector_selector
    elif isinstance(tree, promql_parser.Call):
        yield from tree.args
    elif isinstance(tree, promql_parser.BinaryExpr):
        yield from (tree.lhs, tree.rhs)
    elif isinstance(tree, promql_parser.AggregateExpr | promql_parser.ParenExpr | promql_parser.UnaryExpr | promql_parser.SubqueryExpr):
        yield tree.expr


def _labels_wrong(tree: Any) -> Iterator[str]:
    for selector in _selectors(tree):
        row = NAMES.get(selector.name)
        if row is None:
            yield f"{selector.name} is no series of the catalogue"
            continue
        known = {*row.labels, *TARGET_LABELS, *({BUCKET} if row.kind is Kind.HISTOGRAM else ())}
        yield from (f"{row.name} has no label {wanted.name}" for wanted in selector.matchers.matchers if wanted.name not in known)
    yield from _asked_for(tree)


def _asked_for(tree: Any) -> Iterator[str]:
    """Labels of `by`, `on` and `group_left` that what stands below does not have."""
    for child in _children(tree):
        yield from _asked_for(child)
    if isinstance(tree, promql_parser.AggregateExpr) and tree.modifier:
        yield from (f"by ({label}): not there" for label in tree.modifier.labels if label not in labels_of(tree.expr))
    if isinstance(tree, promql_parser.BinaryExpr) and tree.modifier and tree.modifier.matching:
        for side in (tree.lhs, tree.rhs):
            yield from (f"on ({label}): not there" for label in tree.modifier.matching.labels if label not in labels_of(side))
        yield from (f"group_left ({label}): not there" for label in _brought(tree) if label not in labels_of(tree.rhs))


def _brought(tree: Any) -> tuple[str, ...]:
    group = tree.modifier.group_labels if tree.modifier else None
    return tuple(group or ())


def labels_of(tree: Any) -> set[str]:
    """Labels that the answer may have."""
    if isinstance(tree, promql_parser.VectorSelector):
        row = NAMES.get(tree.name)
        return {*(row.labels if row else ()), *TARGET_LABELS, *({BUCKET} if row and row.kind is Kind.HISTOGRAM else ())}
    if isinstance(tree, promql_parser.AggregateExpr):
        below = labels_of(tree.expr)
        if str(tree.op) in {"topk", "bottomk"}:
            return below
        kept = set(tree.modifier.labels) if tree.modifier else set()
        return kept | ({tree.param.val} if str(tree.op) == "count_values" else set())
    found: set[str] = set().union(*(labels_of(child) for child in _children(tree)), set())
    if isinstance(tree, promql_parser.BinaryExpr) and str(tree.op) not in {"and", "or", "unless"}:
        many = tree.lhs if list(_selectors(tree.lhs)) else tree.rhs  # a number has no labels
        return labels_of(many) | set(_brought(tree))
    if isinstance(tree, promql_parser.Call) and tree.func.name == "label_replace":
        return found | {tree.args[1].val}
    return found


def _growth_wrong(tree: Any, under: str | None) -> Iterator[str]:
    """Counters whose value is shown, gauges of which a rate is."""
    if isinstance(tree, promql_parser.VectorSelector):
        row = NAMES.get(tree.name)
        grows = row is not None and row.kind in {Kind.COUNTER, Kind.HISTOGRAM}
        if row is not None and grows != (under in GROWTH):
            yield f"{tree.name}, a {row.kind.value}, under {under or 'nothing'}"
    inner = tree.func.name if isinstance(tree, promql_parser.Call) else under
    for child in _children(tree):
        yield from _growth_wrong(child, inner)


def units_of_rows(expr: str) -> set[Unit]:
    """Units of the rows that a query asks for."""
    return {CATALOGUE_BY_NAME[name].unit for name in rows_of(expr)}


CATALOGUE_BY_NAME = {row.name: row for row in CATALOGUE.values()}
