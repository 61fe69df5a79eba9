"""Grafana's variables within a query replaced by values, as Grafana does it before it asks. Pure."""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$(\w+)")


def filled(expr: str, values: Mapping[str, str]) -> str:
    """The query with each `$name` replaced. `$1` of a label_replace is no variable and stays. Raises KeyError for a name without value."""
    return _VARIABLE.sub(lambda name: name[0] if name[1].isdigit() else values[name[1]], expr)


EVERYTHING: Mapping[str, str] = {"pool": ".*", "node": ".*", "device": ".*", "port": ".*", "fabric": ".*", "job_id": ".*",
                                 "__rate_interval": "5m", "__range": "6h"}  # fmt: skip
"""Values that make every query one that Prometheus parses; `All` where a variable takes several."""
