"""When the service manager hears what: a sign of life only while the sampler advances, and none without somebody who wants it."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.daemon import Daemon
from exporter.cli.service import Service
from exporter.config.load import load
from exporter.runtime.clock import ManualClock
from exporter.runtime.service_manager import ServiceManager
from tests.cli.test_daemon_control import Hold
from tests.deploy.notify_socket import NotifySocket, notify_socket, says

STOPPED_S = 30.0
"""More than five of the shortest intervals."""


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[NotifySocket]:
    """At a path."""
    with notify_socket(str(tmp_path / "notify")) as made:
        yield made


@pytest.fixture
def clock() -> ManualClock:
    """The daemon's time, which a test moves on."""
    return ManualClock()


@pytest.fixture
def daemon(tmp_path: Path, clock: ManualClock) -> Iterator[Daemon]:
    """On a machine without hardware, its first pass done."""
    (tmp_path / "sys").mkdir()
    first = load(environ={"FABRIC_SOURCES_SYSFS_ROOT": f"{tmp_path}/sys", "FABRIC_STATE_DIR": f"{tmp_path}/state"}, flags={})
    made = Daemon(first, lambda: first, clock, gpus=Hold())
    until_s = time.monotonic() + 20
    while not made.ready()[0]:
        assert time.monotonic() < until_s, "no first pass"
        time.sleep(0.01)
    try:
        yield made
    finally:
        made.stop()


def heard(manager: NotifySocket) -> list[dict[str, str]]:
    """All that came."""
    while manager.hear(0.05):
        pass
    return [message.fields for message in manager.messages]


def test_a_sampler_that_stands_still_starves_the_watchdog(daemon: Daemon, clock: ManualClock, manager: NotifySocket) -> None:
    """So that the manager starts the daemon anew; the status says why, until it does."""
    service = Service(daemon, ServiceManager(manager.address, 60.0), clock)

    service.beat()
    alive = heard(manager)
    clock.advance(STOPPED_S)
    service.beat()
    stopped = heard(manager)[len(alive) :]

    assert {"WATCHDOG": "1"} in alive
    assert [fields for fields in stopped if "WATCHDOG" in fields] == []
    assert "the sampler has not advanced" in stopped[-1]["STATUS"]


def test_without_a_watchdog_no_sign_of_life_is_sent(daemon: Daemon, clock: ManualClock, manager: NotifySocket) -> None:
    """READY and status only."""
    service = Service(daemon, ServiceManager(manager.address), clock)

    service.beat()
    service.beat()

    assert [list(fields) for fields in heard(manager)][:1] == [["READY", "STATUS"]]
    assert [fields for fields in manager.messages if says("WATCHDOG")(fields)] == []


def test_ready_is_said_again_until_it_was_heard(daemon: Daemon, clock: ManualClock, tmp_path: Path) -> None:
    """A manager whose socket comes late would else never count the unit as started."""
    service = Service(daemon, ServiceManager(str(tmp_path / "late")), clock)

    service.beat()
    with notify_socket(str(tmp_path / "late")) as manager:
        service.beat()
        told = heard(manager)

    assert [fields["READY"] for fields in told] == ["1"]


def test_without_a_manager_the_feed_ends_at_once(daemon: Daemon, clock: ManualClock) -> None:
    """Nothing wakes up for nobody."""

    async def feed() -> None:
        await asyncio.wait_for(Service(daemon, ServiceManager(), clock).feed(asyncio.Event()), 5)

    asyncio.run(feed())
