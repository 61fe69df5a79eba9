"""The headline promise: one file that cannot be read costs exactly the series that come from it, wherever and however it fails."""

import errno
from dataclasses import dataclass
from functools import cache

from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.catalog.infiniband import PORT_COUNTERS
from exporter.simulator.archive import Entry, File, Symlink, parse_archive
from exporter.simulator.memory_tree import MemoryTree
from tests.machine import MACHINES, Machine, Samples

CODES = ("EINVAL", "EIO", "EACCES", "EPERM", "ENODEV", "ENXIO", "ENOENT", "EAGAIN", "EINTR", "EMFILE", "ENOMEM", "EISDIR", "ETIMEDOUT",
         "ENOSYS", "EOPNOTSUPP", "EBUSY", "ESPIPE", "EREMOTEIO")  # fmt: skip
FROM_STATES = {"data_rate_bytes_per_second", "width_lanes", "lane_rate_bytes_per_second"}
COMES_FROM = {
    "state": {"state_id", *FROM_STATES},
    "phys_state": {"physical_state_id", *FROM_STATES},
    "rate": {"rate_bytes_per_second", *FROM_STATES},
    "link_layer": {"port_info", "data_rate_bytes_per_second"},
    "fw_ver": {"info"},
    "board_id": {"info"},
    "hca_type": {"info"},
    "numa_node": {"port_info"},
    "dev_port": {"port_info"},
}
"""File outside the counter folders → short names of the series that come from it. Others are not read at all."""

NAME_OF = {row.raw: row.name.removeprefix("fabric_infiniband_") for row in PORT_COUNTERS}


@dataclass(frozen=True, slots=True)
class Spoilt:
    """One file made bad: a read error, an open error or other bytes."""

    path: str
    code: str = ""
    at_open: bool = False
    junk: bytes = b""

    def apply(self, tree: MemoryTree) -> None:
        """Make it so."""
        if not self.code:
            tree.write(self.path, self.junk)
        elif self.at_open:
            tree.fail_open(self.path, getattr(errno, self.code))
        else:
            tree.fail(self.path, getattr(errno, self.code))


@cache
def _entries() -> tuple[Entry, ...]:
    return parse_archive((MACHINES / "h100-8x-ndr400.tree").read_text(encoding="utf-8"))


@cache
def _sound() -> Samples:
    """What the machine shows with nothing spoilt."""
    return _hardware(Machine(MemoryTree(_entries())).run(20))


@cache
def _device_of() -> dict[str, str]:
    """PCI folder → device name."""
    return {entry.target.split("/infiniband/")[0].removeprefix("../../"): entry.path.rsplit("/", 1)[-1]
            for entry in _entries() if isinstance(entry, Symlink) and entry.path.startswith("class/infiniband/")}  # fmt: skip


def _hardware(machine: Machine) -> Samples:
    return {key: value for key, value in machine.samples.items() if key[0].startswith("fabric_infiniband_")}


def _may_change(path: str, name: str, labels: dict[str, str]) -> bool:
    """Whether a series comes from the file, told from the layout alone."""
    device = next(device for folder, device in _device_of().items() if path.startswith(folder + "/"))
    folder, file = path.split("/")[-2:]
    if labels.get("device") != device:
        return False
    if folder == "hw_counters":
        return labels.get("event") == file or (file == "lifespan" and name == "hw_counters_lifespan_seconds")
    if folder == "counters":
        return name == NAME_OF[f"counters/{file}"] or (name == "saturated" and labels["field"] == file)
    return name in COMES_FROM.get(file, ())


def _files() -> list[str]:
    return [entry.path for entry in _entries() if isinstance(entry, File) and entry.path.startswith(tuple(f + "/" for f in _device_of()))]


paths = st.sampled_from(_files())
junk = st.one_of(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\n", b"N/A (no PMA)\n", b"-1\n", b"4294967295\n", b"5: \xff\n", b"1: DOWN\n", b"40 Gb/sec (4X QDR)\n"]),
)
spoilt = st.one_of(
    st.builds(Spoilt, paths, st.sampled_from(CODES), st.booleans()),
    st.builds(Spoilt, paths, junk=junk),
)
FIRST = next(path for path in _files() if path.endswith("/counters/port_xmit_data"))


@given(spoilt, st.booleans())
@settings(max_examples=80)
@example(bad=Spoilt(FIRST, "ENODEV"), from_the_start=False)
@example(bad=Spoilt(FIRST, "ENXIO"), from_the_start=True)
@example(bad=Spoilt(FIRST, "ENOENT", at_open=True), from_the_start=False)
@example(bad=Spoilt(FIRST.replace("counters/port_xmit_data", "state"), "ENODEV"), from_the_start=True)
@example(bad=Spoilt(FIRST.replace("counters/port_xmit_data", "link_layer"), "EIO"), from_the_start=False)
def test_one_bad_file_costs_exactly_its_own_series(bad: Spoilt, from_the_start: bool) -> None:  # noqa: FBT001
    """Any file of the node, any errno or bytes, from the start or later: every series that does not come from it is unchanged, and no
    error of ours is counted.
    """
    tree = MemoryTree(_entries())
    if from_the_start:
        bad.apply(tree)
    machine = Machine(tree)
    bad.apply(tree)
    seen = _hardware(machine.run(20))
    changed = {key for key in seen.keys() | _sound().keys() if seen.get(key) != _sound().get(key)}

    assert [key for key in changed if not _may_change(bad.path, key[0].removeprefix("fabric_infiniband_"), dict(key[1]))] == []
    assert machine.samples["fabric_exporter_source_faults_total", (("reason", "bug"), ("source", "infiniband"))] == 0


@given(spoilt)
@settings(max_examples=30)
def test_a_file_that_is_good_again_is_shown_again(bad: Spoilt) -> None:
    """After its rest, at the latest with the next slow pass, the page is what it was."""
    tree = MemoryTree(_entries())
    good = tree.pread(tree.open(bad.path), 4096, 0)
    machine = Machine(tree)
    bad.apply(tree)
    machine.run(20)
    tree.fail(bad.path, None)
    tree.fail_open(bad.path, None)
    tree.write(bad.path, good)

    assert _hardware(machine.run(330)) == _sound()
