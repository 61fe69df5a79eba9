"""Whose the node is, by its scheduler: what the gate `allocated` goes by. Whoever cannot be asked has not said that it is free.

Knows how each scheduler is asked; Slurm by its own commands, Kubernetes by the kubelet's list of who has which device.
"""

from collections.abc import Callable, Sequence

from exporter.model.fault import Reason
from exporter.model.quoted import shown
from exporter.model.scontrol import node_state
from exporter.probes.gates import Allocation
from exporter.runtime.bounded_command import BoundedCommand
from exporter.runtime.child_process import how_it_ended
from exporter.runtime.clock import Clock
from exporter.runtime.origin import OriginError

TIMEOUT_S = 10.0
"""As long as Slurm's own MessageTimeout."""
IDLE = "IDLE"
JOBS = ("scontrol", "listjobs")
"""Asks the node's own slurmd, and no controller (nebius/soperator#2773)."""


def inside() -> Allocation:
    """The probe was told that it runs inside an allocation of its own."""
    return Allocation(free=True, words="inside an allocation")


def nobody() -> Allocation:
    """No scheduler gives this node away."""
    return Allocation(free=True, words="no scheduler")


def unnamed() -> Allocation:
    """Nobody said who gives it away."""
    return Allocation(free=None, words="set probes.scheduler, or say --inside-allocation where a job is the probe itself")


def of_slurm(node: str, clock: Clock) -> Allocation:
    """Free if Slurm calls it IDLE and nothing else, and no job has a step here."""
    command = BoundedCommand(clock)
    try:
        state = node_state(_said(command, ("scontrol", "show", "node", node)), node).state
        if state.upper() != IDLE:
            return Allocation(free=False, words=f"Slurm: the node is {shown(state)}")
        jobs = [line for line in _said(command, JOBS, may_fail=True).decode("utf-8", "replace").splitlines()[1:] if line.strip()]
    except (OriginError, ValueError) as error:
        return Allocation(free=None, words=f"Slurm: {error}")
    finally:
        command.close()
    return Allocation(free=not jobs, words=f"Slurm: job {shown(jobs[0].split()[0])} runs here" if jobs else "Slurm: IDLE")


def of_kubelet(devices: Callable[[], Sequence[str]]) -> Allocation:
    """Free if no container has a GPU. `devices` gives "NAMESPACE/POD" of each that has; raises OriginError."""
    try:
        having = devices()
    except OriginError as error:
        return Allocation(free=None, words=f"kubelet: {error}")
    return Allocation(free=not having, words=f"kubelet: pod {shown(having[0])} has a GPU" if having else "kubelet: no pod has a GPU")


def _said(command: BoundedCommand, argv: Sequence[str], *, may_fail: bool = False) -> bytes:
    """What it printed. `scontrol listjobs` fails on a node without a job, and says so on its first line."""
    done = command.run(argv, TIMEOUT_S)
    if done.status != 0:
        if may_fail and b"No slurmstepd" in done.complaint + done.printed:
            return b""
        words = (done.complaint or done.printed).decode("utf-8", "replace").strip().splitlines()
        raise OriginError(Reason.IO, f"{argv[0]} ended with {how_it_ended(done.status)}: {shown(words[0] if words else '')}")
    return done.printed
