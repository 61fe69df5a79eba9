"""What the alerts about traffic must do: load that is held back fires, a ratio of nothing does not."""

from exporter.catalog.gpudirect import AVAILABLE, EXPECTED
from exporter.catalog.internals import SOURCE_UP
from exporter.catalog.signals import (
    CONDITION,
    CONGESTION,
    PAUSED,
    RAIL_BURST,
    RETRANSMISSIONS,
    RETRIES_EXCEEDED,
    SIBLING,
    UTILIZATION,
)
from tests.dashboards.alert_case import Case, Series, fleet, series, steps
from tests.dashboards.cases_links import IB, NV

ROCE = {"fabric": "roce", "device": "mlx5_0", "port": "1"}
SLOWS = steps((1, 10), (0.5, 40), (1, 60))


def _stall(values: str) -> Series:
    return series(CONGESTION, values, **IB, tick_source="documented")


def _load(values: str) -> Series:
    return series(UTILIZATION, values, **IB, direction="transmit")


def _pause(direction: str, values: str) -> Series:
    return series(PAUSED, values, **ROCE, direction=direction, priority="3")


def _known(values: str = "1x200") -> Series:
    return series(SOURCE_UP, values, source="infiniband")


def _reason(reason: str, link: dict[str, str]) -> Series:
    return series(CONDITION, "1x120", **link, reason=reason)


CASES = (
    Case("FabricLinkCongested", "held back a fifth of the time under load", (_stall(steps((0, 40), (0.2, 60), (0, 60))), _load("0.8x160")),
         fires=("60m", "100m", "108m"), silent=("39m", "130m")),
    Case("FabricLinkCongested", "a quiet port may show any ratio", (_stall("0.5x120"), _load("0.02x120")), silent=("60m", "120m")),
    Case("FabricLinkCongested", "a burst of five minutes", (_stall(steps((0, 60), (0.1, 6), (0, 60))), _load("0.8x160")),
         silent=("64m", "66m", "70m")),
    Case("FabricLinkCongested", "a pinned counter: no ratio, no alert (leptonai/gpud#943)", (_load("0.8x160"),), silent=("60m",)),

    Case("FabricLinkPaused", "the network pauses us for a fifth of the time (NVIDIA/daqiri#250)",
         (_pause("receive", steps((0, 10), (0.2, 50), (0, 60))),), fires=("20m", "59m", "70m"), silent=("9m", "14m", "80m")),
    Case("FabricLinkPaused", "a moment's back-pressure is what pause is for", (_pause("receive", "0x10 0.2x1 0x60"),), silent=("14m",
         "20m")),
    Case("FabricHostPausesNetwork", "a slow host pauses the network", (_pause("transmit", steps((0, 10), (0.2, 50), (0, 60))),),
         fires=("20m", "59m", "70m"), silent=("9m", "14m", "80m")),
    Case("FabricHostPausesNetwork", "being paused is not pausing", (_pause("receive", "0.5x60"),), silent=("30m",)),
    Case("FabricPauseStorm", "the NIC's storm guard acts", (_reason("pause_storm", ROCE),), fires=("1m", "119m", "145m"), silent=("160m",)),
    Case("FabricPauseStorm", "being paused is no storm", (_reason("paused", ROCE),), silent=("30m",)),

    Case("FabricRetransmissions", "packets are lost all the time", (series(RETRANSMISSIONS, "0+0x30 0+6000x60 360000x60", **ROCE),),
         fires=("50m", "90m", "100m"), silent=("29m", "32m", "110m")),
    Case("FabricRetransmissions", "a minute's burst at a job's start", (series(RETRANSMISSIONS, "0x60 3200x60", **ROCE),),
         silent=("62m", "64m", "66m", "80m")),
    Case("FabricRetransmissions", "a slow trickle", (series(RETRANSMISSIONS, "0+120x120", **ROCE),), silent=("60m", "119m")),

    Case("FabricRetriesExceeded", "a counter that was there at 0: the first connection that breaks",
         (series(RETRIES_EXCEEDED, "0x20 1x60", **IB), _known()), fires=("21m", "30m", "38m"), silent=("19m", "45m")),
    Case("FabricRetriesExceeded", "a port that comes into being with its first event",
         (series(RETRIES_EXCEEDED, steps((None, 20), (1, 60)), **IB), _known()), fires=("21m",), silent=("19m", "45m")),
    Case("FabricRetriesExceeded", "receivers that are not ready break nothing, and a restart counts from 0",
         (series(RETRIES_EXCEEDED, "7x20 0x60", **IB), _known()), silent=("15m", "22m", "40m")),
    Case("FabricRetriesExceeded", "a new Prometheus sees what was counted before",
         (series(RETRIES_EXCEEDED, "7x60", **IB), _known()), silent=("1m", "8m", "30m")),

    Case("FabricNVLinkImbalance", "one link of a loaded GPU carries half", (series(SIBLING, SLOWS, **NV), _reason("slow_sibling", NV)),
         fires=("22m", "49m", "60m"), silent=("9m", "15m", "75m")),
    Case("FabricNVLinkImbalance", "idle links differ, and chance does: the node's rule is silent", (series(SIBLING, "0.3x60", **NV),),
         silent=("30m", "60m")),
    Case("FabricRailSlow", "one rail takes twice as long for the same bytes",
         (series(RAIL_BURST, SLOWS, device="mlx5_3"), _reason("slow_rail", IB)), fires=("22m", "49m", "60m"), silent=("9m", "15m", "75m")),
    Case("FabricRailSlow", "a storage NIC and an idle node are not judged", (series(RAIL_BURST, "0.2x60", device="mlx5_8"),),
         silent=("30m", "60m")),
    Case("FabricGPUDirectOff", "nvidia-peermem is gone after a driver update",
         (series(AVAILABLE, steps((1, 10), (0, 40), (1, 40)), device="mlx5_3"), series(EXPECTED, "1x90", device="mlx5_3")),
         fires=("21m", "49m", "55m"), silent=("18m", "65m")),
    Case("FabricGPUDirectOff", "never was available: nothing is broken",
         (series(AVAILABLE, "0x60", device="mlx5_3"), series(EXPECTED, "0x60", device="mlx5_3")), silent=("30m", "60m")),
    Case("FabricGPUDirectOff", "a container hides the modules: unknown, not 0", (series(EXPECTED, "1x60", device="mlx5_3"),),
         silent=("30m",), expect=fleet()),
)  # fmt: skip
