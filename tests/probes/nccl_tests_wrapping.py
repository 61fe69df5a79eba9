"""What launchers, collectors and NCCL itself do to an output of nccl-tests before anybody reads it: one function for each, and files of it.

`python -m tests.probes.nccl_tests_wrapping` writes the files `wrapped-*.txt` below nccl_tests_outputs/.
"""

from collections.abc import Callable

from tests.probes.nccl_tests_printer import FOLDER, HOST, PLAIN

LOG = f"{HOST}:4100:4177 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM/read"
WARNING = f"[2026-03-04 05:06:07] {HOST}:4100:4177 [3] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer"


def mpirun_tagged(text: str) -> str:
    """As mpirun --tag-output does."""
    return _each_line(text, lambda line: f"[1,0]<stdout>:{line}")


def srun_labelled(text: str) -> str:
    """As srun --label does on twelve tasks."""
    return _each_line(text, lambda line: f" 0: {line}")


def kubectl_stamped(text: str) -> str:
    """As kubectl logs --timestamps does, of a container that runs srun."""
    return _each_line(text, lambda line: f"2026-03-04T05:06:07.123456789Z 0: {line}")


def container_log(text: str) -> str:
    """A node's own file of a container's output (CRI)."""
    return _each_line(text, lambda line: f"2026-03-04T05:06:07.123456789+00:00 stdout F {line}")


def coloured(text: str) -> str:
    """A wrapper that colours by rank."""
    return _each_line(text, lambda line: f"\x1b[1;32m{line}\x1b[0m")


def crlf(text: str) -> str:
    """Through a terminal."""
    return text.replace("\n", "\r\n")


def rank_tagged(text: str) -> str:
    """A wrapper that puts `[0]` before each write: a row is written in three pieces."""
    return _each_row(text, lambda lead, first, second: f"{lead}[0]{first}[0]{second}")


def log_between(text: str) -> str:
    """NCCL's log on stdout (NCCL_DEBUG=INFO without NCCL_DEBUG_FILE): lines between the rows."""
    return _each_row(text, lambda lead, first, second: f"{LOG}\n{lead}{first}{second}\n{WARNING}")


def log_within(text: str) -> str:
    """The same, unbuffered: lines break into rows, glued to what stands before them."""
    return _each_row(text, lambda lead, first, second: f"{lead}{LOG}\n{LOG}\n{first}{WARNING}\n{second}")


def wrong_list_within(text: str) -> str:
    """A debug build lists wrong elements while the row is half written."""
    return _each_row(text, lambda lead, first, second: f"{lead}rank=3 #wrong=17\n rank=3 elt[5]: want=0x3f800000 got=0x0\n{first}{second}")


WRAPPERS: tuple[Callable[[str], str], ...] = (mpirun_tagged, srun_labelled, kubectl_stamped, container_log, coloured, crlf, rank_tagged,
                                              log_between, log_within, wrong_list_within)  # fmt: skip
"""None of these changes what was measured."""


def two_at_once(text: str) -> str:
    """A build without MPI started twice: two processes, each its own whole output, line by line in turn."""
    return "".join(f"{line}\n{line}\n" for line in text.splitlines())


def _each_line(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(line) + "\n" for line in text.splitlines())


def _each_row(text: str, change: Callable[[str, str, str], str]) -> str:
    """Rows of eight columns in each of two blocks change; they are told by their first and cut where the program writes piece by piece."""
    lines = text.splitlines()
    header = next(line for line in lines if "algbw" in line and line.startswith("#"))
    first = header.index("time") + len("time") - 9
    second = header.index("time", first + 10) + len("time") - 9
    changed = [change(line[:first], line[first:second], line[second:]) if line[:1] == " " and line.strip()[:1].isdigit() else line
               for line in lines]  # fmt: skip
    return "\n".join(changed) + "\n"


def files() -> dict[str, str]:
    """Names of our wrapped files and what is in them."""
    plain = PLAIN["v2.13-reduce-scatter.txt"]()
    wrapped = {f"wrapped-{wrapper.__name__.replace('_', '-')}.txt": wrapper(plain) for wrapper in WRAPPERS}
    return wrapped | {"two-without-mpi.txt": two_at_once(plain)}


def main() -> None:
    """Write every file anew."""
    for name, content in files().items():
        (FOLDER / name).write_bytes(content.encode())


if __name__ == "__main__":
    main()
