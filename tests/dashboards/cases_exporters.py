"""What the alerts about the exporter itself must do."""

from exporter.catalog.internals import (
    BUILD_INFO,
    GPU_PROCESS_STUCK,
    GPUS_RELEASED,
    RECORDER_DROPPED,
    RELOAD_OK,
    SERIES_DROPPED,
    SOURCE_LAST_SUCCESS,
    SOURCE_UP,
    STATE_WRITABLE,
)
from exporter.catalog.signals import NODE_GRACE, NODE_MAINTENANCE
from tests.dashboards.alert_case import Case, Series, fleet, series, steps, up

TWENTY = tuple(f"n{number}" for number in range(1, 21))
ENDS = steps((1, 20), (None, 400))
FAILS = steps((1, 10), (0, 40), (1, 60))
SET = steps((0, 10), (1, 40), (0, 60))


def _ups(down: int, of: tuple[str, ...], values: str = FAILS) -> tuple[Series, ...]:
    return tuple(up(values if number < down else "1x110", fleet(node)) for number, node in enumerate(of))


def _build(values: str, at: dict[str, str] | None = None) -> Series:
    return series(BUILD_INFO, values, at, version="1", revision="", pythonversion="3.11")


def _passes(values: str) -> Series:
    return series(SOURCE_LAST_SUCCESS, values, source="nvlink")


CASES = (
    Case("FabricExporterDown", "the exporter crashes: silence is an alert (microsoft/pai#4942)",
         (up(FAILS),), fires=("26m", "49m", "55m"), silent=("9m", "23m", "65m")),
    Case("FabricExporterDown", "a reboot of ten minutes (NVIDIA/NVSentinel#1701)", (up(steps((1, 10), (0, 11), (1, 60))),), silent=("20m",
         "40m")),
    Case("FabricExporterDown", "another job's target is not ours", (up("0x60", {"job": "node-exporter", "instance": "n1:9100"}),),
         silent=("30m", "60m")),
    Case("FabricExporterDown", "a node that is off for maintenance",
         (up(steps((1, 10), (0, 200))), series(NODE_MAINTENANCE, steps((1, 10), (None, 200))), _build(steps((1, 10), (None, 200)))),
         silent=("60m", "200m")),

    Case("FabricExportersMissing", "a rollout fails: two of twenty do not answer", _ups(2, TWENTY),
         fires=("21m", "49m", "55m"), silent=("9m", "18m", "65m"), expect={"pool": "a"}, nodes=TWENTY),
    Case("FabricExportersMissing", "one node of twenty-one is a ticket", _ups(1, (*TWENTY, "n21")), silent=("30m",), nodes=(*TWENTY,
         "n21")),
    Case("FabricExportersMissing", "one node of four", _ups(1, TWENTY[:4]), silent=("30m", "45m"), nodes=TWENTY[:4]),

    Case("FabricNodeVanished", "service discovery forgets a node (guilbaults/infiniband-exporter#48)", (_build(ENDS), up(ENDS)),
         fires=("60m", "5h"), silent=("19m", "40m", "7h"), expect={"pool": "a", "node": "n1"}),
    Case("FabricNodeVanished", "a pod made anew under another address",
         (_build(ENDS), up(ENDS), up(steps((None, 21), (1, 400)), fleet(address="10.0.0.9"))), silent=("60m", "5h")),

    Case("FabricSourceDown", "the driver hangs", (series(SOURCE_UP, FAILS, source="nvlink"),),
         fires=("21m", "49m", "55m"), silent=("9m", "18m", "65m")),
    Case("FabricSourceDown", "drivers are installed on a new node (NVIDIA/NVSentinel#1423, #1642)",
         (series(SOURCE_UP, steps((0, 30), (1, 60)), source="nvlink"), series(NODE_GRACE, steps((1, 35), (0, 60)))), silent=("15m", "32m",
          "60m")),
    Case("FabricSourceDown", "a driver reload takes a minute", (series(SOURCE_UP, "1x10 0x3 1x60", source="nvlink"),), silent=("14m",
         "30m")),

    Case("FabricSourceStale", "a thread is stuck: the time of its last pass stands still", (_passes("0+60x30 1800x60 1800+60x60"),),
         fires=("55m", "92m", "99m"), silent=("29m", "44m", "49m", "110m")),
    Case("FabricSourceStale", "the node's clock is an hour slow, and is set back", (_passes("0+60x60 0+60x60"),), silent=("30m", "64m",
         "90m")),
    Case("FabricSourceStale", "a source that just began and passes each ten minutes", (_passes("60x9 600x9 1200x9"),),
         silent=("6m", "8m", "12m", "25m")),

    Case("FabricSeriesDropped", "the series cap bites for the first time", (series(SERIES_DROPPED, "0x20 9x60", reason="limit"),),
         fires=("22m", "55m"), silent=("19m", "65m")),
    Case("FabricSeriesDropped", "it bit once, before anybody looked", (series(SERIES_DROPPED, "9x60", reason="limit"),), silent=("5m",
         "60m")),
    Case("FabricReloadFailed", "a mistake in the new file", (series(RELOAD_OK, FAILS),), fires=("16m", "49m", "53m"), silent=("13m",
         "58m")),
    Case("FabricReloadFailed", "mended at once", (series(RELOAD_OK, "1x10 0x2 1x60"),), silent=("14m", "30m")),
    Case("FabricStateNotWritable", "the disk is full", (series(STATE_WRITABLE, FAILS),), fires=("26m", "53m"), silent=("23m", "58m")),
    Case("FabricStateNotWritable", "full for a moment", (series(STATE_WRITABLE, "1x10 0x9 1x60"),), silent=("19m", "30m")),
    Case("FabricGPUProcessStuck", "the kernel holds a call", (series(GPU_PROCESS_STUCK, SET),), fires=("16m", "49m", "55m"), silent=("13m",
         "65m")),
    Case("FabricGPUProcessStuck", "a slow driver that answers after all", (series(GPU_PROCESS_STUCK, "0x10 1x2 0x60"),), silent=("14m",
         "30m")),
    Case("FabricGPUsReleased", "a reset script failed between release and resume", (series(GPUS_RELEASED, steps((0, 10), (1, 290), (0,
         60))),),
         fires=("255m", "302m"), silent=("240m", "308m")),
    Case("FabricGPUsReleased", "a GPU reset", (series(GPUS_RELEASED, "0x10 1x8 0x300"),), silent=("15m", "290m")),
    Case("FabricRecorderLosing", "the disk is too slow", (series(RECORDER_DROPPED, "0x20 0+5x60 300x90"),),
         fires=("40m", "90m", "108m"), silent=("30m", "120m")),
    Case("FabricRecorderLosing", "one tick was lost", (series(RECORDER_DROPPED, "0x20 1x90"),), silent=("25m", "34m", "60m")),
)  # fmt: skip
