"""What PCIe links were seen to do, on disk."""

import json
from pathlib import Path

import pytest

from exporter.catalog.limits import LEARN_LINK_AFTER_S, LEARNED_LINKS_MAX
from exporter.model.link_capability import UNKNOWN, Capability
from exporter.runtime.learned_links import FILE, VERSION, LearnedLinks
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file
from tests.sources.small_pci import GPU_PATH, Bus, link, switch_pair

CARD, X8 = "0x15b3:0x1021", Capability(32_000_000_000, 8)
ADDRESS = "0000:41:00.0"
START_S = 1.8e9


def _links(folder: Path) -> LearnedLinks:
    return LearnedLinks(state_file(open_state_dir(str(folder)), FILE, VERSION))


def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    """Its time goes on."""
    links = _links(tmp_path)
    links.note(ADDRESS, CARD, X8, START_S)
    links.save_if_changed()
    after = _links(tmp_path)

    assert after.believed(ADDRESS, CARD, START_S + LEARN_LINK_AFTER_S - 1) == UNKNOWN
    assert after.believed(ADDRESS, CARD, START_S + LEARN_LINK_AFTER_S) == X8


def test_the_file_is_written_only_when_something_was_learned(tmp_path: Path) -> None:
    """Passes that see nothing better write nothing."""
    links = _links(tmp_path)
    links.note(ADDRESS, CARD, X8, START_S)
    links.save_if_changed()
    written = (tmp_path / FILE).stat().st_ino
    links.note(ADDRESS, CARD, Capability(2_500_000_000, 4), START_S + 15)
    links.save_if_changed()

    assert (tmp_path / FILE).stat().st_ino == written


def test_readers_never_write(tmp_path: Path) -> None:
    """A disk that hangs must not look like a device that hangs."""
    _links(tmp_path).note(ADDRESS, CARD, X8, START_S)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "entry",
    [None, 8, {}, {"identity": CARD, "since_wall_s": "yesterday", "lanes": 8}, {"identity": CARD, "since_wall_s": 0, "lanes": "8"},
     {"identity": CARD, "since_wall_s": 0, "lanes": True}, {"identity": CARD, "since_wall_s": 0, "lanes": -8},
     {"identity": CARD, "since_wall_s": float("nan"), "lanes": 8}],
    ids=range(8),
)  # fmt: skip
def test_an_entry_that_is_not_ours_costs_only_itself(tmp_path: Path, entry: object) -> None:
    """The next one is believed."""
    good = {"identity": CARD, "since_wall_s": START_S, "transfers_per_s": 32_000_000_000, "lanes": 8}
    (tmp_path / FILE).write_text(json.dumps({"version": VERSION, "links": {ADDRESS: entry, "0000:42:00.0": good}}), encoding="utf-8")
    links = _links(tmp_path)

    assert links.believed(ADDRESS, CARD, START_S + LEARN_LINK_AFTER_S) == UNKNOWN
    assert links.believed("0000:42:00.0", CARD, START_S + LEARN_LINK_AFTER_S) == X8


def test_memory_is_bounded() -> None:
    """The oldest goes first."""
    links = LearnedLinks(None)
    for moment in range(LEARNED_LINKS_MAX + 5):
        links.note(f"function {moment}", CARD, X8, float(moment))

    assert [links.believed(f"function {moment}", CARD, 1e9) for moment in (0, 4, 5)] == [UNKNOWN, UNKNOWN, X8]


def test_a_slot_that_is_wired_narrow_is_expected_narrow_after_a_week_and_a_fault_before_that() -> None:
    """Both ends claim sixteen lanes; only watching can tell that eight are all there are."""
    narrow = link(lanes=8)
    bus = Bus(switch_pair(gpu=narrow, gpu_port=narrow), learned=LearnedLinks(None))
    widths = [bus.read(now_s, START_S + now_s)["gpu0", "upstream"]["pcie_width_expected"] for now_s in (0.0, 15.0, LEARN_LINK_AFTER_S)]

    assert widths == [16, 16, 8]


def test_a_link_that_was_ever_whole_is_never_excused() -> None:
    """It ran at sixteen lanes once; eight months at eight change nothing."""
    memory = LearnedLinks(None)
    Bus(switch_pair(), learned=memory).read(0.0, START_S)
    narrow = link(lanes=8)
    seen = Bus(switch_pair(gpu=narrow, gpu_port=narrow), learned=memory).read(0.0, START_S + 35 * LEARN_LINK_AFTER_S)

    assert {port: values["pcie_width_expected"] for (device, port), values in seen.items() if device == "gpu0"} == {
        "upstream": 16, GPU_PATH[2]: 16, GPU_PATH[1]: 16, GPU_PATH[0]: 16,
    }  # fmt: skip
