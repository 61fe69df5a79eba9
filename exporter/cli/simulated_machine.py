"""The parts of a simulated node as the sources take them. Imported only where one is simulated: a daemon on hardware never loads them."""

from exporter.cli.compose import Machine
from exporter.cli.gpus import Gpus
from exporter.runtime.health import Boot
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.simulator.memory_processes import MemoryProcesses
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.kmsg import KernelLog
from exporter.sources.sysfs import Files

BOOT_ID = "simulated"
"""The one start of a simulated node: verdicts outlive the daemon that shows it."""


def simulated_machine(files: Files, procfs: Files, gpus: Gpus, root: str, kernel_log: KernelLog | None = None) -> Machine:
    """A simulated node, with nobody's processes on it. Without a log nothing happens in it."""
    log = kernel_log if kernel_log is not None else MemoryKernelLog()
    return Machine(files, TreeEthtool(files), log, MemoryProcesses(), gpus, root, procfs, Boot(BOOT_ID))
