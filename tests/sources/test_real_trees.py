"""Trees that others captured or wrote (FABRIC_TEST_DATA): every number is shown, under a naive reading of the files done here."""

import re
from functools import cache
from pathlib import Path

import pytest

from exporter.catalog.infiniband import PORT_COUNTERS
from exporter.model.quantity import UINT64_MAX
from exporter.simulator.archive import read_archive
from exporter.simulator.memory_tree import MemoryTree
from tests.machine import Machine, Samples, port_value
from tests.requires import need_data
from tests.sources.small_hca import CLASS

TREES = ("h100-gpud", "h100-pci-from-lspci", "node-exporter-fixtures", "procfs-fixtures", "rdma-exporter-basic", "rdma-exporter-efa",
         "rdma-exporter-guest_vf", "rdma-exporter-symlink", "rdma-exporter-vf")  # fmt: skip
NAME_OF = {row.raw: row.name.removeprefix("fabric_infiniband_") for row in PORT_COUNTERS}
WORDS = re.compile(r"port_(xmit|rcv)_data(_64)?")
tree_of = pytest.mark.parametrize("name", TREES)


@cache
def _captured(folder: Path, name: str) -> MemoryTree:
    return MemoryTree(read_archive(folder / "sysfs" / f"{name}.tree"))


@cache
def _seen(folder: Path, name: str) -> tuple[Machine, Samples]:
    machine = Machine(_captured(folder, name)).run(20)
    return machine, machine.samples


def _listed(tree: MemoryTree, path: str) -> list[str]:
    try:
        return tree.listdir(path)
    except OSError:
        return []


def _ports(tree: MemoryTree) -> list[tuple[str, str]]:
    return [(device, port) for device in _listed(tree, CLASS) for port in _listed(tree, f"{CLASS}/{device}/ports")]


def _said(tree: MemoryTree, path: str) -> str:
    return tree.pread(tree.open(path), 4096, 0).decode().strip()


def _expected(tree: MemoryTree, folder: str) -> dict[tuple[str, str, str], str]:
    """(device, port, file) → text of every file of one counter folder."""
    return {
        (device, port, file): _said(tree, f"{CLASS}/{device}/ports/{port}/{folder}/{file}")
        for device, port in _ports(tree)
        for file in _listed(tree, f"{CLASS}/{device}/ports/{port}/{folder}")
    }


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]+", text) and int(text) <= UINT64_MAX else None


def test_every_tree_of_the_data_is_looked_at() -> None:
    """A new capture must not lie there unread."""
    assert sorted(path.stem for path in (need_data() / "sysfs").glob("*.tree")) == sorted(TREES)


@tree_of
@pytest.mark.parametrize("folder", ["counters", "counters_ext"])
def test_every_port_counter_is_shown_with_its_value(name: str, folder: str) -> None:
    """Words are four bytes, all else is as it stands; what is no number is absent."""
    data = need_data()
    samples = _seen(data, name)[1]
    wrong = {}
    for (device, port, file), text in _expected(_captured(data, name), folder).items():
        number = _number(text)
        expected = number if number is None else number * (4 if WORDS.fullmatch(file) else 1)
        shown = port_value(samples, NAME_OF[f"{folder}/{file}"], device, port)
        if shown != expected:
            wrong[device, port, file] = (text, shown)

    assert wrong == {}


@tree_of
def test_every_driver_counter_is_shown_with_its_value(name: str) -> None:
    """Bytes by direction, lifespan in seconds, all else as an event of the driver's own name."""
    data = need_data()
    samples = _seen(data, name)[1]
    wrong = {}
    for (device, port, file), text in _expected(_captured(data, name), "hw_counters").items():
        number = _number(text)
        if file == "lifespan":
            shown, expected = port_value(samples, "hw_counters_lifespan_seconds", device, port), None if number is None else number / 1000
        elif file in ("rx_bytes", "tx_bytes"):
            direction = "receive" if file == "rx_bytes" else "transmit"
            shown, expected = port_value(samples, "hw_bytes_total", device, port, direction=direction), number
        elif file.endswith("_bytes"):
            shown, expected = port_value(samples, "hw_operation_bytes_total", device, port, operation=file), number
        else:
            shown, expected = port_value(samples, "hw_events_total", device, port, event=file), number
        if shown != expected:
            wrong[device, port, file] = (text, shown)

    assert wrong == {}


@tree_of
def test_every_port_has_its_state_and_rate(name: str) -> None:
    """Also those that write a state without its number, or a rate without its width."""
    data = need_data()
    tree, samples = _captured(data, name), _seen(data, name)[1]
    words = {"DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4}
    wrong = {}
    for device, port in _ports(tree):
        state, rate = (_said(tree, f"{CLASS}/{device}/ports/{port}/{file}") for file in ("state", "rate"))
        expected = int(state.split(":")[0]) if ":" in state else words[state], float(rate.split()[0]) * 125e6
        shown = tuple(port_value(samples, row, device, port) for row in ("state_id", "rate_bytes_per_second"))
        if shown != expected:
            wrong[device, port] = (state, rate, shown)

    assert wrong == {}


@tree_of
def test_a_captured_tree_shows_no_error_of_ours(name: str) -> None:
    """Dangling links, missing folders and odd texts are faults with a reason, never `bug`."""
    samples = _seen(need_data(), name)[1]

    assert samples["fabric_exporter_source_faults_total", (("reason", "bug"), ("source", "infiniband"))] == 0


def test_the_captured_h100_shows_bytes_and_its_full_counter() -> None:
    """230442669431839 words are 921770677727356 bytes; mlx5_1's 8-bit link_downed stands at 255, the others' do not."""
    samples = _seen(need_data(), "h100-gpud")[1]
    full = {dict(labels)["device"] for name, labels in samples if name.endswith("_saturated") and ("field", "link_downed") in labels}

    assert port_value(samples, "port_data_transmitted_bytes_total", "mlx5_0") == 921_770_677_727_356
    assert full == {"mlx5_1"}
