"""What the alerts about the state of links must do: faults, and the public false alarms that must stay silent (signals-postmortem §2)."""

from exporter.catalog.gpu import LINKS_ACTIVE, LINKS_EXPECTED
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.signals import CONDITION, FLAPS, HEALTH, NODE_GRACE, UNKNOWN
from tests.dashboards.alert_case import Case, Series, fleet, series, steps

IB = {"fabric": "infiniband", "device": "mlx5_3", "port": "1"}
NV = {"fabric": "nvlink", "device": "gpu5", "port": "7"}
PCI = {"fabric": "pcie", "device": "gpu5", "port": "upstream"}


def _health(values: str, link: dict[str, str] = IB, at: dict[str, str] | None = None) -> Series:
    return series(HEALTH, values, at, **link)


def _reason(reason: str, values: str, link: dict[str, str] = IB) -> Series:
    return series(CONDITION, values, **link, reason=reason)


def _build(values: str, at: dict[str, str] | None = None) -> Series:
    return series(BUILD_INFO, values, at, version="1", revision="", pythonversion="3.11")


THE_LINK = {**fleet(), **IB}
OTHER_ADDRESS = fleet(address="10.0.0.9")
UNNAMED, UNNAMED_TOO = fleet(named=False), fleet("n2", named=False)
BROKEN = steps((0, 10), (3, 30), (0, 40))
SICK = steps((0, 10), (2, 40), (0, 40))
HOLDS = steps((None, 10), (1, 40), (None, 40))

CASES = (
    Case("FabricLinkFailed", "a link fails, and recovers only ten minutes after it came back", (_health(BROKEN),),
         fires=("12m", "39m", "45m"), silent=("9m", "10m", "55m")),
    Case("FabricLinkFailed", "the exporter is killed: silence resolves nothing (microsoft/pai#4942)",
         (_health(steps((0, 10), (3, 20), (None, 200))), _build(steps((1, 30), (None, 200)))), fires=("25m", "90m", "200m")),
    Case("FabricLinkFailed", "a pod made anew under another address says that the link is well: its old address keeps nothing",
         (_health(steps((0, 10), (3, 20), (None, 200))), _build(steps((1, 30), (None, 200))),
          _health(steps((None, 31), (0, 200)), at=OTHER_ADDRESS), _build(steps((None, 31), (1, 200)), OTHER_ADDRESS)),
         fires=("25m",), silent=("60m",)),
    Case("FabricLinkFailed", "another node answers: it does not speak for the silent one where the site sets no node label",
         (_health(steps((3, 20), (None, 200)), at=UNNAMED), _build(steps((1, 20), (None, 200)), UNNAMED),
          _health("0x230", at=UNNAMED_TOO), _build("1x230", UNNAMED_TOO)), fires=("15m", "120m"), nodes=()),
    Case("FabricLinkFailed", "maintenance on one node mutes no other where the site sets no node label",
         (_health("3x60", at=UNNAMED), Series("fabric_node_maintenance", UNNAMED_TOO, "1x60")), fires=("5m",), nodes=()),
    Case("FabricLinkFailed", "maintenance goes on while the node is off",
         (_health(steps((3, 20), (None, 200))), _build(steps((1, 20), (None, 200))),
          Series("fabric_node_maintenance", fleet(), steps((1, 20), (None, 200)))), silent=("15m", "60m", "200m")),
    Case("FabricLinkFailed", "a node that falls silent while it starts (NVIDIA/NVSentinel#1701)",
         (_health(steps((3, 20), (None, 60))), _build(steps((1, 20), (None, 60))),
          Series("fabric_node_grace_active", fleet(), steps((1, 20), (None, 60)))), silent=("15m", "40m", "60m")),
    Case("FabricLinkFailed", "a port that was never provisioned is unknown, not failed (NVIDIA/NVSentinel#1361, #1462)",
         (series(UNKNOWN, "1x60", **IB, reason="no_expectation"),), silent=("30m", "60m")),
    Case("FabricLinkFailed", "an exporter that comes back to a healthy link ends what was last known",
         (_health(steps((3, 20), (None, 10), (0, 60))), _build(steps((1, 20), (None, 10), (1, 60)))), fires=("25m",), silent=("50m",)),

    Case("FabricLinkDegraded", "two independent signs: no alert of their own", (_health(SICK),),
         fires=("16m", "49m", "55m"), silent=("13m", "65m")),
    Case("FabricLinkDegraded", "a failed link has its own alert", (_health("3x60"),), silent=("20m", "50m")),
    Case("FabricLinkDegraded", "a failed link whose exporter was killed still has its own alert",
         (_health(steps((3, 20), (None, 100))), _build(steps((1, 20), (None, 100)))), silent=("60m", "100m")),
    Case("FabricLinkDegraded", "a downgrade has its own alert", (_health("2x60"), _reason("speed_downgrade", "1x60")), silent=("20m",
         "50m")),
    Case("FabricLinkDegraded", "a suspect link is no work of today", (_health("1x60"),), silent=("20m", "50m")),

    Case("FabricNVLinkMissing", "eighteen expected, seventeen up",
         (series(LINKS_EXPECTED, "18x90", device="gpu5"), series(LINKS_ACTIVE, steps((18, 10), (17, 30), (18, 60)), device="gpu5")),
         fires=("14m", "39m", "45m"), silent=("9m", "12m", "55m")),
    Case("FabricNVLinkMissing", "cards without a bridge: nobody expects links (NVIDIA/NVSentinel#1481)",
         (series(LINKS_ACTIVE, "0x60", device="gpu0"),), silent=("30m", "60m")),
    Case("FabricNVLinkMissing", "planned reboot: links come up one by one within grace (NVIDIA/NVSentinel#1701)",
         (series(LINKS_EXPECTED, "18x60", device="gpu5"), series(LINKS_ACTIVE, steps((0, 8), (18, 50)), device="gpu5"),
          series(NODE_GRACE, steps((1, 10), (0, 50)))), silent=("5m", "9m", "30m")),

    Case("FabricLinkDowngraded", "a port trains at half its speed", (_reason("speed_downgrade", HOLDS),),
         fires=("13m", "49m", "55m"), silent=("9m", "11m", "65m")),
    Case("FabricLinkDowngraded", "Ethernet where InfiniBand should be", (_reason("misconfigured_link_layer", HOLDS),), fires=("13m",)),
    Case("FabricLinkDowngraded", "a port that is down prints a default rate: no condition, no capacity (linux-rdma/rdma-core#847)",
         (series(UNKNOWN, "1x60", **IB, reason="no_expectation"),), silent=("30m",)),
    Case("FabricLinkDowngraded", "PCIe has an alert of its own", (_reason("speed_downgrade", "1x60", PCI),), silent=("30m",)),

    Case("FabricPCIeDowngraded", "a riser trains at x8", (_reason("width_downgrade", HOLDS, PCI),),
         fires=("16m", "49m", "55m"), silent=("9m", "13m", "65m")),
    Case("FabricPCIeDowngraded", "a GPU that goes to sleep again and again is at 2.5 GT/s for a minute (local-inference-lab/rtx6kpro#88)",
         (_reason("speed_downgrade", " ".join(steps((1, 2), (None, 3)) for _ in range(10)), PCI),), silent=("20m", "40m")),

    Case("FabricLinkFlapping", "down and up three times within an hour", (_reason("flapping", HOLDS),),
         fires=("11m", "50m", "75m"), silent=("9m", "90m"), expect=THE_LINK),
    Case("FabricLinkFlapping", "five times within a day as well: still one alert", (_reason("flapping", HOLDS), _reason("flaps", HOLDS)),
         fires=("11m",), expect=THE_LINK),
    Case("FabricLinkFlapping", "the first sight of a counter at 255 is history, and one pull of a cable no flapping (nebius/soperator#481)",
         (series(FLAPS, "255x20 256x60", **IB),), silent=("5m", "25m", "60m")),
)  # fmt: skip
