"""What an RDMA port's files show before, during and after each fault that befalls it."""

import pytest

from exporter.catalog.infiniband import CLAMPS
from tests.simulator.faulty import Watched, planned

IB, ROCE = "infiniband/mlx5_3/1", "roce/mlx5_8/1"
LINE = 50_000_000_000
SENT = "counters/port_xmit_data"


def test_a_port_that_goes_down_says_so_in_every_file() -> None:
    """State, physical state, the rate that lies, carrier of the interface; the link_downed counter tells it afterwards."""
    node = Watched(planned("down", IB))
    names = ("state", "phys_state", "rate")

    assert [node.at(59).port(name) for name in names] == ["4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"]
    assert node.count("counters/link_downed") == 0
    assert [node.at(61).port(name) for name in names] == ["1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)"]
    assert [node.netdev(name) for name in ("carrier", "operstate", "speed")] == ["0", "down", "-1"]
    assert [node.at(121).port(name) for name in names] == ["4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"]
    assert [node.netdev(name) for name in ("carrier", "carrier_changes", "carrier_down_count")] == ["1", "4", "2"]
    assert node.count("counters/link_downed") == 1


def test_a_port_that_is_down_carries_nothing_and_its_bytes_stay() -> None:
    """Its counters stand still, and go on from there when it is up again; other ports know nothing of it."""
    node = Watched(planned("down", IB))

    assert node.growth(lambda: node.count(SENT), 60, 120) == 0
    assert node.growth(lambda: node.count(SENT), 120, 180) > 0

    other = Watched(planned("down", IB))

    assert other.growth(lambda: other.count(SENT, "mlx5_4"), 60, 120) > 0


@pytest.mark.parametrize(
    ("state", "shown"),
    [("disabled", ("1: DOWN", "3: Disabled")), ("init", ("2: INIT", "5: LinkUp")), ("polling", ("1: DOWN", "2: Polling"))],
)
def test_a_port_can_be_down_in_several_ways(state: str, shown: tuple[str, str]) -> None:
    """A subnet manager that is away leaves it in INIT."""
    node = Watched(planned("down", IB, state=state)).at(90)

    assert (node.port("state"), node.port("phys_state")) == shown


def test_a_roce_port_that_is_down_prints_the_default_of_its_driver() -> None:
    """40 Gb/s of four QDR lanes, whatever the card."""
    node = Watched(planned("down", ROCE)).at(90)

    assert [node.port(name, "mlx5_8") for name in ("state", "phys_state", "rate")] == ["1: DOWN", "3: Disabled", "40 Gb/sec (4X QDR)"]
    assert node.at(125).statistic("link_down_events_phy") == 1


def test_a_flapping_port_goes_down_as_often_as_planned() -> None:
    """Down for half of each period, however rarely somebody looks."""
    flapping = planned("flap", IB, until_s=None, period=20.0, count=3)
    node = Watched(flapping)
    states = [node.at(moment).port("state") for moment in (59, 61, 71, 81, 91, 101, 111, 121)]

    assert states == ["4: ACTIVE", "1: DOWN", "4: ACTIVE", "1: DOWN", "4: ACTIVE", "1: DOWN", "4: ACTIVE", "4: ACTIVE"]
    assert node.count("counters/link_downed") == 3
    assert Watched(flapping).at(200).count("counters/link_downed") == 3


def test_a_slower_lane_rate_shows_and_bursts_take_longer() -> None:
    """The same bytes a step at HDR as at NDR while they fit into the step; the burst lasts twice as long."""
    node = Watched(planned("rate", IB, to="200 Gb/sec (4X HDR)"))

    assert node.at(59).port("rate") == "400 Gb/sec (4X NDR)"
    assert node.at(61).port("rate") == "200 Gb/sec (4X HDR)"
    assert node.at(121).port("rate") == "400 Gb/sec (4X NDR)"

    slow, usual = (Watched(planned("rate", IB, until_s=None, to="200 Gb/sec (4X HDR)")) for _ in range(2))
    bytes_slow = slow.growth(lambda: slow.count(SENT), 64, 64 + 10 * 8)
    bytes_usual = usual.growth(lambda: usual.count(SENT, "mlx5_4"), 64, 64 + 10 * 8)

    assert bytes_slow == pytest.approx(bytes_usual, rel=0.02)


def test_no_port_carries_more_than_its_line_while_it_is_slow() -> None:
    """Second by second, while a rate or a factor holds it back."""
    node = Watched(planned("rate", IB, until_s=None, to="100 Gb/sec (4X EDR)"))
    node.at(61)

    assert max(node.growth(lambda: node.count(SENT), moment, moment + 1) * 4 for moment in range(61, 90)) <= LINE // 4


def test_a_lost_lane_shows_in_the_width_and_the_rate() -> None:
    """Two of four lanes carry half."""
    node = Watched(planned("width", IB, to=2))

    assert [node.at(moment).port("rate") for moment in (59, 61, 121)] == [
        "400 Gb/sec (4X NDR)",
        "200 Gb/sec (2X NDR)",
        "400 Gb/sec (4X NDR)",
    ]


def test_a_counter_grows_faster_while_the_fault_lasts() -> None:
    """By so many a second more; what was counted stays."""
    node = Watched(planned("counter_rate", IB, counter="symbol_error", per_second=2.5))
    name = "counters/symbol_error"

    assert node.growth(lambda: node.count(name), 0, 60) == 0
    assert node.growth(lambda: node.count(name), 60, 100) == 100
    assert node.growth(lambda: node.count(name), 120, 300) == 0
    assert node.count(name) == 150


def test_two_faults_of_one_counter_add_up() -> None:
    """Each ends by itself."""
    first = planned("counter_rate", IB, counter="symbol_error", per_second=1)
    second = planned("counter_rate", IB, at_s=80, until_s=100, counter="counters/symbol_error", per_second=10)
    node = Watched(first, second)

    assert [node.at(moment).count("counters/symbol_error") for moment in (80, 100, 120, 200)] == [20, 240, 260, 260]


def test_a_driver_counter_can_grow_too() -> None:
    """Those of hw_counters/, and the statistics of an Ethernet port."""
    node = Watched(
        planned("counter_rate", IB, counter="packet_seq_err", per_second=4),
        planned("counter_rate", ROCE, counter="rx_discards_phy", per_second=3),
    )

    assert node.growth(lambda: node.count("hw_counters/packet_seq_err"), 60, 70) == 40
    assert node.statistic("rx_discards_phy") == 30


def test_a_counter_jumps_and_counts_on() -> None:
    """To the value, from there on as usual; never above its width."""
    node = Watched(
        planned("counter_set", IB, until_s=None, counter="port_xmit_data", value=1000),
        planned("counter_set", IB, until_s=None, counter="link_downed", value=999),
    )
    node.at(60)

    assert node.count(SENT) == 1000
    assert node.count("counters/link_downed") == 255
    assert node.growth(lambda: node.count(SENT), 60, 68) > 0


def test_counters_are_reset_one_or_all() -> None:
    """As perfquery -R does; others keep theirs."""
    node = Watched(
        planned("counter_set", IB, at_s=10, until_s=None, counter="symbol_error", value=50),
        planned("counter_set", IB, at_s=10, until_s=None, counter="link_downed", value=5),
        planned("counter_reset", IB, at_s=60, until_s=None, counter="symbol_error"),
        planned("counter_reset", IB, at_s=90, until_s=None),
    )
    names = ("counters/symbol_error", "counters/link_downed", SENT)
    node.at(60)

    assert [node.count(name) for name in names[:2]] == [0, 5]
    assert node.count(SENT) > 0
    assert [node.at(90).count(name) for name in names] == [0, 0, 0]


def test_a_pinned_counter_stands_at_its_ceiling_and_starts_anew() -> None:
    """Whatever happens meanwhile; nobody but a reset frees it."""
    node = Watched(planned("saturate", IB, counter="port_xmit_wait"), planned("stall", IB, at_s=70, until_s=80, ratio=0.5))
    name = "counters/port_xmit_wait"

    assert [node.at(moment).count(name) for moment in (60, 75, 119)] == [CLAMPS["port_xmit_wait"]] * 3
    assert node.at(120).count(name) == 0


def test_a_stalled_port_counts_ticks_for_that_share_of_time() -> None:
    """Ticks of eight bytes at the rate it has: 0.2 % of 50 GB/s. At 5 % its 32 bits would last 14 s, as on real nodes."""
    node = Watched(planned("stall", IB, ratio=0.002), pattern="none")

    assert node.growth(lambda: node.count("counters/port_xmit_wait"), 60, 100) == 40 * LINE * 2 // 1000 // 8
    assert node.growth(lambda: node.count("counters/port_xmit_wait"), 120, 160) == 0


def test_a_slow_rail_takes_longer_for_the_same_bytes() -> None:
    """Twice as long: mean bytes stay, the share of seconds with traffic rises (research finding 1)."""
    slow, usual = Watched(planned("slow", IB, until_s=None, factor=2.0)), Watched()

    def seconds(node: Watched) -> list[int]:
        return [node.growth(lambda: node.count(SENT), 64 + number * 0.1, 64 + number * 0.1 + 0.1) for number in range(800)]

    slow_s, usual_s = seconds(slow), seconds(usual)

    assert sum(slow_s) == pytest.approx(sum(usual_s), rel=0.02)
    assert sum(1 for sent in slow_s if sent) == pytest.approx(2 * sum(1 for sent in usual_s if sent), rel=0.15)
    assert max(slow_s) == pytest.approx(max(usual_s) / 2, rel=0.02)


def test_marked_packets_are_a_share_of_those_received() -> None:
    """One in fifty; notifications follow."""
    node = Watched(planned("ecn", ROCE, ratio=0.02), pattern="steady")
    packets = node.growth(lambda: node.count("counters/port_rcv_packets", "mlx5_8"), 60, 100)
    counted = Watched(planned("ecn", ROCE, ratio=0.02), pattern="steady")
    marked = counted.growth(lambda: counted.count("hw_counters/np_ecn_marked_roce_packets", "mlx5_8"), 60, 100)

    assert marked == pytest.approx(0.02 * packets, rel=0.01)


@pytest.mark.parametrize(("direction", "side"), [("receive", "rx"), ("transmit", "tx")])
def test_a_paused_priority_counts_its_microseconds(direction: str, side: str) -> None:
    """A fifth of the time, on the lossless priority, in one direction."""
    node = Watched(planned("pause", ROCE, ratio=0.2, direction=direction), pattern="none")

    assert node.growth(lambda: node.statistic(f"{side}_prio3_pause_duration"), 60, 100) == 8_000_000
    assert node.growth(lambda: node.statistic(f"{side}_prio3_pause_duration"), 120, 160) == 0


def test_a_pattern_befalls_every_port_that_it_names() -> None:
    """And no other."""
    node = Watched(planned("down", "infiniband/*/1")).at(90)

    assert {node.port("state", f"mlx5_{number}") for number in range(8)} == {"1: DOWN"}
    assert {node.port("state", f"mlx5_{number}") for number in (8, 9)} == {"4: ACTIVE"}


def test_an_interface_without_an_rdma_device_loses_its_carrier() -> None:
    """Its changes stay counted when it is back."""
    node = Watched(planned("down", "ethernet/eno1/1"), node="roce-h200")
    names = ("carrier", "operstate", "carrier_changes", "carrier_down_count")

    def shown(moment: float) -> list[str | None]:
        node.at(moment)
        return [node.text(f"class/net/eno1/{name}") for name in names]

    assert shown(59) == ["1", "up", "2", "1"]
    assert shown(61) == ["0", "down", "3", "2"]
    assert shown(121) == ["1", "up", "4", "2"]


def test_an_interface_negotiates_a_lower_speed() -> None:
    """In Mb/s, as its file has it; its carrier stays."""
    node = Watched(planned("rate", "ethernet/eno1/1", to="1000 Mb/s"), node="roce-h200")
    seen = [tuple(node.at(moment).text(f"class/net/eno1/{name}") for name in ("speed", "carrier")) for moment in (59, 61, 121)]

    assert seen == [("10000", "1"), ("1000", "1"), ("10000", "1")]
