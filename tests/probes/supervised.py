"""`python -m tests.probes.supervised FOLDER RANKS [KNOB=VALUE …]`: a supervisor in a process of its own, to be killed.

It runs probe after probe of fake GPUs, and prints a line before each."""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from exporter.probes.collectives import Collective
from exporter.probes.plan import Phase, Step
from exporter.probes.supervisor import Supervisor
from exporter.runtime.clock import SystemClock
from tests.nccl_library import FakeGpus
from tests.probes.running import HASTY, LARGE, job, steps


def main(argv: Sequence[str]) -> None:
    """For ever."""
    folder, ranks = Path(argv[0]), int(argv[1])
    gpus = FakeGpus(folder, **dict(word.split("=", 1) for word in argv[2:]))
    wanted = job(gpus, folder, ranks, [Step(Phase.COPIES, None, LARGE, 3), *steps(tuple(Collective))], HASTY)
    for number in itertools.count():
        print(number, flush=True)
        Supervisor(wanted, SystemClock(), lambda: None).run()


if __name__ == "__main__":
    main(sys.argv[1:])
