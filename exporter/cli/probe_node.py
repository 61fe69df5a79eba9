"""How this node is asked before a probe: its GPUs through NVML, its scheduler, who works on it, what its daemon says is broken.

Knows where each answer comes from; what an answer means probes/gates.py knows.
"""

import argparse
import os
import socket
from collections.abc import Callable, Sequence

from exporter.cli.check import asked
from exporter.cli.control_client import NotAskedError, socket_path
from exporter.cli.gpus import REAL
from exporter.cli.health import maintenance_of
from exporter.cli.memory import looked_up
from exporter.cli.scheduler_origins import slurm_name
from exporter.config.probe_options import KUBERNETES, NOBODY, SLURM
from exporter.config.schema import Config
from exporter.model.fault import Reason
from exporter.model.health import Level
from exporter.probes.gates import Allocation
from exporter.runtime import probe_allocation
from exporter.runtime.clock import Clock
from exporter.runtime.occupancy import Occupancy
from exporter.runtime.origin import OriginError
from exporter.runtime.probe_once import Node
from exporter.sources.device_place import short_text
from exporter.sources.hca_layout import CLASS
from exporter.sources.kubelet_jobs import PodListError, is_nvidia
from exporter.sources.sysfs import RealFiles

KUBELET = "/var/lib/kubelet/pod-resources/kubelet.sock"
"""Where the kubelet has its list unless jobs.pod_resources says otherwise."""
ACTIVE = "4:"
"""How sysfs begins the state of an InfiniBand or RoCE port that is ACTIVE."""


def occupancy_of(config: Config, clock: Clock) -> Occupancy:
    """The process that asks NVML, by the daemon's names for the GPUs."""
    return Occupancy(REAL, (config.sources.nvml.library,), looked_up(config).names, clock)


def node_of(args: argparse.Namespace, config: Config, occupancy: Occupancy, clock: Clock, *, is_inside: bool) -> Node:
    """This node. `is_inside`: the probe runs in an allocation of its own, so nobody need be asked whose the node is."""
    allocation = probe_allocation.inside if is_inside else _allocation_of(config, clock)
    maintenance = maintenance_of(config, lambda: ())

    def working() -> str:
        now = maintenance.at(clock.wall_s())
        return now.reason or "somebody works on the node" if now.is_active else ""

    return Node(
        occupancy.look, allocation, working, lambda: _unhealthy(args), lambda: active_ports(RealFiles(config.sources.sysfs_root, 4))
    )


def active_ports(files: RealFiles) -> int:
    """InfiniBand and RoCE ports that are ACTIVE; 0 where sysfs cannot be read."""
    try:
        ports = [f"{CLASS}/{hca}/ports/{port}" for hca in files.listdir(CLASS) for port in files.listdir(f"{CLASS}/{hca}/ports")]
    except OSError:
        return 0
    return sum(short_text(files, f"{port}/state").startswith(ACTIVE) for port in ports)


def _allocation_of(config: Config, clock: Clock) -> Callable[[], Allocation]:
    match config.probes.scheduler:
        case scheduler if scheduler == SLURM:
            return lambda: probe_allocation.of_slurm(config.maintenance.slurm.node or slurm_name(os.environ, socket.gethostname()), clock)
        case scheduler if scheduler == KUBERNETES:
            return lambda: probe_allocation.of_kubelet(lambda: _pods_with_gpus(config.jobs.pod_resources or KUBELET))
        case scheduler if scheduler == NOBODY:
            return probe_allocation.nobody
    return probe_allocation.unnamed


def _pods_with_gpus(path: str) -> Sequence[str]:
    try:
        from exporter.sources.pod_resources import Kubelet  # noqa: PLC0415  # an extra that only sites with Kubernetes have
    except ImportError:
        raise OriginError(Reason.ABSENT, "needs pip install 'fabric-exporter[kubernetes]'") from None
    try:
        return [f"{one.namespace}/{one.pod}" for one in Kubelet(path).allocations() if is_nvidia(one.resource)]
    except PodListError as error:
        raise OriginError(error.reason, error.detail) from None


def _unhealthy(args: argparse.Namespace) -> Sequence[str]:
    """NVLinks and GPUs' links that the daemon calls failed; nothing where no daemon answers."""
    try:
        health = asked(socket_path(args))
    except NotAskedError:
        return ()
    return [f"{verdict.link} has failed" for verdict in health.links if verdict.level is Level.FAILED]
