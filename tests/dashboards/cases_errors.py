"""What the alerts about errors must do. Counters that exist from the start at 0, and such as appear with their first event."""

from exporter.catalog.infiniband import SATURATED
from exporter.catalog.internals import SOURCE_UP
from exporter.catalog.signals import CONDITION
from exporter.catalog.xid import OFF_BUS, SXID, XID
from tests.dashboards.alert_case import Case, Series, fleet, series, steps
from tests.dashboards.cases_links import IB, NV, PCI

LOST = {**fleet(), "device": "gpu5"}
APPEARS = steps((None, 20), (1, 60))
HOLDS = steps((None, 10), (1, 40), (None, 60))


def _reason(reason: str, values: str, link: dict[str, str]) -> Series:
    return series(CONDITION, values, **link, reason=reason)


def _log(values: str = "1x200") -> Series:
    return series(SOURCE_UP, values, source="kernel_log")


def _xid(number: str, values: str, port: str = "") -> Series:
    return series(XID, values, device="gpu5", port=port, xid=number)


CASES = (
    Case("FabricErrorBudget", "the budget of an hour goes in minutes", (_reason("error_budget", HOLDS, IB),),
         fires=("11m", "50m", "60m"), silent=("9m", "70m")),
    Case("FabricErrorBudget", "errors that a fast link may have raise no condition (NVIDIA/DCGM#184)", (_reason("congested", "1x60", IB),),
         silent=("30m",)),
    Case("FabricErrorTrend", "a cable ages", (_reason("error_trend", steps((None, 10), (1, 120), (None, 120)), IB),),
         fires=("75m", "129m", "180m"), silent=("60m", "200m")),
    Case("FabricErrorTrend", "a pinned counter raises no trend (leptonai/gpud#943)",
         (series(SATURATED, "1x120", device="mlx5_3", port="1", field="symbol_error"),), silent=("60m", "120m")),
    Case("FabricNVLinkErrors", "a hundred errors a second", (_reason("nvlink_error_storm", HOLDS, NV),),
         fires=("11m", "50m", "75m"), silent=("9m", "90m")),
    Case("FabricNVLinkErrors", "three recoveries within an hour", (_reason("recoveries", HOLDS, NV),), fires=("11m",)),
    Case("FabricNVLinkErrors", "single replays are normal on PAM4", (_reason("nvlink_errors", "1x60", NV),), silent=("30m",)),
    Case("FabricPCIeErrors", "an error that PCIe cannot correct: the first counts", (_reason("pcie_uncorrectable_errors", HOLDS, PCI),),
         fires=("11m", "50m", "75m"), silent=("9m", "90m")),
    Case("FabricPCIeErrors", "corrected errors are a sign, not a fault", (_reason("pcie_errors", "1x60", PCI),), silent=("30m",)),

    Case("FabricCounterSaturated", "two ports are pinned until somebody clears them (guilbaults/infiniband-exporter#12)",
         (series(SATURATED, steps((None, 5), (1, 40), (None, 30)), device="mlx5_0", port="1", field="link_downed"),
          series(SATURATED, steps((None, 5), (1, 40), (None, 30)), device="mlx5_1", port="1", field="link_downed")),
         fires=("16m", "40m"), silent=("12m", "60m"), expect={**fleet(), "field": "link_downed"}),
    Case("FabricCounterSaturated", "pinned, and cleared within minutes",
         (series(SATURATED, steps((None, 5), (1, 8), (None, 30)), device="mlx5_0", port="1", field="link_downed"),), silent=("12m", "30m")),

    Case("FabricNVLinkXid", "a counter that was there at 0: the first Xid fires", (_xid("145", "0x20 1x60"), _log()),
         fires=("21m", "30m", "55m"), silent=("19m", "65m")),
    Case("FabricNVLinkXid", "an application's forbidden access is no fault of a link", (_xid("137", "0x20 1x60"), _log()), silent=("25m",)),
    Case("FabricNVLinkXid", "Xids since boot that a new Prometheus sees first are history (nebius/soperator#481)",
         (_xid("74", "3x60", "7"), _log()), silent=("0m", "1m", "5m", "9m", "30m")),
    Case("FabricGPUFallenOffBus", "a counter that comes into being at 1: the first event fires", (_xid("79", APPEARS), _log()),
         fires=("20m", "28m", "55m"), silent=("19m", "65m"), expect=LOST),
    Case("FabricGPUFallenOffBus", "the kernel log says it in words, and as Xid 79 too: one alert",
         (series(OFF_BUS, APPEARS, device="gpu5"), _xid("79", APPEARS), _log()), fires=("21m",), silent=("19m",), expect=LOST),
    Case("FabricGPUFallenOffBus", "only in words", (series(OFF_BUS, APPEARS, device="gpu5"), _log()), fires=("21m",), expect=LOST),
    Case("FabricGPUFallenOffBus", "the same again on a counter that is there", (_xid("79", "1x60 2x60"), _log()), fires=("62m",),
         silent=("50m",), expect=LOST),
    Case("FabricGPUFallenOffBus", "the kernel log could not be read for half an hour: what it held is history",
         (_xid("79", steps((1, 20), (None, 32), (1, 40))), _log(steps((1, 20), (0, 30), (1, 40)))), silent=("53m", "58m", "61m", "70m")),
    Case("FabricNVSwitchSXid", "a switch reports a link: the first SXid fires",
         (series(SXID, "0x20 1x60", device="0000:07:00.0", port="33", sxid="20034"), _log()), fires=("21m", "55m"), silent=("19m", "65m")),
    Case("FabricNVSwitchSXid", "it appears with its first event",
         (series(SXID, steps((None, 20), (1, 60)), device="0000:07:00.0", port="33", sxid="22012"), _log()), fires=("21m",)),
    Case("FabricNVSwitchSXid", "SXid 22013 comes by the hundred and is harmless",
         (series(SXID, "0x20 100x60", device="0000:07:00.0", port="33", sxid="22013"), _log()), silent=("25m",)),
    Case("FabricNVSwitchSXid", "a new Prometheus sees old SXids",
         (series(SXID, "5x60", device="0000:07:00.0", port="33", sxid="20034"), _log()), silent=("1m", "8m")),
)  # fmt: skip
