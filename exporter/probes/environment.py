"""The environment of a probe's workers: built from nothing, so that no variable of a job's or the daemon's changes what NCCL does. Pure."""

import os
from collections.abc import Mapping, Sequence

KEPT = frozenset({"PATH", "LD_LIBRARY_PATH", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_TOPO_FILE", "SYSTEMROOT"})
"""What the site may have set for every process of the node."""
KEPT_PREFIXES = ("NCCL_IB_", "NCCL_NET", "FI_")
"""Which network, and how; a class for low priority (NCCL_IB_SL, NCCL_IB_TC) lets the probe yield, and it then measures that class."""


def worker_environment(ours: Mapping[str, str], folder: str, modules: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Of our own environment what may stay, then what a probe needs, then `given`, which the configuration (or a test) adds. `folder`
    takes NCCL's log, one file a process; `modules` is where Python finds us.

    NCCL_DEBUG_FILE: the default is standard output. NCCL_CONF_FILE: else ~/.nccl.conf is read. NCCL_RAS_ENABLE: else the probe may answer
    at the port where a job's RAS client asks. CUDA counts GPUs in the order of PCI addresses, as NVML does."""
    kept = {name: value for name, value in ours.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    needed = {
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(filter(None, modules)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "NCCL_RAS_ENABLE": "0",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH,TUNING",
        "NCCL_DEBUG_FILE": f"{folder}/nccl.%p",
        "NCCL_CONF_FILE": f"{folder}/nccl.conf",
        "NCCL_PROFILER_PLUGIN": "none",
    }
    return {**kept, **needed, **given}
