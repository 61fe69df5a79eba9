"""Which schedulers are asked about maintenance, by configuration and environment. What is switched off is not even imported."""

import logging
import os
from collections.abc import Mapping

from exporter.config.maintenance_options import Kubernetes, Slurm
from exporter.config.schema import Config
from exporter.model.address import TcpAddress, parse_address
from exporter.runtime.clock import Clock
from exporter.runtime.maintenance_origins import MaintenanceOrigins
from exporter.runtime.origin import Origin

log = logging.getLogger("fabric_exporter.health")


def origins_of(config: Config, clock: Clock, environ: Mapping[str, str] = os.environ) -> MaintenanceOrigins:
    """Those that are switched on, not started yet. A simulated node is in no scheduler: then none."""
    host, wanted = os.uname().nodename, config.maintenance
    if config.simulate.profile is not None:
        if wanted.slurm.enabled or wanted.kubernetes.enabled:
            log.warning("maintenance.*: no scheduler is asked about a simulated node")
        return MaintenanceOrigins((), clock, host)
    origins: list[Origin] = []
    if wanted.slurm.enabled:
        origins.append(_slurm(wanted.slurm, clock, slurm_name(environ, host)))
    if wanted.kubernetes.enabled:
        origins.append(_kubernetes(wanted.kubernetes, clock, environ))
    return MaintenanceOrigins(origins, clock, host)


def slurm_name(environ: Mapping[str, str], host: str) -> str:
    """What Slurm calls this node, unless the configuration says."""
    return environ.get("SLURMD_NODENAME") or host.partition(".")[0]


def _slurm(options: Slurm, clock: Clock, node: str) -> Origin:
    from exporter.runtime.slurm_node import SlurmNode  # noqa: PLC0415  # nothing that a daemon without Slurm need hold

    return SlurmNode(options.node or node, options.interval_s, options.timeout_s, clock, options.command, options.own_reasons)


def _kubernetes(options: Kubernetes, clock: Clock, environ: Mapping[str, str]) -> Origin:
    from exporter.runtime.kubernetes_node import KubernetesNode, ServiceAccount  # noqa: PLC0415  # likewise

    account = ServiceAccount(options.token_file, options.ca_file)
    node = options.node or environ.get("NODE_NAME") or None
    return KubernetesNode(_server(options, environ), node, options.taints, account, options.interval_s, options.timeout_s, clock)


def _server(options: Kubernetes, environ: Mapping[str, str]) -> TcpAddress | None:
    """As configured, else as every pod is told; None where neither names one."""
    if options.server is not None:
        configured = parse_address(options.server)
        return configured if isinstance(configured, TcpAddress) else None
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    return TcpAddress(host.strip("[]"), int(port)) if host and port.isdecimal() else None
