"""Nodes of a cluster on disk, as a pod sees them: a sysfs that a test edits, and with GPUs the driver's library.

The library is the C stand-in of tests/nvml_library, which the unmodified pynvml loads; that the NVIDIA runtime would put it into the
container is played by a folder of the node.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import profile_named
from tests.helm.chart import Release, release
from tests.helm.kubelet import Node, free_ports
from tests.helm.volumes import Files
from tests.nvml_library import FakeDriver, profile
from tests.nvml_library.scenario import Value

SMALL = "gb200-tray"
"""Four HCAs and few files."""
PROFILE, BOARD = "hgx-h100", "h100-sxm"
"""Of nodes with a driver."""
DRIVER = "/opt/driver"
"""The driver's folder, on the node and in the container."""
BEAT_S = 1.0
QUICK: Mapping[str, Any] = {
    "signals": {"grace": "1s"},
    "sources": {
        "infiniband": {"fast_interval": "1s", "normal_interval": "1s"},
        "pcie": {"normal_interval": "1s"},
        "ethernet": {"normal_interval": "10s"},
        "nvlink": {"fast_interval": "1s", "normal_interval": "1s"},
    },
}
"""`config` of a chart whose pod need not be waited for."""


class SimulatedNode:
    """A node without a driver; its root is below `folder`. `node` is it as the kubelet has it, `values` what its pods need of the chart."""

    def __init__(self, folder: Path, name: str = "gpu-node-1", secrets: Mapping[str, Files] | None = None, of: str = SMALL) -> None:
        self.node = Node(name, folder / name, secrets or {})
        self.disk = DiskNode(profile_named(of), len(name), self.node.root / "sys")
        self.values: dict[str, Any] = {}

    def rendered(self, *, is_upgrade: bool = False, **values: Any) -> Release:
        """The chart with these values, quick, and on ports that this machine has free."""
        port, health_port = free_ports(2)
        own = {"port": port, "healthPort": health_port, "listenHost": "$(POD_IP)", "config": QUICK, **self.values}
        return release({**own, **values}, is_upgrade=is_upgrade)

    def write(self, device: str, **texts: str) -> None:
        """Files of the first port of an HCA, each in place."""
        port = (self.node.root / "sys/class/infiniband" / device).resolve() / "ports/1"
        for name, text in texts.items():
            (port / name).write_text(f"{text}\n", encoding="ascii")


class GpuNode(SimulatedNode):
    """One with eight H100 GPUs and their driver, which its pods see by a folder."""

    def __init__(self, folder: Path, name: str = "gpu-node-1", secrets: Mapping[str, Files] | None = None) -> None:
        super().__init__(folder, name, secrets, PROFILE)
        place = self.node.root / DRIVER.lstrip("/")
        self.driver = FakeDriver(place).write({**profile(BOARD), **_addresses()})
        shutil.copy(self.driver.library, place)
        inside = {key: text.replace(str(self.node.root), "") for key, text in self.driver.environment().items() if key != "LD_LIBRARY_PATH"}
        env = {"FABRIC_SOURCES_NVML_LIBRARY": f"{DRIVER}/{self.driver.library.name}", **inside}
        self.values = {
            "extraEnv": [{"name": key, "value": text} for key, text in env.items()],
            "extraHostVolumes": [{"name": "driver", "hostPath": DRIVER, "mountPath": DRIVER, "type": "Directory"}],
        }

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Let counters rise once a second until the end."""
        stop = threading.Event()

        def move() -> None:
            beat = 0
            while not stop.wait(BEAT_S):
                beat += 1
                self.disk.advance(beat * BEAT_S)
                self.driver.clock.advance(BEAT_S)

        thread = threading.Thread(target=move, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _addresses() -> dict[str, Value]:
    """The board's GPUs and switches at the places where the node's sysfs has them."""
    machine = profile_named(PROFILE)
    there = dict(zip(sorted({str(value) for key, value in profile(BOARD).items() if key.endswith("remote_pci")}),
                     (f"0000{switch.pci}".upper() for switch in machine.switches), strict=True))  # fmt: skip
    moved = {key: there[str(value)] for key, value in profile(BOARD).items() if key.endswith("remote_pci")}
    return {**{f"g{index}.pci": f"0000{gpu.pci}".upper() for index, gpu in enumerate(machine.gpus)}, **moved}
