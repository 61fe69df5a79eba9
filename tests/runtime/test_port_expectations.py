"""What each port should run at, as the engine is told."""

from collections.abc import Mapping

import pytest

from exporter.catalog import ethernet, infiniband
from exporter.model.entity import Fabric, Link
from exporter.model.expected_ports import ExpectedPort, LinkLayer, PortSpeed
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.port_expectations import PortExpectations
from tests.signals.small_feeds import DOWN, PORT, UP, Player, identity, snapshot

NDR = {infiniband.STATE.key: 4, "ib_data_rate": 50_000_000_000, "ib_width": 4, "ib_lane_rate": 12_500_000_000}
HALF = {**NDR, "ib_data_rate": 25_000_000_000, "ib_width": 2}
RAILS = [Link(Fabric.INFINIBAND, f"mlx5_{number}", "1") for number in range(4)]


class Ports:
    """Ports under expectations, each on a card of its own."""

    def __init__(self, configured: Mapping[str, ExpectedPort] | None = None, learned: LearnedPorts | None = None) -> None:
        self.player = Player(expected={})
        self.expectations = PortExpectations(learned or LearnedPorts(None), configured or {})

    def see(self, values: Mapping[SeriesKey, Number], link: Link = PORT, pci: str = "") -> "Ports":
        """A pass over a port, and a tick."""
        card = identity(self.player.now_s, link, pci or f"0000:{link.device}")
        self.player.tick(card, snapshot(self.player.now_s, [(link, values)], subject=link.device))
        self.player.now_s += 5.0
        self.expectations.update(self.player.engine)
        return self

    def expected(self, link: Link = PORT) -> dict[Role, Number]:
        """What the engine knows now."""
        return self.player.engine.links[link].expected


def test_a_port_that_was_up_should_be_up_and_run_as_it_did() -> None:
    """Every figure it was seen at."""
    full = {Role.STATE: 1, Role.CAPACITY: 50_000_000_000, Role.WIDTH: 4, Role.LANE_RATE: 12_500_000_000}

    assert Ports().see(NDR).see(HALF).see({**NDR, infiniband.STATE.key: 1}).expected() == full


def test_of_a_port_that_was_never_up_nothing_is_expected() -> None:
    """An unprovisioned second port, its default rate included (NVIDIA/NVSentinel#1361)."""
    assert Ports().see({**NDR, infiniband.STATE.key: 1}).see(DOWN).expected() == {}


def test_a_port_that_does_not_say_where_it_sits_is_not_learned() -> None:
    """Tomorrow another card may go by its name."""
    ports = Ports()
    ports.player.tick(snapshot(1000.0, [(PORT, NDR)]))
    ports.expectations.update(ports.player.engine)

    assert ports.expected() == {}


def test_another_card_begins_anew() -> None:
    """It need not even be up."""
    assert Ports().see(NDR).see(DOWN, pci="0000:5a:00.0").expected() == {}


def test_a_restart_knows_what_was_learned() -> None:
    """A port that trained slow while the daemon was away is found."""
    learned = LearnedPorts(None)
    Ports(learned=learned).see(NDR)

    assert Ports(learned=learned).see(HALF).expected()[Role.WIDTH] == 4


def test_a_rail_that_never_trained_right_is_measured_by_its_sisters() -> None:
    """More than half of them, of three at least."""
    ports = Ports().see(HALF, RAILS[0])
    alone = dict(ports.expected(RAILS[0]))
    for link in RAILS[1:]:
        ports.see(NDR, link)

    assert (alone[Role.CAPACITY], ports.expected(RAILS[0])[Role.CAPACITY]) == (25_000_000_000, 50_000_000_000)
    assert ports.expected(RAILS[0])[Role.WIDTH] == 4


@pytest.mark.parametrize("seen", [[NDR, DOWN], [DOWN], [HALF]])
def test_what_is_configured_comes_first(seen: list[Mapping[SeriesKey, Number]]) -> None:
    """Whether up or off, and at which speed; the pattern matches the whole name."""
    ports = Ports({"mlx5_[0-7]": ExpectedPort(speed=PortSpeed(100, 4, 25)), "mlx5": ExpectedPort(is_up=False)})
    off = Ports({"mlx5_.*": ExpectedPort(is_up=False)})
    for values in seen:
        ports.see(values)
        off.see(values)

    assert ports.expected()[Role.STATE] == 1
    assert off.expected()[Role.STATE] == 0
    assert ports.expected().get(Role.CAPACITY) in (100, None)


def test_a_link_layer_that_is_configured_is_expected_of_a_port_that_was_never_up() -> None:
    """And nothing else is."""
    ports = Ports({"mlx5_[0-7]": ExpectedPort(None, layer=LinkLayer.ETHERNET)})

    assert ports.see(DOWN).expected() == {Role.LINK_LAYER: LinkLayer.ETHERNET}


def test_a_nic_without_rdma_is_learned_by_its_interface() -> None:
    """By carrier and speed, wherever its card sits; it never had anything to go by while nobody read its place."""
    link = Link(Fabric.ETHERNET, "eth0", "1")
    place = (ethernet.INFO.key, *({"pci": "0000:01:00.0"}.get(name, "") for name in ethernet.INFO.own_labels))
    ports = Ports()
    for carrier in (1, 0):
        now_s = ports.player.now_s
        ports.player.tick(
            snapshot(now_s, [(link, {"eth_carrier": carrier, "eth_speed": 1_250_000_000})], source="ethernet", cadence=Cadence.NORMAL),
            snapshot(now_s, [(link, {place: 1})], source="ethernet", cadence=Cadence.SLOW),
        )
        ports.expectations.update(ports.player.engine)

    assert ports.expected(link) == {Role.STATE: 1, Role.SPEED: 1_250_000_000}


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1, 0, 1e300])
def test_a_number_that_is_no_speed_is_not_learned(odd: float) -> None:
    """It would be missed for ever."""
    assert Ports().see({**UP, "ib_data_rate": odd, "ib_width": odd}).expected() == {Role.STATE: 1}
