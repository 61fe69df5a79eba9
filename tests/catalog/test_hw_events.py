"""The table of known hw_counters names."""

import pytest

from exporter.catalog.hw_events import DIRECTIONS, HW_EVENTS_KNOWN, HwEvent
from exporter.catalog.infiniband import HW_BYTES
from exporter.model.metric import Role

event_of = pytest.mark.parametrize(("name", "event"), HW_EVENTS_KNOWN.items(), ids=HW_EVENTS_KNOWN)


@event_of
def test_event_is_explained_in_a_sentence(name: str, event: HwEvent) -> None:
    """The reference shows these lines to operators."""
    assert event.help.endswith(".")
    assert event.help.strip() == event.help


@pytest.mark.parametrize("name", ["req_transport_retries_exceeded", "req_rnr_retries_exceeded", "max_retry_exceeded"])
def test_broken_connections_are_the_exceeded_counters(name: str) -> None:
    """A fatal sign is a retry limit that was passed."""
    assert HW_EVENTS_KNOWN[name].role is Role.RETRIES_EXCEEDED


def test_receiver_not_ready_is_no_sign_of_a_broken_connection() -> None:
    """NVSentinel calls any rnr_nak_retry_err fatal; NVIDIA's own text says the retry limit was NOT exceeded
    (prometheus/node_exporter#2827).
    """
    assert HW_EVENTS_KNOWN["rnr_nak_retry_err"].role is None


@pytest.mark.parametrize("name", ["req_cqe_flush_error", "resp_cqe_flush_error"])
def test_flush_errors_accuse_nobody(name: str) -> None:
    """They rise on every normal queue teardown."""
    assert HW_EVENTS_KNOWN[name].role is None


def test_lifespan_is_no_event() -> None:
    """It is a setting in milliseconds; one exporter shipped it as a counter (yuuki/rdma_exporter 8ba7f82)."""
    assert "lifespan" not in HW_EVENTS_KNOWN


def test_files_of_all_bytes_are_directions_and_no_events() -> None:
    """Bytes have a unit and a row of their own."""
    assert set(DIRECTIONS.values()) == {"transmit", "receive"}
    assert not set(DIRECTIONS) & set(HW_EVENTS_KNOWN)
    assert HW_BYTES.own_labels == ("direction",)
