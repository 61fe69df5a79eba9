"""The programs of nccl-tests: which collective each runs, how its size column relates to its count column, and its bus factor.

Facts from src/*.cu of NVIDIA/nccl-tests, v1.0.0 to v2.19.6. Knows no layout of their output.
"""

from pathlib import PurePosixPath
from typing import NamedTuple

from exporter.probes.collectives import BLOCKWISE, Collective, bus_factor


class Program(NamedTuple):
    """One program. `collective` is None where our probes have no such collective: the rows can be read and checked all the same.
    `is_blockwise`: the count column is one rank's block, so that the size is count × bytes of an element × ranks. `operations` are words
    that its redop column can have, "" for blank. `has_root`: its root is a rank; the others print -1, or have no such column."""

    name: str
    collective: Collective | None
    is_blockwise: bool
    operations: frozenset[str]
    has_root: bool = False


_REDUCED = frozenset({"sum", "prod", "max", "min", "avg", "mulsum"})
_MOVED = frozenset({"", "none"})
"""Blank up to 2.13, `none` later."""

PROGRAMS = {
    program.name: program
    for program in (
        Program("all_reduce_perf", Collective.ALL_REDUCE, is_blockwise=False, operations=_REDUCED),
        Program("all_gather_perf", Collective.ALL_GATHER, is_blockwise=True, operations=_MOVED),
        Program("reduce_scatter_perf", Collective.REDUCE_SCATTER, is_blockwise=True, operations=_REDUCED),
        Program("broadcast_perf", Collective.BROADCAST, is_blockwise=False, operations=_MOVED, has_root=True),
        Program("alltoall_perf", Collective.ALL_TO_ALL, is_blockwise=True, operations=_MOVED),
        Program("sendrecv_perf", Collective.SEND_RECV, is_blockwise=False, operations=_REDUCED | _MOVED),
        Program("reduce_perf", None, is_blockwise=False, operations=_REDUCED, has_root=True),
        Program("gather_perf", None, is_blockwise=True, operations=_MOVED, has_root=True),
        Program("scatter_perf", None, is_blockwise=True, operations=_MOVED, has_root=True),
        Program("hypercube_perf", None, is_blockwise=True, operations=_MOVED),
    )
}
"""By name. alltoallv_perf is not among them: its sizes follow a traffic matrix, so that no row of it can be checked."""

PROGRAM_OF = {program.collective: program.name for program in PROGRAMS.values() if program.collective is not None}
"""The program that runs one of our collectives."""

ELEMENT_BYTES = {
    "int8": 1, "uint8": 1, "char": 1, "f8e4m3": 1, "f8e5m2": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "int": 4, "float": 4,
    "int64": 8, "uint64": 8, "double": 8,
}  # fmt: skip
"""Bytes of an element by the name in the type column; char and int are what v1 calls them with NCCL 1."""


class Ratios(NamedTuple):
    """How the printed bandwidths follow from size / time: algbw = algorithm × size / time, busbw = bus × size / time."""

    algorithm: float
    bus: float


def program_of(path: str) -> Program | None:
    """The program that a path ends with; a suffix such as `_mpi`, that packagers add, is no part of the name. None for any other."""
    name = PurePosixPath(path).name
    return PROGRAMS.get(name) or PROGRAMS.get(name.removesuffix("_mpi"))


def ratios_of(program: Program, ranks: int) -> tuple[Ratios, ...]:
    """Every way in which a release of the program prints its bandwidths, today's first. Up to v2.0 all-gather and reduce-scatter printed
    the share that crosses the wire in both columns; hypercube still does. Bus bandwidth is 0 for one rank (NVIDIA/nccl-tests#294)."""
    share = (ranks - 1) / ranks
    if program.name == "hypercube_perf":
        return (Ratios(share, share),)
    if program.collective is None:
        return (Ratios(1.0, share if program.is_blockwise else 1.0),)
    whole = Ratios(1.0, _printed_factor(program.collective, ranks))
    has_old = program.collective in {Collective.ALL_GATHER, Collective.REDUCE_SCATTER}
    return (whole, Ratios(share, share)) if has_old else (whole,)


def _printed_factor(collective: Collective, ranks: int) -> float:
    """The bus factor as nccl-tests prints it: for one rank 0 where links carry a share, 1 where every rank sends all."""
    factor = bus_factor(collective, ranks)
    if factor is not None:
        return factor
    return 0.0 if collective in BLOCKWISE or collective is Collective.ALL_REDUCE else 1.0
