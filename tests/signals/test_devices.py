"""What a GPU says of its place in its NVLink domain, and for how long it may take to join it."""

from exporter.catalog import gpu
from exporter.model.health import Finding, Why
from exporter.signals.devices import JOINS_S, Devices

COMPLETED = {gpu.FABRIC_STATE.key: 3, gpu.FABRIC_HEALTHY.key: 1}
IN_PROGRESS = {gpu.FABRIC_STATE.key: 2}
WELL = Finding(Why.FABRIC_UNHEALTHY, holds=False)


def test_a_gpu_may_take_its_time_to_join() -> None:
    """Nobody knows yet whether its domain is well."""
    devices = Devices()

    assert [devices.look("gpu0", IN_PROGRESS, at_s)[1] for at_s in (50.0, 50.0 + JOINS_S - 1)] == [None, None]


def test_one_that_never_joins_is_not_well() -> None:
    """No fabric manager ran for 20 days while all else was green (NVIDIA/NVSentinel#891)."""
    devices = Devices()
    devices.look("gpu0", IN_PROGRESS, 50.0)
    finding = devices.look("gpu0", IN_PROGRESS, 50.0 + JOINS_S)[1]

    assert finding == Finding(Why.FABRIC_UNHEALTHY, holds=True,
                              evidence="the GPU has not joined its NVLink domain for 10 min: does the fabric manager run?")  # fmt: skip


def test_each_time_it_joins_the_wait_begins_anew() -> None:
    """A driver that is loaded again makes it join again."""
    devices = Devices()
    devices.look("gpu0", IN_PROGRESS, 50.0)

    assert devices.look("gpu0", COMPLETED, 300.0)[1] == WELL
    assert devices.look("gpu0", IN_PROGRESS, 400.0)[1] is None
    assert devices.look("gpu0", IN_PROGRESS, 400.0 + JOINS_S - 1)[1] is None


def test_a_gpu_without_a_domain_waits_for_none() -> None:
    """Its state is 0, unsupported, or it says nothing."""
    devices = Devices()
    said = ({gpu.FABRIC_STATE.key: 0}, {})

    assert [devices.look("gpu0", values, at_s)[1] for values in said for at_s in (0.0, 2 * JOINS_S)] == [None] * 4
