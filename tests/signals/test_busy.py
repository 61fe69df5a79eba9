"""For how long a GPU has been busy, by the traffic of its links."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.metric import Role
from exporter.signals.busy import BUSY_BYTES_PER_S, PAUSE_S, Busy
from exporter.signals.observation import Observation
from tests.signals.passes import seen


def played(rates: list[float], every_s: float = 5.0, gpu: str = "gpu0") -> tuple[Busy, float]:
    """A link that sends at these rates, and the time of its last pass."""
    busy, sent, before = Busy(), 0.0, seen({Role.TX_BYTES: 0.0}, 1000.0)
    for number, rate in enumerate(rates, 1):
        sent += rate * every_s
        now = seen({Role.TX_BYTES: sent}, 1000.0 + number * every_s)
        busy.note(gpu, before, now)
        before = now
    return busy, before.monotonic_s


def busy_s(rates: list[float], every_s: float = 5.0, later_s: float = 0.0) -> float | None:
    """For how long by now."""
    busy, now_s = played(rates, every_s)
    return busy.for_s("gpu0", now_s + later_s)


def test_a_gpu_is_busy_from_the_first_pass_that_moved_much() -> None:
    """Since the pass before that one."""
    assert busy_s([0.0, 0.0]) is None
    assert busy_s([0.0, BUSY_BYTES_PER_S]) == 5.0
    assert busy_s([BUSY_BYTES_PER_S] * 12) == 60.0


def test_keep_alives_are_no_work() -> None:
    """An idle pair moves a megabyte a second."""
    assert busy_s([1.2e6] * 100) is None


def test_a_pause_of_a_training_step_is_no_end() -> None:
    """Up to half a minute; then it begins anew. Within the pause it is not known to work."""
    pause = int(PAUSE_S / 5.0)

    assert busy_s([1e10, 0.0]) is None
    assert busy_s([1e10, *[0.0] * pause, 1e10]) == 5.0 * (pause + 2)
    assert busy_s([1e10, *[0.0] * (pause + 1), 1e10]) == 5.0
    assert busy_s([1e10, *[0.0] * (pause + 1)]) is None


def test_a_gpu_at_which_nobody_looks_is_not_known_to_be_busy() -> None:
    """A hung driver says nothing, and a GPU that has stopped sleeps within seconds: its idle PCIe link must not count as slow under
    load."""
    assert busy_s([1e10] * 12, later_s=4.5) == 64.5
    assert busy_s([1e10] * 12, later_s=5.0) is None


def test_slow_passes_tell_as_well() -> None:
    """A minute apart: the last one counts until the next is due."""
    assert busy_s([1e10] * 3, every_s=60.0, later_s=59.0) == 239.0
    assert busy_s([1e10, 0.0], every_s=60.0) is None


def test_links_of_one_gpu_tell_together() -> None:
    """One busy link is enough, and an idle one does not deny it."""
    busy, now_s = played([1e10] * 3)
    idle = seen({Role.TX_BYTES: 0.0}, now_s - 5.0), seen({Role.TX_BYTES: 0.0}, now_s + 1.0)
    busy.note("gpu0", *idle)

    assert busy.for_s("gpu0", now_s) == 15.0
    assert busy.for_s("gpu1", now_s) is None


def test_a_reset_or_a_pass_without_bytes_says_nothing() -> None:
    """Neither busy nor idle; nor does a link of no GPU."""
    busy = Busy()
    busy.note("gpu0", seen({Role.TX_BYTES: 1e12}, 0.0), seen({Role.TX_BYTES: 0.0}, 5.0))
    busy.note("gpu0", seen({Role.STATE: 1}, 0.0), seen({Role.STATE: 1}, 5.0))
    busy.note("gpu0", None, seen({Role.TX_BYTES: 1e12}, 5.0))
    busy.note("", seen({Role.TX_BYTES: 0.0}, 0.0), seen({Role.TX_BYTES: 1e12}, 5.0))

    assert busy.for_s("gpu0", 5.0) is busy.for_s("", 5.0) is None


passes = st.builds(seen, st.dictionaries(st.just(Role.TX_BYTES), st.floats() | st.integers(0, 2**64)), st.floats(-1e9, 1e9))


@given(st.lists(st.tuples(st.none() | passes, passes), max_size=10), st.floats(-1e9, 1e9))
def test_no_pass_raises_and_no_time_is_negative(pairs: list[tuple[Observation | None, Observation]], now_s: float) -> None:
    """Whatever clocks and counters do."""
    busy = Busy()
    for before, now in pairs:
        busy.note("gpu0", before, now)
    found = busy.for_s("gpu0", now_s)

    assert found is None or found >= 0.0
