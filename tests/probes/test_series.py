"""Probes as numbers: what is counted, what is shown, what leaves, and that every series is one of the catalogue's."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import CATALOGUE
from exporter.catalog import probes as rows
from exporter.model.metric import Kind as RowKind
from exporter.model.snapshot import Number, SeriesKey, metric_key
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import Kind, Outcome, Report
from exporter.probes.series import values_of
from exporter.probes.tally import Tally, begun, seen, taken
from tests.probes.reports import GOOD, reports

NOW_S = GOOD.ended_wall_s + 100


def shown(tally: Tally, now_s: float = NOW_S) -> dict[SeriesKey, Number]:
    """With figures of half an hour."""
    return values_of(tally, now_s, 1800.0, is_circuit_open=False, is_stuck=False)


def test_figures_stand_under_their_labels() -> None:
    """Kind, collective, size, algorithm and protocol."""
    values = shown(taken(begun(), GOOD))

    assert values[rows.BUS_BANDWIDTH.key, "node", "all_reduce", "268435456", "RING", "SIMPLE"] == 3.58e11
    assert values[rows.LATENCY.key, "node", "all_reduce", "8", "RING", "SIMPLE", "p50"] == 2e-5
    assert values[rows.FIT_LATENCY.key, "all_reduce"] == 2e-5
    assert values[rows.PAIR_BANDWIDTH.key, "gpu0", "gpu1"] == 3.9e11
    assert values[rows.TRANSPORT.key, "IB", "1", "CUMEM", "0", "8"] == 1
    assert values[rows.RUNS.key, "node", "success"] == 1
    assert values[rows.WRONG.key, "all_reduce"] == 0


def test_every_reason_and_outcome_is_there_from_the_start() -> None:
    """So that the first of anything is a rise."""
    values = shown(begun())

    assert {values[rows.RUNS.key, "node", outcome.value] for outcome in Outcome} == {0}
    assert {values[rows.SKIPPED.key, "node", reason.value] for reason in Skipped} == {0}
    assert {values[rows.FAILURES.key, "node", reason.value] for reason in Failure} == {0}


def test_what_was_measured_leaves_and_times_and_counts_stay() -> None:
    """A number of an hour ago says nothing of now."""
    values = shown(taken(begun(), GOOD), NOW_S + 3600)

    assert not any(metric_key(key) == rows.BUS_BANDWIDTH.key for key in values)
    assert values[rows.LAST_SUCCESS.key, "node"] == GOOD.ended_wall_s
    assert values[rows.RUNS.key, "node", "success"] == 1


def test_a_skipped_probe_does_not_hide_what_was_measured_before_it() -> None:
    """On a busy node most are skipped."""
    skipped = Report(Kind.NODE, Outcome.SKIPPED, NOW_S, NOW_S, Skipped.GPU_BUSY)
    values = shown(taken(taken(begun(), GOOD), skipped))

    assert values[rows.SKIPPED.key, "node", "gpu_busy"] == 1
    assert values[rows.LAST_RUN.key, "node"] == NOW_S
    assert values[rows.BUS_BANDWIDTH.key, "node", "all_reduce", "268435456", "RING", "SIMPLE"] == 3.58e11


def test_a_probe_of_before_is_shown_and_not_counted() -> None:
    """Counts begin anew with the daemon: an old run would be a rise."""
    values = shown(seen(begun(), GOOD))

    assert values[rows.RUNS.key, "node", "success"] == 0
    assert values[rows.LAST_SUCCESS.key, "node"] == GOOD.ended_wall_s


@given(st.lists(reports(), max_size=4))
def test_every_series_fits_a_row_and_histograms_add_up(several: list[Report]) -> None:
    """Whatever probes say: as many labels as the row has, and buckets that never fall."""
    tally = begun()
    for report in several:
        tally = taken(tally, report)
    values = shown(tally)

    for key in values:
        row = CATALOGUE[metric_key(key)]
        labels = 0 if isinstance(key, str) else len(key) - 1
        assert labels == len(row.labels) + (row.kind is RowKind.HISTOGRAM)
    for (collective, size), times in tally.iterations.items():
        assert sum(times.counts) == values[rows.ITERATIONS.key, collective, str(size), "count"]
        assert values[rows.ITERATIONS.key, collective, str(size), "+Inf"] == sum(times.counts)
