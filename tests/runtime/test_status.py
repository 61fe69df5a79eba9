"""The exporter's own numbers."""

from exporter.catalog import CATALOGUE
from exporter.exposition.text import label_pairs
from exporter.model.fault import Reason
from exporter.model.snapshot import Number, Reading, SeriesKey, SourceStatus, metric_key
from exporter.runtime.status import Identity, identity_reading, status_readings

FULL = SourceStatus("s", up=True, devices=3, hung=("a",), last_success_wall_s=10.0, oldest_sample_monotonic_s=4.0, duration_s=0.5,
                    duty_ratio=0.01, faults={Reason.IO: 2})  # fmt: skip


def values(status: SourceStatus, now_s: float = 5.0) -> dict[SeriesKey, Number]:
    """The numbers of one source."""
    (reading,) = status_readings([status], now_s)
    return dict(reading.values)


def test_status_shows_what_is_known() -> None:
    """Age by monotonic time."""
    found = values(FULL)

    assert [found[f"exporter_{name}", "s"] for name in ("source_up", "source_devices", "source_devices_hung", "sample_age_seconds")] == [
        1,
        3,
        1,
        1.0,
    ]


def test_status_leaves_out_what_is_not_known() -> None:
    """Missing, not 0."""
    known = {metric_key(key) for key in values(SourceStatus("s", up=False, devices=0))}

    assert known == {"exporter_source_up", "exporter_source_devices", "exporter_source_devices_hung", "exporter_source_faults"}


def test_fault_counters_exist_at_zero_for_every_reason() -> None:
    """So that the first fault is an increase."""
    found = values(FULL)

    assert {reason: found["exporter_source_faults", "s", reason.value] for reason in Reason} == {
        reason: 2 if reason is Reason.IO else 0 for reason in Reason
    }


def test_identity_leaves_out_what_does_not_apply() -> None:
    """A one-shot command keeps no state and reloads nothing."""
    assert {metric_key(key) for key in identity_reading(Identity(simulated=True)).values} == {
        "exporter_build",
        "exporter_simulated",
    }


def test_identity_shows_state_and_reload() -> None:
    """0 and 1 for the flags, Unix time for the reload."""
    found = identity_reading(Identity(simulated=False, state_writable=False, reload_ok=True, reload_wall_s=7.5)).values

    assert [found[key] for key in list(found)[1:]] == [0, 0, 1, 7.5]


def test_every_number_of_ours_fits_its_row() -> None:
    """No key is unknown to the catalogue, no label is missing."""
    readings: list[Reading] = [*status_readings([FULL], 5.0), identity_reading(Identity(True, True, True, 1.0))]  # noqa: FBT003

    assert all(label_pairs(CATALOGUE[metric_key(key)], reading.entity, key) is not None for reading in readings for key in reading.values)
