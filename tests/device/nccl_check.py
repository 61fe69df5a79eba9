"""`python -m tests.device.nccl_check [--libcuda F] [--libnccl F] [--minutes 4]`: do a probe's workers get on with this machine's NCCL?

For a machine with one NVIDIA GPU that nobody else uses. Exit status 1 if anything DIFFERS. Stops by itself at the time limit with what it
has.
"""

import argparse
import os
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from exporter.probes.worker.libraries import Places
from tests.device.findings import Report, StoppedError, Verdict
from tests.device.nccl_runs import MIB, Runs, abort_under_way, all_collectives, hung_peer, memory, one_rank, refused_twice, two_ranks

MINUTES, PATIENCE_S = 4.0, 2.0
ENDING_S = 12.0
"""After the limit the run that is under way is stopped, by its own ladder; then the process ends all the same."""


def main(argv: Sequence[str]) -> int:
    """Check, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.device.nccl_check", description=__doc__)
    parser.add_argument(
        "--libcuda", metavar="FILE", default=Places().libcuda, help="the driver's libcuda.so.1; default: where the loader finds it"
    )
    parser.add_argument(
        "--libnccl", metavar="FILE", default=Places().libnccl, help="NCCL's libnccl.so.2; default: where the loader finds it"
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"stop after so many; default: {MINUTES:g}")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, help=f"seconds for one batch, an abort, a SIGTERM; default: {PATIENCE_S:g}"
    )
    parser.add_argument("--longest", type=int, default=256, metavar="MIB", help="longest message; default: 256, as in the usual plan")
    args = parser.parse_args(argv)
    report = Report()
    ours, theirs = socket.socketpair()
    with TemporaryDirectory() as folder, ours, theirs:
        runs = Runs(Places(args.libcuda, args.libnccl), Path(folder), report, ours, _variables(), args.patience, args.longest * MIB)
        thread = threading.Thread(target=examine, args=(runs, report), name="examine", daemon=True)
        thread.start()
        thread.join(args.minutes * 60)
        if thread.is_alive():
            report.stop()
            theirs.send(b".")
            report.add(Verdict.CANNOT, "the rest", f"stopped after {args.minutes:g} minutes, at: {report.now}")
            thread.join(ENDING_S)
        print("\n".join([*map(str, report.findings), report.summary()]))
        sys.stdout.flush()
        if thread.is_alive():
            os._exit(int(report.differs))
    return int(report.differs)


def examine(runs: Runs, report: Report) -> None:
    """All of it, in the order of its worth. Never raises."""
    try:
        if not one_rank(runs):
            return
        memory(runs)
        if two_ranks(runs):
            all_collectives(runs)
            hung_peer(runs)
        abort_under_way(runs)
        refused_twice(runs)
    except StoppedError:
        pass
    except Exception as error:  # noqa: BLE001  # a thread that ends without a word would look like a success
        traceback.print_exc()
        report.add(Verdict.DIFFERS, report.now, f"the check itself failed: {type(error).__name__}: {error}")


def _variables() -> dict[str, str]:
    """What steers the fake libraries, where this is tried without a GPU: a worker gets nothing else of our environment."""
    return {name: value for name, value in os.environ.items() if name.startswith("FAKE_")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
