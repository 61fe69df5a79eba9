"""The NVLink source over the shipped NVML of each profile: as many series as the hardware has, and none that it has not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from exporter.catalog import gpu as gpu_rows
from exporter.catalog import nvlink as rows
from exporter.model.fault import Fault
from exporter.model.metric import Cadence
from exporter.model.snapshot import Number, SeriesKey, Snapshot
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.nvlink_wiring import links_of
from exporter.simulator.profiles import (
    A100_PCIE_UNBRIDGED,
    GB200_TRAY,
    H100_PCIE_PAIRS,
    HGX_A100,
    HGX_B200,
    HGX_H100,
    NO_GPU_IB,
    ROCE_H200,
    V100,
    Profile,
)
from exporter.sources.nvlink import NvlinkSource
from tests.gpu_profiles import GPU_PROFILES

profiles = pytest.mark.parametrize("profile", GPU_PROFILES, ids=lambda profile: profile.name)


@dataclass
class Node:
    """A simulated node under the source, read by hand in virtual time."""

    profile: Profile
    now_s: float = 600.0
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nvml = FakeNvml(self.profile, 1, lambda: self.now_s)
        self.source = NvlinkSource(self.nvml, lambda _: True, full=True)

    def read(self) -> dict[tuple[str, str, SeriesKey], Number]:
        """One pass of everything: (device, port, series key) → number."""
        snapshots = list(self._snapshots())
        self.faults = [fault for snapshot in snapshots for fault in snapshot.faults]
        return {
            (str(reading.entity.label("device") or ""), str(reading.entity.label("port") or ""), key): value
            for snapshot in snapshots
            for reading in snapshot.readings
            for key, value in reading.values.items()
        }

    def _snapshots(self) -> Iterator[Snapshot]:
        scan = self.source.scan(1.8e9 + self.now_s, self.now_s)
        yield scan.snapshot
        for cadence in Cadence:
            for reader in scan.readers:
                yield reader.read(cadence, 1.8e9 + self.now_s, self.now_s)


def _count(seen: dict[tuple[str, str, SeriesKey], Number]) -> Counter[str]:
    """Series by row."""
    return Counter(key[0] if isinstance(key, tuple) else key for _, _, key in seen)


def _of(seen: dict[tuple[str, str, SeriesKey], Number], key: SeriesKey) -> dict[tuple[str, str], Number]:
    """(device, port) → number of one series key."""
    return {(device, port): value for (device, port, one), value in seen.items() if one == key}


@profiles
def test_a_healthy_node_has_no_faults(profile: Profile) -> None:
    """What a generation lacks is absent, and nothing is said of it; in the second pass as in the first."""
    node = Node(profile)
    node.read()
    first = list(node.faults)
    node.read()

    assert (first, node.faults) == ([], [])


@profiles
def test_every_wired_link_is_active_and_every_other_has_a_reason(profile: Profile) -> None:
    """Counted per GPU."""
    seen = Node(profile).read()
    wired = {(f"gpu{gpu}", str(link)) for gpu in range(len(profile.gpus)) for link in links_of(profile.nvlinks, gpu)}
    ports = {(f"gpu{number}", str(port)) for number, gpu in enumerate(profile.gpus) for port in range(gpu.model.ports)}
    states = _of(seen, rows.STATE.key)

    assert (set(states), {place for place, state in states.items() if state == rows.ACTIVE}) == (ports, wired)
    assert set(_of(seen, rows.PRESENCE.key)) == ports - wired
    assert _of(seen, gpu_rows.LINKS_ACTIVE.key) == {
        (f"gpu{gpu}", ""): len(links_of(profile.nvlinks, gpu)) for gpu in range(len(profile.gpus))
    }


@pytest.mark.parametrize(
    ("profile", "series"),
    [(HGX_H100, 144), (ROCE_H200, 144), (HGX_A100, 96), (HGX_B200, 144), (GB200_TRAY, 72), (H100_PCIE_PAIRS, 96),
     (A100_PCIE_UNBRIDGED, 0), (V100, 0)],
    ids=lambda value: value.name if isinstance(value, Profile) else str(value),
)  # fmt: skip
def test_bytes_are_those_of_wired_links_that_count(profile: Profile, series: int) -> None:
    """As many received as sent; each rises from step to step; the node's sums agree (but for the KiB that older ones count in)."""
    node = Node(profile)
    before = node.read()
    node.now_s += 60
    after = node.read()
    sent, received = _of(after, rows.TRANSMITTED.key), _of(after, rows.RECEIVED.key)

    assert (len(sent), len(received)) == (series, series)
    assert all(value > before[device, port, rows.RECEIVED.key] for (device, port), value in received.items())
    assert abs(sum(sent.values()) - sum(received.values())) <= 1024 * series


def test_kib_and_bytes_are_the_same_unit_in_the_end() -> None:
    """What the GPUs of a node with NDR rails send is what its generation counts, in bytes: seven times the rail's."""
    sent = {profile.name: sum(_of(Node(profile).read(), rows.TRANSMITTED.key).values()) for profile in (HGX_H100, HGX_B200)}

    assert sent["hgx-h100"] == pytest.approx(sent["hgx-b200"], rel=1e-6)


def test_a_v100_has_errors_by_the_call() -> None:
    """Replays, both kinds of CRC, recoveries; no power state and nothing of its bytes."""
    counted = _count(Node(V100).read())

    assert {key: counted[key] for key in ("nvlink_errors", "nvlink_recoveries", "nvlink_rate", "nvlink_power_state")} == {
        "nvlink_errors": 3 * 48, "nvlink_recoveries": 48, "nvlink_rate": 48, "nvlink_power_state": 0,
    }  # fmt: skip


def test_nobody_knows_whether_an_unbridged_card_should_have_links() -> None:
    """No link is accused, and none is expected."""
    seen = Node(A100_PCIE_UNBRIDGED).read()

    assert set(_of(seen, rows.PRESENCE.key).values()) == {rows.PRESENCE_UNKNOWN}
    assert set(_of(seen, (gpu_rows.EXPECTATION_INFO.key, "unknown"))) == {(f"gpu{n}", "") for n in range(4)}
    assert _of(seen, gpu_rows.LINKS_EXPECTED.key) == {}


def test_a_bridged_pair_is_known_by_its_symmetry() -> None:
    """Twelve of eighteen expected, since the other sees it on twelve; the six others were never wired."""
    seen = Node(H100_PCIE_PAIRS).read()

    assert _of(seen, gpu_rows.LINKS_EXPECTED.key) == {(f"gpu{n}", ""): 12 for n in range(8)}
    assert set(_of(seen, rows.PRESENCE.key).values()) == {rows.PRESENCE_UNWIRED}


@pytest.mark.parametrize("profile", [V100, HGX_A100, HGX_H100, ROCE_H200, HGX_B200, GB200_TRAY], ids=lambda profile: profile.name)
def test_a_board_is_known_by_its_name(profile: Profile) -> None:
    """And each link trained at the rate that the board has."""
    seen = Node(profile).read()
    links, rate = profile.gpus[0].model.ports, profile.gpus[0].model.rate_mb_per_s

    assert set(_of(seen, gpu_rows.LINKS_EXPECTED.key).values()) == {links}
    assert set(_of(seen, gpu_rows.RATE_EXPECTED.key).values()) == {rate * 10**6}
    assert set(_of(seen, rows.RATE.key).values()) == {rate * 1_000_000}


def test_a_blackwell_link_shows_what_blackwell_brought() -> None:
    """Sixteen bins, packets, registers, ratios that say "none"; no CRC and no replay."""
    seen = Node(HGX_B200).read()
    counted = _count(seen)
    kinds = {key[1] for _, _, key in seen if isinstance(key, tuple) and key[0] == rows.ERRORS.key}

    assert counted[rows.FEC.key] == 16 * 144
    assert counted[rows.PACKETS_TRANSMITTED.key] == counted[rows.TRANSMIT_WAIT.key] == counted[rows.LINK_DOWNS.key] == 144
    assert set(_of(seen, (rows.BIT_ERROR_RATIO.key, "effective")).values()) == {0.0}
    assert not kinds & {"crc", "replay", "crc_flit"}


def test_a_tray_is_of_its_racks_domain() -> None:
    """Cluster, clique, healthy; the place in the rack; five links to the Grace CPU; far ends without an address."""
    seen = Node(GB200_TRAY).read()
    counted = _count(seen)
    identities = [key for _, _, key in seen if isinstance(key, tuple) and key[0] == gpu_rows.INFO.key]
    far_ends = {key[1:3] for _, _, key in seen if isinstance(key, tuple) and key[0] == rows.INFO.key}
    rack = GB200_TRAY.rack

    assert rack is not None
    assert {key[-2:] for key in identities} == {(rack.cluster_uuid, str(rack.clique_id))}
    assert set(_of(seen, gpu_rows.FABRIC_HEALTHY.key).values()) == {1}
    assert (counted[gpu_rows.C2C_STATUS.key], counted[gpu_rows.PLATFORM_INFO.key]) == (20, 4)
    assert far_ends == {("switch", "")}


def test_a_node_without_gpus_says_why() -> None:
    """Its library is not found: one Fault, no series."""
    node = Node(NO_GPU_IB)

    assert node.read() == {}
    assert [fault.subject for fault in node.faults] == ["driver"]


def test_a_link_that_goes_down_costs_only_its_own_bytes() -> None:
    """143 of 144 go on; it is down, since the board wires it."""
    node = Node(HGX_H100)
    node.read()
    node.nvml.gpus.set_link(5, 7, 0)
    node.now_s += 30
    seen = node.read()

    assert len(_of(seen, rows.RECEIVED.key)) == 143
    assert _of(seen, rows.PRESENCE.key) == {("gpu5", "7"): rows.PRESENCE_DOWN}
    assert _of(seen, gpu_rows.LINKS_ACTIVE.key)["gpu5", ""] == 17


def test_one_field_call_a_gpu_and_family_and_pass() -> None:
    """Once everything was probed: states and bytes are two calls a GPU in a fast pass."""
    node = Node(HGX_H100)
    node.read()
    readers = node.source.scan(0.0, node.now_s).readers
    before = node.nvml.calls["read"]
    for reader in readers:
        reader.read(Cadence.FAST, 0.0, node.now_s)

    assert node.nvml.calls["read"] - before == 2 * 8
