"""One HCA and the scan above it: unplug and return, handles given back, folders that cannot be listed."""

import errno

import pytest

from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from tests.machine import Machine, machine, port_value, tree_names
from tests.sources.small_hca import CLASS, UP, Refused, fault_count, faults_of, hca, machine_of, names_of, tree_of

GONE = "mlx5_3"
PORT_FILES = {**UP, "counters/port_xmit_data": 1000, "counters/link_downed": 1, "hw_counters/out_of_buffer": 2}


def _about(seen: Machine, device: str) -> dict:
    """Every sample about a device, but for what rules say of its links: that it is gone is no reason to be silent."""
    shown = seen.samples.items()
    return {key: value for key, value in shown if ("device", device) in key[1] and not key[0].startswith("fabric_link_")}


@pytest.fixture
def node() -> Machine:
    """An H100 node that has been running for a while."""
    return machine("h100-8x-ndr400").run(20)


def test_series_of_an_unplugged_device_leave_at_once(node: Machine) -> None:
    """Within one fast interval for the notice and one for the new scan, all of them; no other device notices."""
    others = {
        key: value for key, value in node.samples.items() if ("device", GONE) not in key[1] and key[0].startswith("fabric_infiniband")
    }
    node.tree.remove(f"{CLASS}/{GONE}")
    node.run(10)

    assert _about(node, GONE) == {}
    assert others.items() <= node.samples.items()
    assert node.samples["fabric_exporter_source_devices", (("source", "infiniband"),)] == 9


def test_fast_series_of_an_unplugged_device_are_never_shown_with_old_numbers(node: Machine) -> None:
    """The first pass that meets ENODEV already takes them off the page."""
    node.tree.remove(f"{CLASS}/{GONE}")
    node.run(5)

    assert port_value(node.samples, "state_id", GONE) is None
    assert port_value(node.samples, "port_data_transmitted_bytes_total", GONE) is None


def test_a_device_that_returns_is_read_anew_under_its_old_name(node: Machine) -> None:
    """New handles, new numbers, every series it had before."""
    before = _about(node, GONE)
    counter = f"{CLASS}/{GONE}/ports/1/counters/port_xmit_data"
    gone = node.tree.remove(f"{CLASS}/{GONE}")
    node.run(30)
    node.tree.add(gone)
    node.tree.write(counter, b"10\n")
    opened = node.tree.opened[counter]
    node.run(20)

    assert set(_about(node, GONE)) == set(before)
    assert port_value(node.samples, "port_data_transmitted_bytes_total", GONE) == 40
    assert node.tree.opened[counter] == opened + 1


def test_a_device_that_was_away_between_two_passes_only_is_read_anew(node: Machine) -> None:
    """A driver reload that no scan has seen: kept handles are dead all the same."""
    before = set(_about(node, GONE))
    node.tree.add(node.tree.remove(f"{CLASS}/{GONE}"))
    node.tree.write(f"{CLASS}/{GONE}/ports/1/counters/port_xmit_data", b"10\n")
    node.run(20)

    assert set(_about(node, GONE)) == before
    assert port_value(node.samples, "port_data_transmitted_bytes_total", GONE) == 40


def test_handles_of_an_unplugged_device_are_all_given_back(node: Machine) -> None:
    """As many are open as before it came; a thousand cycles leak nothing."""
    held = node.tree.handles_open
    gone = node.tree.remove(f"{CLASS}/{GONE}")
    node.run(10)
    without = node.tree.handles_open
    for _ in range(5):
        node.tree.add(gone)
        node.run(20)
        node.tree.remove(f"{CLASS}/{GONE}")
        node.run(10)

    assert held - without == 3 + 21 + 32 + 3  # texts of the port, counters, hw_counters, texts of the device
    assert node.tree.handles_open == without


def test_stopping_gives_every_handle_back(node: Machine) -> None:
    """Each open that succeeded has its close: none is open, and a second close of one would have raised."""
    held = node.tree.handles_open
    node.sampler.stop()

    assert held > 500
    assert node.tree.handles_open == 0


def test_a_file_that_vanished_takes_its_series_along_and_is_not_asked_for_again(node: Machine) -> None:
    """Some hw_counters can be switched off while a driver runs."""
    path = f"{CLASS}/{GONE}/ports/1/hw_counters/out_of_buffer"
    before = set(_about(node, GONE))
    node.tree.remove(path)
    node.run(30)
    opened = node.tree.opened[path]
    node.run(60)

    assert {dict(labels).get("event") for _, labels in before - set(_about(node, GONE))} == {"out_of_buffer"}
    assert node.tree.opened[path] == opened


def test_a_file_that_appears_is_shown_after_the_next_slow_pass() -> None:
    """The layout is listed again every five minutes."""
    seen = machine_of(hca("mlx5_0", PORT_FILES))
    seen.tree.write(f"{CLASS}/mlx5_0/ports/1/hw_counters/packet_seq_err", b"4\n")
    seen.run(320)

    assert port_value(seen.samples, "hw_events_total", "mlx5_0", event="packet_seq_err") == 4


def test_a_device_that_appears_is_shown_after_the_next_scan() -> None:
    """No restart."""
    seen = machine_of(hca("mlx5_0", PORT_FILES))
    seen.tree.add(entry for entry in hca("mlx5_1", PORT_FILES))
    seen.run(15)

    assert names_of(seen, "mlx5_1") == names_of(seen, "mlx5_0")


@pytest.mark.parametrize("folder", ["counters", "hw_counters"])
def test_a_folder_that_cannot_be_listed_is_told_and_comes_back(folder: str) -> None:
    """Its counters must not be missing in silence, nor until the next slow pass."""
    tree = tree_of(hca("mlx5_0", PORT_FILES))
    path = f"{CLASS}/mlx5_0/ports/1/{folder}"
    tree.fail_open(path, errno.EMFILE)
    seen = Machine(tree)
    before, told = names_of(seen, "mlx5_0"), {(fault.subject, fault.reason) for fault in faults_of(seen)}
    tree.fail_open(path, None)
    seen.run(20)

    assert before >= {"state_id", "rate_bytes_per_second"}
    assert told == {(path, Reason.EXHAUSTED)}
    assert port_value(seen.samples, "hw_events_total", "mlx5_0", event="out_of_buffer") == 2
    assert port_value(seen.samples, "link_downed_total", "mlx5_0") == 1
    assert [fault.reason for fault in faults_of(seen) if fault.subject == path and fault.reason is not Reason.EXHAUSTED] == []


def test_a_port_that_cannot_be_listed_does_not_claim_to_have_no_counters() -> None:
    """counters_visible is absent, not 0: 0 sends a person to look for a network namespace."""
    tree = tree_of(hca("mlx5_0", PORT_FILES))
    tree.fail_open(f"{CLASS}/mlx5_0/ports/1", errno.EIO)

    assert "counters_visible" not in names_of(Machine(tree), "mlx5_0")


def test_a_class_folder_that_cannot_be_listed_keeps_the_devices_there_were(node: Machine) -> None:
    """A failed listing says nothing about the devices."""
    node.tree.fail_open(CLASS, errno.EMFILE)
    node.run(40)

    assert node.samples["fabric_exporter_source_devices", (("source", "infiniband"),)] == 10
    assert port_value(node.samples, "state_id", GONE) == 4
    assert fault_count(node, "exhausted") > 0


def test_no_class_folder_is_no_failure() -> None:
    """A machine without RDMA (prometheus/node_exporter#1511): up, no devices, and a word where it looked."""
    seen = machine("no-hardware")

    assert seen.samples["fabric_exporter_source_up", (("source", "infiniband"),)] == 1
    assert seen.scene.sources[0].looked_for == "InfiniBand and RoCE devices in /sys/class/infiniband"
    assert [fault.reason for fault in faults_of(seen)] in ([], [Reason.ABSENT])


def test_a_text_that_is_no_state_counts_as_a_fault_in_each_pass() -> None:
    """As every missing value does, whatever kind of file it comes from."""
    seen = machine_of(hca("mlx5_0", {**PORT_FILES, "phys_state": "upside down"}))
    first = fault_count(seen, "parse")
    seen.run(20)

    assert (first, fault_count(seen, "parse")) == (1, 5)


def test_readings_do_not_share_a_dictionary_from_pass_to_pass() -> None:
    """A snapshot, once made, never changes."""
    seen = machine_of(hca("mlx5_0", UP))
    before = next(snapshot for feed, snapshot in seen.scene.snapshots.items() if feed.cadence is Cadence.FAST and feed.subject)
    values = dict(before.readings[0].values)
    seen.tree.write(f"{CLASS}/mlx5_0/ports/1/state", b"1: DOWN\n")
    seen.run(5)

    assert before.readings[0].values == values


def test_hw_counters_of_unknown_names_are_bounded_and_the_bound_is_told() -> None:
    """Omni-Path has hundreds (prometheus/node_exporter#2023); known names are never left out."""
    files = {f"hw_counters/Odd{n}": n for n in range(300)}
    seen = machine_of(hca("hfi1_0", {**UP, **files, "hw_counters/out_of_buffer": 1}))
    events = [labels for name, labels in seen.samples if name == "fabric_infiniband_hw_events_total"]

    assert len(events) == 129
    assert port_value(seen.samples, "hw_events_total", "hfi1_0", event="out_of_buffer") == 1
    assert [(fault.reason, "172 are not read" in fault.detail) for fault in faults_of(seen)] == [(Reason.LIMIT, True)]


def test_a_device_without_a_readable_ports_folder_is_one_fault() -> None:
    """Not one a file, and no series."""
    tree = tree_of(hca("mlx5_0", PORT_FILES), hca("mlx5_1", {**PORT_FILES, "counters/link_downed": Refused(errno.EIO)}))
    tree.fail_open(f"{CLASS}/mlx5_0/ports", errno.EACCES)
    seen = Machine(tree)

    assert names_of(seen, "mlx5_0") == set()
    assert fault_count(seen, "denied") == 3  # one a cadence
    assert "state_id" in names_of(seen, "mlx5_1")


@pytest.mark.parametrize("name", tree_names())
def test_a_sweep_shows_what_the_first_slow_pass_showed(name: str) -> None:
    """Two ways through the same files, one page: every machine, first pass against later ones."""
    seen = machine(name)
    first = {key: value for key, value in seen.samples.items() if key[0].startswith("fabric_infiniband")}
    later = {key: value for key, value in seen.run(20).samples.items() if key[0].startswith("fabric_infiniband")}

    assert later == first
