"""`python -m tests.probes.kills [--times 60] [--seed 1]`: a probe that is killed at any point leaves no process and no shared memory.

Each time at another moment, by turns: its supervisor is told to stop, one worker is killed or stopped, the supervisor itself is killed.
Exit status 1 if anything was ever left. What remains after a supervisor's death are its folder, which the next run empties, and segments
that NCCL had made and not yet handed over: `exporter.probes.shared_memory.forgotten` tells those."""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from exporter.probes.collectives import Collective
from exporter.probes.outcome import Outcome
from exporter.probes.plan import Phase, Step
from exporter.probes.supervisor import Supervisor
from exporter.runtime.clock import SystemClock
from tests.nccl_library import FakeGpus
from tests.probes.running import HASTY, LARGE, gone_within, job, steps, workers_of

ROOT = Path(__file__).parents[2]
RUN_S = 1.2
"""About how long a run takes that nobody disturbs."""


def main(argv: Sequence[str]) -> int:
    """Kill and count."""
    parser = argparse.ArgumentParser(prog="python -m tests.probes.kills", description=__doc__)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    chance, ends, left = random.Random(args.seed), Counter[str](), 0  # noqa: S311  # moments, no secrets
    for number in range(args.times):
        kind = ("stop", "kill", "halt", "supervisor")[number % 4]
        after_s = chance.uniform(0.0, RUN_S)
        with TemporaryDirectory() as folder:
            found, end = (
                _supervisor_killed(Path(folder), after_s) if kind == "supervisor" else _disturbed(Path(folder), kind, after_s, chance)
            )
        ends[f"{kind}: {end}"] += 1
        if found:
            left += 1
            print(f"{kind} after {after_s:.3f} s left {found}")
    print("\n".join(f"{count:4} {end}" for end, count in sorted(ends.items())))
    print(f"{args.times} runs, {left} left something")
    return int(left > 0)


def _disturbed(folder: Path, kind: str, after_s: float, chance: random.Random) -> tuple[list[str], str]:
    """One run in this process, disturbed by another thread: what was left, and how it ended."""
    gpus = FakeGpus(folder)
    wanted = job(gpus, folder, 3, [Step(Phase.COPIES, None, LARGE, 3), *steps(tuple(Collective))], HASTY)
    ours, theirs = socket.socketpair()

    def disturb() -> None:
        time.sleep(after_s)
        if kind == "stop":
            theirs.send(b".")
            return
        workers = workers_of(os.getpid())
        if workers:
            os.kill(chance.choice(workers), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)

    with ours, theirs:
        thread = threading.Thread(target=disturb)
        thread.start()
        outcome = Supervisor(wanted, SystemClock(), lambda: None, ours).run()
        thread.join()
    return [*map(str, workers_of(os.getpid())), *gpus.left_behind(), *_existing(wanted.private)], _in_words(outcome)


def _supervisor_killed(folder: Path, after_s: float) -> tuple[list[str], str]:
    argv = [sys.executable, "-m", "tests.probes.supervised", str(folder), "3"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_s)
        process.kill()
        gone_within(process.pid, 2.0)
        return list(map(str, workers_of(process.pid))), "killed"


def _existing(path: Path) -> list[str]:
    return [str(path)] if path.exists() else []


def _in_words(outcome: Outcome) -> str:
    if outcome.broken is None:
        return "ended well"
    return "told to stop" if outcome.broken.reason is None else outcome.broken.reason.value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
