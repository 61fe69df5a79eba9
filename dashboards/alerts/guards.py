"""Guards that many alerts share: maintenance, a node that is starting, an exporter that was not known before."""

from dashboards.alerts.alert import Guard
from dashboards.alerts.expression import TARGET, last, select
from exporter.catalog.internals import SOURCE_UP
from exporter.catalog.signals import NODE_GRACE, NODE_MAINTENANCE

MAINTENANCE = Guard("maintenance", f"unless {TARGET} {select(NODE_MAINTENANCE)} == 1", "somebody works on the node and said so")
GRACE = Guard("grace", f"unless {TARGET} {select(NODE_GRACE)} == 1",
    "the node or its driver is starting: 214 of 288 nodes cried NVLink-down at planned reboots (NVIDIA/NVSentinel#1701)")  # fmt: skip
MUTED = (MAINTENANCE, GRACE)
"""On every alert about a link."""

MAINTENANCE_BEFORE = Guard("maintenance", f"unless {TARGET} {last(NODE_MAINTENANCE, '6h')} == 1",
    "somebody works on the node and said so before it fell silent")  # fmt: skip
GRACE_BEFORE = Guard("grace", f"unless {TARGET} {last(NODE_GRACE, '1h')} == 1",
    "the node was starting when it was last seen (NVIDIA/NVSentinel#1701)")  # fmt: skip
MUTED_BEFORE = (MAINTENANCE_BEFORE, GRACE_BEFORE)
"""The same for alerts that outlive the exporter, whose series of maintenance ends with it."""


def known(source: str) -> Guard:
    """In the place `new` of an expression: this source answered before the window in which the event must lie, and a little longer, since
    its counters may come back a scrape after it."""
    return Guard("known", f"and {TARGET} {select(SOURCE_UP, source=source)} offset 15m == 1",
        "what a new exporter or a new Prometheus sees first is history, no event (nebius/soperator#481)", "new")  # fmt: skip
