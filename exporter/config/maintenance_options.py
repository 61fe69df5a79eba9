"""Options of who is asked whether somebody works on the node: Slurm and Kubernetes. Data, no behaviour.

Intervals and timeouts are bounded so that two origins in one thread cannot make each other's word grow old: three of the shortest
intervals are longer than one interval and both longest timeouts.
"""

import re
from dataclasses import dataclass, field

from exporter.config.kinds import BOOLEAN, PATH, TEXT, Kind, duration, list_of, show_text
from exporter.config.option import option
from exporter.model.address import TcpAddress, parse_address
from exporter.model.quoted import shown

HOW_OFTEN = duration(30, 3600)
HOW_LONG = duration(1, 20)
MAINTENANCE_TAINT = "fabric-exporter/maintenance"
"""Whoever wants to silence this node's alerts and nothing else sets it."""
CORDON_TAINT = "node.kubernetes.io/unschedulable"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def _node_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}", text):
        raise ValueError(f"expected the name of one node, such as gpu-node-17, got {shown(text)}")
    return text


def _server(text: str) -> str:
    address = parse_address(text)
    if not isinstance(address, TcpAddress) or not address.host or not address.port:
        raise ValueError(f"expected host and port such as 10.96.0.1:443, got {shown(text)}")
    return str(address)


NODE_NAME = Kind("node name", _node_name, show_text)
SERVER = Kind("host and port", _server, show_text)


@dataclass(frozen=True, slots=True)
class Slurm:
    """What Slurm says of this node."""

    enabled: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Ask Slurm whether somebody drained this node or reserved it for maintenance: docs/health.md.",
        reason="Off: each node that asks is a request to slurmctld, and the daemon must find scontrol.",
    )
    interval_s: float = option(
        60.0,
        HOW_OFTEN,
        "How often it is asked; what it said counts for three times as long.",
        "An alert takes minutes to ring; a thousand nodes are seventeen requests a second.",
    )
    timeout_s: float = option(
        10.0, HOW_LONG, "How long one answer may take; then the command is killed.", "As long as Slurm's own MessageTimeout."
    )
    node: str | None = option(
        None, NODE_NAME, "Name of this node in Slurm.", "None: the variable SLURMD_NODENAME, else the host's name up to its first dot."
    )
    command: tuple[str, ...] = option(
        (),
        list_of(TEXT),
        "A command that is run in place of scontrol, word by word and without a shell; {node} stands for the node's name. It prints what "
        "`scontrol show node` prints, as JSON or as text; State= and Reason= are enough.",
        "Empty: scontrol on the daemon's PATH, with --json where it can.",
    )
    own_reasons: tuple[str, ...] = option(
        (),
        list_of(TEXT),
        "Further words in a reason that a program gives and not a person: a drain with such a reason is a fault, not maintenance.",
        "Empty: reasons of Slurm itself, of NHC and of this exporter's check are known.",
    )


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """What Kubernetes says of this node."""

    enabled: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Ask the Kubernetes API server whether this node bears a taint that stands for maintenance: docs/health.md.",
        reason="Off: it needs a service account that may get nodes.",
    )
    interval_s: float = option(
        60.0,
        HOW_OFTEN,
        "How often it is asked; what it said counts for three times as long.",
        "An alert takes minutes to ring; a thousand nodes are seventeen requests a second.",
    )
    timeout_s: float = option(10.0, HOW_LONG, "How long one answer may take.", "A healthy API server needs milliseconds.")
    node: str | None = option(
        None, NODE_NAME, "Name of this node in the cluster.", "None: the variable NODE_NAME, which a pod fills from spec.nodeName."
    )
    taints: tuple[str, ...] = option(
        (MAINTENANCE_TAINT, "medik8s.io/drain"),
        list_of(TEXT),
        f"Keys of taints that stand for maintenance, whatever their effect. {CORDON_TAINT} makes every cordon count.",
        "One for this very purpose, and that of the node maintenance operator. Not cordons: programs that find a fault cordon too.",
    )
    server: str | None = option(
        None, SERVER, "The API server.", "None: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which every pod has."
    )
    token_file: str = option(
        f"{_ACCOUNT}/token", PATH, "The token that is shown to the API server; read each time.", "Where the kubelet puts it."
    )
    ca_file: str = option(
        f"{_ACCOUNT}/ca.crt", PATH, "Who signs the API server's certificate, as PEM; read each time.", "Where the kubelet puts it."
    )


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Schedulers that may say that somebody works on the node; the file is `signals.maintenance_file`."""

    slurm: Slurm = field(default_factory=Slurm)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
