"""How reads fail in the field: each known case with the incident it comes from. What can be read is shown, what cannot is absent.

Numbers in brackets are those of the project's list of failure cases.
"""

import errno
from collections.abc import Mapping

import pytest

from exporter.catalog.infiniband import CLAMPS, PORT_COUNTERS
from exporter.model.entity import Fabric, Link
from exporter.model.fault import Reason
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Feed
from exporter.sources.device_filter import DeviceFilter
from tests.machine import Machine, machine, port_value
from tests.sources.growth_between import growth_between, value_in
from tests.sources.small_hca import CLASS, UP, Refused, Said, fault_count, faults_of, hca, machine_of, names_of, tree_of

NO_MEANS = Refused(errno.EINVAL)
PMA: Mapping[str, Said] = {row.raw: number for number, row in enumerate(PORT_COUNTERS, 1) if row.raw.startswith("counters/")}
"""Every file of counters/ there is a row for, each with a number of its own."""

COUNTER_NAMES = {row.name.removeprefix("fabric_infiniband_") for row in PORT_COUNTERS if row.raw in PMA}
BELIEVED = {"data_rate_bytes_per_second", "width_lanes", "lane_rate_bytes_per_second"}
NEIGHBOUR = "mlx5_9"


def _beside_a_neighbour(*devices: list) -> Machine:
    """The devices of a case beside one that has nothing wrong with it."""
    return machine_of(*devices, hca(NEIGHBOUR, {**UP, **PMA}))


def _neighbour_is_whole(seen: Machine) -> bool:
    return COUNTER_NAMES | BELIEVED | {"state_id", "physical_state_id", "rate_bytes_per_second"} <= names_of(seen, NEIGHBOUR)


def _rate_facts(seen: Machine, device: str) -> tuple[float | None, ...]:
    """State, physical state, printed rate, width and lane rate."""
    names = ("state_id", "physical_state_id", "rate_bytes_per_second", "width_lanes", "lane_rate_bytes_per_second")
    samples = seen.samples
    return tuple(port_value(samples, name, device) for name in names)


def test_counters_that_say_not_available_are_absent_and_never_zero() -> None:
    """[1] Kernels before about 4.20 print `N/A (no PMA)` in every file (prometheus/node_exporter#966, #974)."""
    seen = _beside_a_neighbour(hca("mlx4_0", {**UP, **dict.fromkeys(PMA, "N/A (no PMA)")}))

    assert names_of(seen, "mlx4_0") & COUNTER_NAMES == set()
    assert names_of(seen, "mlx4_0") >= {"state_id", "rate_bytes_per_second"}
    assert fault_count(seen, "unsupported") == len(PMA)
    assert _neighbour_is_whole(seen)


def test_one_counter_that_answers_einval_costs_only_itself() -> None:
    """[2] VL15_dropped of a ConnectX-7 (prometheus/node_exporter#3265, prometheus/procfs#704, DataDog/integrations-core#22158)."""
    seen = _beside_a_neighbour(hca("mlx5_0", {**UP, **PMA, "counters/VL15_dropped": NO_MEANS}))

    assert COUNTER_NAMES - names_of(seen, "mlx5_0") == {"vl15_dropped_total"}
    assert fault_count(seen, "unsupported") == 1
    assert _neighbour_is_whole(seen)


def test_a_function_that_fabric_manager_owns_is_told_apart_and_left_alone() -> None:
    """[3] Counters of Limited PFs raise EINVAL and spam the kernel log (prometheus/node_exporter#3434, leptonai/gpud#1164, #1167)."""
    vpd = {"device/vpd": "ConnectX-7 bridge\nVA=MLX:MN=MLNX:SMDL=SW_MNG:PCI=V0"}
    tree = tree_of(hca("mlx5_12", {**UP, **dict.fromkeys(PMA, NO_MEANS)}, device_files=vpd), hca(NEIGHBOUR, {**UP, **PMA}))
    seen = Machine(tree).run(400)

    assert [path for path in tree.opened if path.startswith(f"{CLASS}/mlx5_12/ports")] == []
    assert names_of(seen, "mlx5_12") == {"excluded_info"}
    assert ("fabric_infiniband_excluded_info", (("device", "mlx5_12"), ("reason", "limited_pf"))) in seen.samples
    assert _neighbour_is_whole(seen)


def test_an_excluded_device_is_never_opened() -> None:
    """[4] node_exporter filtered after it had read (prometheus/node_exporter#3823, #3762, #3694)."""
    left_alone = [hca(f"mlx5_{n}", {**UP, **PMA}, device_files={"fw_ver": "28.1"}) for n in range(12, 16)]
    tree = tree_of(*left_alone, hca(NEIGHBOUR, {**UP, **PMA}))
    seen = Machine(tree, DeviceFilter(exclude=["mlx5_1[2-5]"]).wants).run(400)

    assert {path.split("/")[2] for path in tree.opened} == {NEIGHBOUR}
    assert names_of(seen, "mlx5_12") == {"excluded_info"}
    assert _neighbour_is_whole(seen)


@pytest.mark.parametrize("state", ["1: DOWN", "4: ACTIVE"])
def test_a_rate_that_answers_einval_costs_only_what_comes_from_it(state: str) -> None:
    """[5] Azure MANA (prometheus/node_exporter#3810), a port without a cable (linux-rdma/rdma-core#239)."""
    seen = _beside_a_neighbour(hca("mana_0", {**UP, **PMA, "state": state, "rate": NO_MEANS}))

    assert _rate_facts(seen, "mana_0") == (int(state[0]), 5, None, None, None)
    assert names_of(seen, "mana_0") >= COUNTER_NAMES
    assert fault_count(seen, "unsupported") == 1
    assert _neighbour_is_whole(seen)


def test_a_device_without_counters_folder_is_shown_and_costs_no_other() -> None:
    """[6] irdma (prometheus/node_exporter#2769, #2846, prometheus/procfs#589, #605, #687, influxdata/telegraf#14049)."""
    seen = _beside_a_neighbour(hca("irdma0", {**UP, "hw_counters/cnpHandled": 7}, driver="irdma"))

    assert port_value(seen.samples, "hw_events_total", "irdma0", event="cnpHandled") == 7
    assert port_value(seen.samples, "state_id", "irdma0") == 4
    assert faults_of(seen) == []
    assert _neighbour_is_whole(seen)


def test_a_folder_that_refuses_every_file_is_backed_off_and_the_other_folder_is_shown() -> None:
    """[7] bnxt_re answers EINVAL in all of counters/ (prometheus/procfs#675)."""
    tree = tree_of(hca("bnxt_re0", {**UP, **dict.fromkeys(PMA, NO_MEANS), "hw_counters/rx_bytes": 7521}, driver="bnxt_en"))
    seen = Machine(tree)
    opened = sum(count for path, count in tree.opened.items() if "/counters/" in path)
    seen.run(55)
    opened_since = sum(count for path, count in tree.opened.items() if "/counters/" in path) - opened

    assert port_value(seen.samples, "hw_bytes_total", "bnxt_re0", direction="receive") == 7521
    assert names_of(seen, "bnxt_re0") & COUNTER_NAMES == set()
    assert (opened <= 6, opened_since) == (True, 0)


def test_a_counter_name_that_no_metric_name_can_hold_becomes_a_label() -> None:
    """[8] hfi1's `SwLinkUp,32` (prometheus/node_exporter#2023)."""
    seen = machine_of(hca("hfi1_0", {**UP, "hw_counters/SwLinkUp,32": 3}, driver="hfi1"))

    assert port_value(seen.samples, "hw_events_total", "hfi1_0", event="SwLinkUp,32") == 3


def test_counters_at_their_ceiling_are_shown_and_marked() -> None:
    """[9] Seen at once on a real H100 node (leptonai/gpud#943): exactly the four that are full."""
    full = {"link_downed": 255, "port_xmit_discards": 65535, "excessive_buffer_overrun_errors": 15, "port_xmit_wait": 4294967295}
    said = {**{f"counters/{name}": value for name, value in full.items()}, "counters/symbol_error": 0, "counters/unicast_xmit_packets": 9}
    samples = machine_of(hca("mlx5_0", {**UP, **said})).samples
    marked = {dict(labels)["field"] for name, labels in samples if name == "fabric_infiniband_saturated"}

    assert marked == set(full)
    assert port_value(samples, "link_downed_total", "mlx5_0") == 255
    assert port_value(samples, "port_transmit_wait_total", "mlx5_0") == 4294967295
    assert port_value(samples, "symbol_error_total", "mlx5_0") == 0


@pytest.mark.parametrize("name", CLAMPS)
def test_a_counter_one_short_of_its_ceiling_still_counts(name: str) -> None:
    """[9] The other side of the same line."""
    seen = machine_of(hca("mlx5_0", {**UP, f"counters/{name}": CLAMPS[name] - 1, "counters/unicast_xmit_packets": 9}))

    assert "saturated" not in names_of(seen, "mlx5_0")


@pytest.mark.parametrize("width", ["1X", "2X", "4X", "8X", "12X"])
def test_data_counters_are_four_byte_words_at_every_width(width: str) -> None:
    """[11] Not four lanes, as Atoptool/atop#131 and a DataDog integration have it."""
    seen = machine_of(hca("mlx5_0", {**UP, "rate": f"200 Gb/sec ({width} NDR)", "counters/port_xmit_data": 1000}))

    assert port_value(seen.samples, "port_data_transmitted_bytes_total", "mlx5_0") == 4000


def test_a_counter_that_fell_between_two_passes_has_no_rate() -> None:
    """[13] Azure/Moneo adds 2^64 and reports 7e20 bytes a second."""
    tree = tree_of(hca("mlx5_0", {**UP, "counters/port_xmit_data": 5000}))
    seen = Machine(tree)
    feed, port = Feed("infiniband", "mlx5_0", Cadence.FAST), Link(Fabric.INFINIBAND, "mlx5_0", "1")
    before = seen.scene.snapshots[feed]
    tree.write(f"{CLASS}/mlx5_0/ports/1/counters/port_xmit_data", b"40\n")
    after = seen.run(5).scene.snapshots[feed]

    assert [value_in(pass_, port, "ib_data_transmitted") for pass_ in (before, after)] == [20_000, 160]
    assert growth_between(before, after, port, Role.TX_BYTES) is None
    assert growth_between(before, before, port, Role.TX_BYTES) == 0


def test_a_roce_port_that_is_down_shows_no_downgrade() -> None:
    """[14] mlx5 prints `40 Gb/sec (4X QDR)` for any RoCE port that is down (torvalds/linux hw/mlx5/main.c)."""
    said = {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "40 Gb/sec (4X QDR)", "link_layer": "Ethernet"}

    assert _rate_facts(machine_of(hca("mlx5_0", said)), "mlx5_0") == (1, 3, 5_000_000_000, None, None)


def test_an_infiniband_port_that_is_down_shows_no_downgrade() -> None:
    """[15] It prints `10 Gb/sec (4X SDR)` whatever its speed was (linux-rdma/rdma-core#847)."""
    said = {**UP, "state": "1: DOWN", "phys_state": "2: Polling", "rate": "10 Gb/sec (4X SDR)"}

    assert _rate_facts(machine_of(hca("mlx5_0", said)), "mlx5_0") == (1, 2, 1_250_000_000, None, None)


def test_the_slowest_rate_is_two_and_a_half_gigabits() -> None:
    """[16] A naive pattern reads `2.5` as 5 (MrBr-github/lshca#79)."""
    seen = machine_of(hca("mlx5_0", {**UP, "rate": "2.5 Gb/sec (1X SDR)"}))

    assert _rate_facts(seen, "mlx5_0") == (4, 5, 312_500_000, 1, 312_500_000)
    assert port_value(seen.samples, "data_rate_bytes_per_second", "mlx5_0") == 250_000_000


def test_a_rate_without_its_generation_is_sdr_where_the_lane_speed_proves_it() -> None:
    """[17] Kernels before 4.x print `10 Gb/sec (4X)`."""
    seen = machine_of(hca("mlx4_0", {**UP, "rate": "10 Gb/sec (4X)"}))

    assert _rate_facts(seen, "mlx4_0") == (4, 5, 1_250_000_000, 4, 312_500_000)
    assert port_value(seen.samples, "data_rate_bytes_per_second", "mlx4_0") == 1_000_000_000


@pytest.mark.parametrize(
    ("text", "rate", "lane_rate"),
    [("200 Gb/sec (2X NDR)", 25e9, 12.5e9), ("100 Gb/sec (2X HDR)", 12.5e9, 6.25e9), ("200 Gb/sec (4X HDR)", 25e9, 6.25e9)],
)
def test_lost_lanes_and_lost_speed_are_different_facts(text: str, rate: float, lane_rate: float) -> None:
    """[19] 200 Gb/s as 2X NDR lost lanes (or is a split), as 4X HDR it fell back in speed; which is a fault, only an expectation tells."""
    lanes = int(text.split("(")[1][0])

    assert _rate_facts(machine_of(hca("mlx5_0", {**UP, "rate": text})), "mlx5_0") == (4, 5, rate, lanes, lane_rate)


def test_a_device_seen_from_another_network_namespace_says_so_once_a_pass() -> None:
    """[22] Its ports have state and rate, no counters of any kind (sysfs core setup_port; prometheus/node_exporter#2427)."""
    seen = _beside_a_neighbour(hca("mlx5_0", UP))
    hints = [fault for fault in faults_of(seen) if fault.reason is Reason.ABSENT]

    assert port_value(seen.samples, "counters_visible", "mlx5_0") == 0
    assert port_value(seen.samples, "counters_visible", NEIGHBOUR) == 1
    assert [(fault.subject, "network namespace" in fault.detail.replace("host's ", "")) for fault in hints] == [
        (f"{CLASS}/mlx5_0/ports/1", True)
    ]


def test_a_driver_that_has_no_counters_by_design_gets_no_namespace_hint() -> None:
    """[22] Soft RoCE and EFA ports without counters are complete as they are."""
    seen = machine_of(hca("rxe0", UP, driver="rdma_rxe"))

    assert faults_of(seen) == []


def test_efa_is_neither_infiniband_nor_roce() -> None:
    """[23] Its state is always ACTIVE and its link layer `Unknown` (NVIDIA/NVSentinel documentation)."""
    seen = machine_of(hca("rdmap0s6", {**UP, "link_layer": "Unknown", "rate": "100 Gb/sec (4X EDR)"}, driver="efa"))
    fast = seen.scene.snapshots[Feed("infiniband", "rdmap0s6", Cadence.FAST)]
    layers = {dict(labels)["link_layer"] for name, labels in seen.samples if name == "fabric_infiniband_port_info"}

    assert [reading.entity for reading in fast.readings] == [Link(Fabric.EFA, "rdmap0s6", "1")]
    assert layers == {"Unknown"}


def test_lifespan_is_a_setting_in_seconds_and_no_event() -> None:
    """[24] One exporter shipped it as `_total` (yuuki/rdma_exporter 8ba7f82)."""
    samples = machine_of(hca("mlx5_0", {**UP, "hw_counters/lifespan": 10, "hw_counters/rx_drops": 1})).samples

    assert port_value(samples, "hw_counters_lifespan_seconds", "mlx5_0") == 0.01
    assert port_value(samples, "hw_events_total", "mlx5_0", event="lifespan") is None


@pytest.mark.parametrize("text", ["abc", ""])
def test_a_counter_that_is_no_number_is_skipped_with_reason_parse(text: str) -> None:
    """[24] yuuki/rdma_exporter#12, #13, #16."""
    seen = machine_of(hca("mlx5_0", {**UP, **PMA, "counters/symbol_error": text}))

    assert COUNTER_NAMES - names_of(seen, "mlx5_0") == {"symbol_error_total"}
    assert [(fault.subject.rsplit("/", 1)[-1], fault.reason) for fault in faults_of(seen)] == [("symbol_error", Reason.PARSE)]


def test_a_virtual_function_is_told_by_its_physfn_link() -> None:
    """[24] The host sees the link, a guest does not (yuuki/rdma_exporter's trees)."""
    facts = [dict(labels) for name, labels in machine("sriov-host").samples if name == "fabric_infiniband_port_info"]

    assert {fact["device"]: fact["is_vf"] for fact in facts} == {
        "mlx5_0": "false", "mlx5_1": "false", "mlx5_2": "true", "mlx5_3": "true",
    }  # fmt: skip
