"""Options of the probes (`fabric-exporter probe`): where the libraries are, who gives this node to jobs, and how to stop them all. Data."""

from dataclasses import dataclass

from exporter.config.kinds import BOOLEAN, PATH, choice, duration
from exporter.config.option import option

SLURM, KUBERNETES, NOBODY = "slurm", "kubernetes", "nobody"


@dataclass(frozen=True, slots=True)
class Probes:
    """Short collectives on idle GPUs: docs/probes.md."""

    enabled: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Show what probes of this node measured. The daemon runs none: `fabric-exporter probe` does, by a timer, a prolog or a person.",
        reason="Off: nobody probes a node unless somebody arranged it.",
    )
    scheduler: str | None = option(
        None,
        choice(SLURM, KUBERNETES, NOBODY),
        "Who gives this node to jobs, so that a probe can ask whether it is free. nobody: no scheduler does.",
        "None: nobody knows whether the node is free, so a probe runs only where it is told that it is inside an allocation.",
    )
    kill_switch: str = option(
        "/etc/fabric-exporter/no-probes",
        PATH,
        "While this file is there no probe begins, and one that runs ends before its next step.",
        "Beside the configuration: one command on every node stops all probes.",
    )
    interval_s: float = option(
        900.0,
        duration(300, 604_800),
        "How far apart periodic probes (`probe --periodic`) are, at least.",
        "A quarter of an hour: init takes seconds, and what wears out does so for longer.",
    )
    libnccl: str | None = option(None, PATH, "The library of NCCL.", "None: the system's loader finds libnccl.so.2.")
    libcuda: str | None = option(None, PATH, "The CUDA driver's library.", "None: the system's loader finds libcuda.so.1.")
