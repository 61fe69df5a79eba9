"""The fake libraries themselves: one state under two names, real data between processes, and knobs that do what they say."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.probes.collectives import Collective
from exporter.probes.plan import Phase, Step
from tests.nccl_library import FakeGpus, build
from tests.probes.running import LARGE, SMALL, job, run


def test_both_names_lead_to_one_library(tmp_path: Path) -> None:
    """Two copies would have two clocks."""
    gpus = FakeGpus(tmp_path)

    assert os.path.samefile(gpus.libcuda, gpus.libnccl)


def test_a_function_that_it_never_had_cannot_be_left_out() -> None:
    """A misspelt name would make a test pass for nothing."""
    with pytest.raises(ValueError, match="the library has no ncclCommInit"):
        build(without=["ncclCommInit"])


def test_the_same_seed_gives_the_same_times_and_another_others(tmp_path: Path) -> None:
    """Jitter is drawn from the seed and the number of the collective alone."""
    wanted = [Step(Phase.LATENCY, Collective.ALL_REDUCE, SMALL, 8, 1)]
    times = []
    for place, seed in enumerate((5, 5, 6)):
        gpus = FakeGpus(tmp_path / str(place), JITTER=0.05, SEED=seed)
        times.append(run(job(gpus, tmp_path / str(place), 2, wanted)).steps[0].iterations_s)

    assert times[0] == times[1] != times[2]
    assert len(set(times[0])) > 4


def test_every_call_is_logged_but_a_row_of_polls_once(tmp_path: Path) -> None:
    """With process, GPU and what is told of it; so that "nothing was called" can be told."""
    gpus = FakeGpus(tmp_path)
    run(job(gpus, tmp_path, 2, [Step(Phase.CHECK, Collective.BROADCAST, LARGE, 1)]))

    calls = gpus.calls()
    assert {call.detail for call in gpus.calls("ncclBroadcast")} == {str(LARGE)}
    assert {call.device for call in gpus.calls("ncclBroadcast")} == {0, 1}
    for pid in {call.pid for call in calls}:
        names = [call.name for call in calls if call.pid == pid]
        assert names[0] == "cuInit"
        assert not any(one == other == "cuStreamQuery" for one, other in pairwise(names))
