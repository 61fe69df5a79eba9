"""A probe from end to end, over fake GPUs in real processes: what the GPUs do comes back as numbers."""

import queue
import threading
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from exporter.probes.collectives import Collective, bus_factor
from exporter.probes.nccl_log import read_log
from exporter.probes.outcome import Outcome, StepResult
from exporter.probes.pairs import Kind, Suspect, suspects
from exporter.probes.plan import Phase, Step
from exporter.probes.supervisor import Supervisor
from exporter.runtime.clock import SystemClock
from tests.nccl_library import FakeGpus
from tests.probes.running import LARGE, SMALL, job, run, steps

MIB = 2**20
EVERY = tuple(Collective)
COPIES = Step(Phase.COPIES, None, MIB // 4, 3)


def _of(results: tuple[StepResult, ...], collective: Collective, size_bytes: int) -> StepResult:
    return next(one for one in results if one.collective is collective and one.size_bytes == size_bytes and one.iterations_s)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_latency_and_bandwidth_of_the_gpus_come_back(tmp_path: Path, ranks: int) -> None:
    """Within 5 % and 3 %, from a small and a long message, though each time is off by 1 %."""
    gpus = FakeGpus(tmp_path, LATENCY=30e-6, BANDWIDTH=2e9, JITTER=0.01, SEED=ranks)
    wanted = [Step(Phase.LATENCY, Collective.ALL_REDUCE, 8, 40, 5), Step(Phase.BANDWIDTH, Collective.ALL_REDUCE, MIB, 20, 5)]

    outcome = run(job(gpus, tmp_path, ranks, wanted))

    small_s, long_s = (median(one.iterations_s) for one in outcome.steps)
    assert outcome.broken is None
    assert small_s == pytest.approx(30e-6, rel=0.05)
    assert MIB * (bus_factor(Collective.ALL_REDUCE, ranks) or 0) / (long_s - small_s) == pytest.approx(2e9, rel=0.03)
    assert [len(one.iterations_s) for one in outcome.steps] == [40, 20]


def test_every_collective_takes_its_time_and_brings_the_right_data(tmp_path: Path) -> None:
    """Three ranks, so that blocks are odd: what is sent arrives to the last bit, and the time is that of its own factor."""
    gpus = FakeGpus(tmp_path, LATENCY=10e-6, BANDWIDTH=1e9)

    outcome = run(job(gpus, tmp_path, 3, steps(EVERY)))

    assert outcome.broken is None
    assert [one.wrong for one in outcome.steps if one.wrong is not None] == [()] * len(EVERY)
    for collective in EVERY:
        expected_s = 10e-6 + LARGE * (bus_factor(collective, 3) or 0) / 1e9
        assert median(_of(outcome.steps, collective, LARGE).iterations_s) == pytest.approx(expected_s, rel=0.01)


def test_a_single_rank_runs_as_well(tmp_path: Path) -> None:
    """One GPU alone: initialisation, memory and the data check still tell something."""
    outcome = run(job(FakeGpus(tmp_path), tmp_path, 1, steps(EVERY)))

    assert outcome.broken is None
    assert not outcome.has_wrong_data
    assert outcome.memory_bytes > 2 * LARGE


def test_a_corrupt_element_is_found_with_its_rank_and_place(tmp_path: Path) -> None:
    """By every collective: one number too great by one, in one place of one rank. NVIDIA/nccl#1184 had such results at normal speed."""
    gpus = FakeGpus(tmp_path, CORRUPT="1:1000")

    outcome = run(job(gpus, tmp_path, 2, [Step(Phase.CHECK, one, LARGE, 1) for one in EVERY]))

    found = [(one.collective, wrong.rank, wrong.first, wrong.spilt) for one in outcome.steps for wrong in one.wrong or ()]
    assert outcome.has_wrong_data
    assert found == [(one, 1, 1000, False) for one in EVERY]


def test_a_slow_gpu_shows_in_the_pair_matrix(tmp_path: Path) -> None:
    """It is slow to send and slow to receive, and copies need no NCCL to tell."""
    gpus = FakeGpus(tmp_path, SLOW_RANK="2:0.75", PEER_LATENCY=0)

    outcome = run(job(gpus, tmp_path, 4, [COPIES]))

    speeds = {(one.source, one.target): one.size_bytes / median(one.times_s) for one in outcome.pairs}
    assert len(speeds) == 12
    assert list(suspects(speeds)) == [Suspect(Kind.GPU, (2,))]


def test_a_slow_way_between_two_gpus_shows_in_its_direction_alone(tmp_path: Path) -> None:
    """From 0 to 3, not from 3 to 0."""
    gpus = FakeGpus(tmp_path, SLOW_PAIR="0>3:0.5", PEER_LATENCY=0)

    outcome = run(job(gpus, tmp_path, 4, [COPIES]))

    speeds = {(one.source, one.target): one.size_bytes / median(one.times_s) for one in outcome.pairs}
    assert {pair for pair, speed in speeds.items() if speed < 0.6 * max(speeds.values())} == {(0, 3)}


def test_copies_through_the_host_are_marked(tmp_path: Path) -> None:
    """Where a GPU cannot reach the other's memory the number says nothing of their link."""
    outcome = run(job(FakeGpus(tmp_path, P2P=0), tmp_path, 2, [COPIES]))

    assert [one.direct for one in outcome.pairs] == [False, False]


def test_a_rank_that_ends_late_shows_as_skew_and_waits_least(tmp_path: Path) -> None:
    """Everybody waits for it at the next barrier, and it for nobody."""
    gpus = FakeGpus(tmp_path, TAIL="1:5e-5", LATENCY=10e-6)

    outcome = run(job(gpus, tmp_path, 3, [Step(Phase.LATENCY, Collective.ALL_REDUCE, SMALL, 10, 2)]))

    (found,) = outcome.steps
    assert median(found.skews_s) == pytest.approx(5e-5, rel=0.02)
    assert found.rank_waits_s.index(min(found.rank_waits_s)) == 1


def test_what_nccl_said_is_kept_each_line_once(tmp_path: Path) -> None:
    """Also of the last size, though NCCL repeats its choice with every collective; the words are those that nccl_log reads."""
    outcome = run(job(FakeGpus(tmp_path), tmp_path, 2, steps(times=100)))

    words = read_log(outcome.logs[0])
    choice = words.choice(Collective.ALL_REDUCE, LARGE, 2)
    assert words.network == "IB"
    assert choice is not None
    assert (choice.algorithm, choice.protocol) == ("RING", "SIMPLE")
    assert len(outcome.logs[0].splitlines()) < 30


def test_versions_gpus_phases_and_cost_are_told(tmp_path: Path) -> None:
    """The library that is really loaded, by its file; how long each phase took; how long the GPUs worked."""
    gpus = FakeGpus(tmp_path, NCCL_VERSION=22105)

    outcome = run(job(gpus, tmp_path, 2, [COPIES, *steps()]))

    assert outcome.versions is not None
    assert (outcome.versions.nccl, outcome.versions.cuda_driver) == ("2.21.5", "12.8")
    assert Path(outcome.versions.path) == Path(gpus.libnccl)
    assert set(outcome.phases_s) == {"copies", "init", "warmup", "measure", "teardown"}
    assert 0 < outcome.gpu_s < 0.1


@pytest.mark.parametrize(("version", "limited_by"), [(21400, "max_ctas -1"), (21700, "max_ctas 8"), (23203, "max_ctas 8")])
def test_old_and_new_libraries_take_our_configuration(tmp_path: Path, version: int, limited_by: str) -> None:
    """2.14 knows no limit of channels in it; newer ones take the short form of 2.17. It never blocks."""
    gpus = FakeGpus(tmp_path, NCCL_VERSION=version)

    outcome = run(job(gpus, tmp_path, 1, steps()))

    (call,) = gpus.calls("ncclCommInitRankConfig")
    assert outcome.broken is None
    assert call.detail == f"0 of 1, blocking 0, {limited_by}"


@pytest.mark.parametrize("knobs", [{"WAIT_VALUE": 0, "POLLS": 3}, {"POLLS": 0}])
def test_drivers_and_libraries_that_work_otherwise_measure_the_same(tmp_path: Path, knobs: dict[str, int]) -> None:
    """Without the wait on a word of the host's; with a library that launches at once, or late."""
    outcome = run(job(FakeGpus(tmp_path, LATENCY=25e-6, **knobs), tmp_path, 2))

    assert median(_of(outcome.steps, Collective.ALL_REDUCE, SMALL).iterations_s) == pytest.approx(25e-6, rel=0.01)


def test_nothing_that_could_block_is_ever_called(tmp_path: Path) -> None:
    """No call that waits for a stream or an event, and everything that was taken is given back."""
    gpus = FakeGpus(tmp_path)
    run(job(gpus, tmp_path, 2, [COPIES, *steps(EVERY)]))

    counts = {name: len(gpus.calls(name)) for name in {call.name for call in gpus.calls()}}
    assert not [name for name in counts if "Synchronize" in name]
    assert counts["cuMemAlloc"] == counts["cuMemFree"]
    assert counts["cuStreamCreate"] == counts["cuStreamDestroy"]
    assert counts["cuEventCreate"] == counts["cuEventDestroy"]
    assert counts["cuDevicePrimaryCtxRetain"] == counts["cuDevicePrimaryCtxRelease"]
    assert counts["ncclCommFinalize"] == counts["ncclCommDestroy"] == 2


def test_two_supervisors_run_the_ranks_of_two_nodes_together(tmp_path: Path) -> None:
    """One has rank 0 and hands out the unique id; each tells of its own ranks."""
    gpus = FakeGpus(tmp_path, LATENCY=15e-6)
    handed: queue.Queue[str] = queue.Queue()
    outcomes: list[Outcome | None] = [None, None]

    def node(place: int) -> None:
        def exchange(unique_id: str) -> str:
            if unique_id:
                handed.put(unique_id)
            return unique_id or handed.get(timeout=5.0)

        own = replace(job(gpus, tmp_path / str(place)), gpus=(str(place),), first_rank=place)
        outcomes[place] = Supervisor(own, SystemClock(), lambda: None, exchange=exchange).run()

    threads = [threading.Thread(target=node, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for outcome in outcomes:
        assert outcome is not None
        assert outcome.broken is None
        assert not outcome.has_wrong_data
        assert median(_of(outcome.steps, Collective.ALL_REDUCE, SMALL).iterations_s) == pytest.approx(15e-6, rel=0.01)
