"""Reports for tests: a good probe of a node, and strategies for any."""

from typing import Any

from hypothesis import strategies as st

from exporter.probes.baseline import State
from exporter.probes.collectives import Collective
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import (
    FitReport,
    Kind,
    Library,
    Outcome,
    PairReport,
    Report,
    SizeReport,
    SuspectReport,
    Transport,
    UsualReport,
)  # fmt: skip

MIB = 1 << 20
ALL_REDUCE = SizeReport(Collective.ALL_REDUCE, 256 * MIB, 8, 1.31e-3, 1.35e-3, 1.4e-3, 0.03, 2e-6, 2.05e11, 3.58e11, "RING", "SIMPLE", 0,
                        (1.3e-3, 1.31e-3, 1.4e-3))  # fmt: skip
GOOD = Report(
    Kind.NODE, Outcome.SUCCESS, 1_800_000_000.0, 1_800_000_012.0, gpus=tuple(f"gpu{i}" for i in range(8)),
    phases_s={"gate": 0.3, "init": 2.0, "warmup": 0.3, "measure": 0.8, "teardown": 0.1},
    sizes=(ALL_REDUCE, ALL_REDUCE._replace(size_bytes=8, p50_s=2e-5, p95_s=2.2e-5, max_s=3e-5, algorithm_bandwidth=4e5, bus_bandwidth=7e5)),
    fits=(FitReport(Collective.ALL_REDUCE, 2e-5, 2.06e11, 0.04),), pairs=(PairReport("gpu0", "gpu1", 3.9e11),),
    transport=Transport("IB", gdr=True, p2p="CUMEM", shm=False, hca_count=8), library=Library("2.27.3", "12.9", "loader"),
    sent_bytes=9_000_000_000, gpu_s=6.4,
)  # fmt: skip

_numbers = st.floats(0, 1e10, allow_nan=False)
_texts = st.text(max_size=20)
_maybe = st.none() | _numbers
_optional = st.none() | st.booleans()
_collectives = st.sampled_from(Collective)
_sizes = st.builds(SizeReport, _collectives, st.integers(1, 1 << 40), st.integers(1, 72), _numbers, _maybe, _numbers, _maybe, _numbers,
                   _numbers, _maybe, _texts,
                   _texts, st.none() | st.integers(0, 9), st.lists(_numbers, max_size=3).map(tuple))  # fmt: skip
_fits = st.builds(FitReport, _collectives, st.none() | _numbers, st.none() | _numbers, _numbers)
_suspects = st.builds(SuspectReport, st.sampled_from(["gpu", "pair", "nic", "node"]), _texts, _texts)
_transports = st.builds(Transport, _texts, _optional, _texts, _optional, st.none() | st.integers(0, 9))
_usuals = st.builds(UsualReport, _collectives, st.integers(1, 1 << 40), st.sampled_from(State), st.none() | _numbers)
_failures, _skipped = st.sampled_from(Failure), st.sampled_from(Skipped)
_reasons = {Outcome.SUCCESS: st.none(), Outcome.DEGRADED: st.none() | _failures, Outcome.SKIPPED: _skipped, Outcome.PREEMPTED: _skipped,
            Outcome.FAILED: _failures, Outcome.ABORTED: _failures}  # fmt: skip


def _few(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=3).map(tuple)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Any report that a probe could make."""
    outcome = draw(st.sampled_from(Outcome))
    return Report(
        draw(st.sampled_from(Kind)), outcome, draw(_numbers), draw(_numbers), draw(_reasons[outcome]), draw(_texts), draw(_few(_texts)),
        draw(st.dictionaries(_texts, _numbers, max_size=3)), draw(_few(_sizes)), draw(_few(_fits)),
        draw(_few(st.builds(PairReport, _texts, _texts, _numbers))), draw(_few(_suspects)), draw(st.none() | _transports),
        draw(st.none() | st.builds(Library, _texts, _texts, _texts)), draw(st.integers(0, 1 << 50)), draw(_numbers), draw(st.booleans()),
        draw(_few(_usuals)), draw(st.sampled_from(State)),
    )  # fmt: skip
