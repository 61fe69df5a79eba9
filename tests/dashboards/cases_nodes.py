"""What the alerts about nodes and probes must do."""

from exporter.catalog.probes import BASELINE, LAST_SUCCESS, LEARNING, WRONG
from exporter.catalog.signals import NODE_GRACE, NODE_HEALTH, NODE_MAINTENANCE, UNKNOWN
from tests.dashboards.alert_case import Case, Series, fleet, series, steps
from tests.dashboards.cases_links import IB

TWENTY = tuple(f"n{number}" for number in range(1, 21))
SIXTY_ONE = tuple(f"n{number}" for number in range(1, 62))
FAILS = steps((0, 10), (3, 30), (0, 40))
LOWERS = steps((1, 10), (0.7, 60), (1, 60))
PROBE = {"kind": "node", "collective": "all_reduce", "size": "1073741824"}


def _healths(sick: int, of: tuple[str, ...], values: str = FAILS) -> tuple[Series, ...]:
    return tuple(series(NODE_HEALTH, values if number < sick else "0x100", fleet(node)) for number, node in enumerate(of))


def _unknown(reason: str) -> Series:
    return series(UNKNOWN, steps((None, 10), (1, 80), (None, 60)), **IB, reason=reason)


CASES = (
    Case("FabricManyNodesFailed", "a leaf switch dies: four of twenty nodes", _healths(4, TWENTY),
         fires=("13m", "39m", "45m"), silent=("9m", "11m", "55m"), expect={"pool": "a"}, nodes=TWENTY),
    Case("FabricManyNodesFailed", "one node of four is a quarter of a pool, and one node", _healths(1, TWENTY[:4]),
         silent=("20m", "35m"), nodes=TWENTY[:4]),
    Case("FabricManyNodesFailed", "three nodes of sixty-one are three cables", _healths(3, SIXTY_ONE), silent=("20m", "35m"),
         nodes=SIXTY_ONE),

    Case("FabricHealthUnknown", "nothing seen of a link for an hour", (_unknown("stale"),),
         fires=("75m", "89m", "95m"), silent=("60m", "105m")),
    Case("FabricHealthUnknown", "ports of which nobody knows whether they should be up (leptonai/gpud#295, NVIDIA/NVSentinel#1462)",
         (series(UNKNOWN, "1x200", **IB, reason="no_expectation"),), silent=("90m", "200m")),
    Case("FabricHealthUnknown", "pinned counters have an alert of their own", (series(UNKNOWN, "1x200", **IB, reason="saturated"),),
         silent=("90m", "200m")),

    Case("FabricGraceTooLong", "GPUs never join their NVLink domain", (series(NODE_GRACE, steps((0, 10), (1, 80), (0, 60))),),
         fires=("75m", "93m"), silent=("60m", "97m")),
    Case("FabricGraceTooLong", "a planned reboot (NVIDIA/NVSentinel#1701)", (series(NODE_GRACE, steps((1, 12), (0, 60))),),
         silent=("11m", "60m")),
    Case("FabricMaintenanceForgotten", "for three days", (series(NODE_MAINTENANCE, "1x4500"),), fires=("73h",), silent=("71h",)),
    Case("FabricMaintenanceForgotten", "a working day", (series(NODE_MAINTENANCE, steps((1, 600), (0, 60))),), silent=("9h", "11h")),

    Case("FabricProbeBandwidthLow", "an idle node reaches 70 % of its good runs",
         (series(BASELINE, LOWERS, **PROBE), series(LAST_SUCCESS, "0+60x200", kind="node")),
         fires=("32m", "69m", "88m"), silent=("28m", "95m")),
    Case("FabricProbeBandwidthLow", "a busy node is not probed: the old figure is none",
         (series(BASELINE, "0.7x200", **PROBE), series(LAST_SUCCESS, "0x200", kind="node")), silent=("60m", "120m")),
    Case("FabricProbeBandwidthLow", "too few good runs to compare with",
         (series(BASELINE, "0.7x200", **PROBE), series(LEARNING, "1x200", **PROBE), series(LAST_SUCCESS, "0+60x200", kind="node")),
         silent=("60m", "120m")),
    Case("FabricProbeBandwidthLow", "one slow run of four", (series(BASELINE, "1x10 0.7x14 1x60", **PROBE),
         series(LAST_SUCCESS, "0+60x200", kind="node")), silent=("20m", "24m", "40m")),
    Case("FabricProbeWrongData", "a number comes out wrong for the first time", (series(WRONG, "0x20 1x100", collective="all_reduce"),),
         fires=("21m", "80m"), silent=("19m", "100m")),
    Case("FabricProbeWrongData", "its counter appears with the first wrong number",
         (series(WRONG, steps((None, 20), (1, 100)), collective="all_reduce"),), fires=("21m",)),
    Case("FabricProbeWrongData", "a new Prometheus sees an old count", (series(WRONG, "2x60", collective="all_reduce"),),
         silent=("1m", "8m", "30m")),
)  # fmt: skip
