"""The catalogue: one row per metric, in the order of the page. A name is spelt here and nowhere else."""

from collections.abc import Iterable, Mapping

from exporter.catalog import ethernet, gpu, gpudirect, infiniband, internals, jobs, nvlink, pcie, probes, signals, xid
from exporter.model.metric import Metric


def catalogue(rows: Iterable[Metric]) -> Mapping[str, Metric]:
    """Rows by key, in order. Raises ValueError if two rows share a key, a public name or a help text."""
    by_key: dict[str, Metric] = {}
    seen: set[str] = set()
    for row in rows:
        for mark in (f"key {row.key}", f"name {row.name}", f"help {row.help}"):
            if mark in seen:
                raise ValueError(f"two catalogue rows share the {mark}")
            seen.add(mark)
        by_key[row.key] = row
    return by_key


CATALOGUE: Mapping[str, Metric] = catalogue(
    (
        *nvlink.ROWS,
        *gpu.ROWS,
        *xid.ROWS,
        *infiniband.ROWS,
        *ethernet.ROWS,
        *pcie.ROWS,
        *gpudirect.ROWS,
        *jobs.ROWS,
        *signals.ROWS,
        *probes.ROWS,
        *internals.ROWS,
    )
)
"""Every row of the product by key."""
