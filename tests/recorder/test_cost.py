"""What a day of recording takes on the disk. CPU is the benchmark's (R1)."""

from tests.benchmarks.recorder import DAY_LIMIT_MB, PACES, one_round


def test_a_day_of_an_eight_gpu_node_fits() -> None:
    """A tenth of its bound, at the default intervals; every tick is in it."""
    told = one_round(PACES[0]._replace(minutes=3), seed=1)

    assert told.ticks == 36
    assert told.rows == 18
    assert told.day_bytes < 0.25 * DAY_LIMIT_MB * 1e6
