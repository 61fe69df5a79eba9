"""The table of rules, in the order in which they are asked. One line is all that a new rule needs here."""

from exporter.signals import (
    congestion,
    congestion_class,
    downgrade,
    error_budget,
    flaps,
    link_layer,
    load,
    nvlink_quality,
    pause,
    pcie_downgrade,
    pcie_errors,
    presence,
    retries,
    roce,
    xids,
)
from exporter.signals.rule import Rule

RULES: tuple[Rule, ...] = (
    *presence.RULES,
    link_layer.RULE,
    load.RULE,
    congestion.RULE,
    congestion_class.RULE,
    *downgrade.RULES,
    pcie_downgrade.RULE,
    pcie_errors.RULE,
    flaps.RULE,
    error_budget.RULE,
    *nvlink_quality.RULES,
    *retries.RULES,
    *pause.RULES,
    *roce.RULES,
    xids.RULE,
)


def without(name: str) -> tuple[Rule, ...]:
    """All rules but those of that name. Raises ValueError for a name that no rule has."""
    if name not in {rule.name for rule in RULES}:
        raise ValueError(f"no rule is called {name!r}; known: {', '.join(sorted({rule.name for rule in RULES}))}")
    return tuple(rule for rule in RULES if rule.name != name)
