"""What ports were seen to run at, on disk."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.expected_ports import NOTHING, PortSpeed
from exporter.runtime.learned_ports import FILE, PORTS_MAX, VERSION, LearnedPorts, SeenPort
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file

PORT, CARD = "infiniband/mlx5_0/1", "0000:19:00.0"
NDR = PortSpeed(50_000_000_000, 4, 12_500_000_000)


def ports(folder: Path) -> LearnedPorts:
    """As the daemon makes them."""
    return LearnedPorts(state_file(open_state_dir(str(folder)), FILE, VERSION))


def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    """Also that a port was up whose speed nobody knows."""
    learned = ports(tmp_path)
    learned.note(PORT, CARD, NDR)
    learned.note("efa/rdmap0/1", CARD, NOTHING)
    learned.save_if_changed()
    after = ports(tmp_path)

    assert after.seen(PORT, CARD) == SeenPort(CARD, NDR)
    assert after.seen("efa/rdmap0/1", CARD) == SeenPort(CARD, NOTHING)


def test_the_best_of_each_figure_is_kept() -> None:
    """A port that trained slow today ran faster before."""
    learned = LearnedPorts(None)
    for speed in (PortSpeed(25, 2, None), PortSpeed(20, 4, 5), NOTHING):
        learned.note(PORT, CARD, speed)

    assert learned.seen(PORT, CARD) == SeenPort(CARD, PortSpeed(25, 4, 5))


def test_another_card_begins_anew() -> None:
    """What the former one did is forgotten."""
    learned = LearnedPorts(None)
    learned.note(PORT, CARD, NDR)
    unknown = learned.seen(PORT, "0000:5a:00.0")
    learned.note(PORT, "0000:5a:00.0", PortSpeed(1, 1, 1))

    assert unknown is learned.seen("infiniband/mlx5_9/1", CARD) is None
    assert learned.seen(PORT, "0000:5a:00.0") == SeenPort("0000:5a:00.0", PortSpeed(1, 1, 1))


def test_the_file_is_written_only_when_something_was_learned(tmp_path: Path) -> None:
    """Not with each tick."""
    learned = ports(tmp_path)
    learned.note(PORT, CARD, NDR)
    learned.save_if_changed()
    before = (tmp_path / FILE).stat().st_ino
    learned.note(PORT, CARD, PortSpeed(1, 1, 1))
    learned.save_if_changed()

    assert (tmp_path / FILE).stat().st_ino == before


def test_what_could_not_be_written_is_tried_again(tmp_path: Path) -> None:
    """With a line that says why."""
    learned = ports(tmp_path / "state")
    (tmp_path / "state").rmdir()
    learned.note(PORT, CARD, NDR)
    problem = learned.save_if_changed()
    (tmp_path / "state").mkdir()

    assert "what is learned is lost at a restart" in (problem or "")
    assert learned.save_if_changed() is None
    assert ports(tmp_path / "state").seen(PORT, CARD)


def test_ever_new_ports_are_bounded(tmp_path: Path) -> None:
    """The oldest are forgotten first, in memory and in a file."""
    learned = ports(tmp_path)
    for number in range(PORTS_MAX + 10):
        learned.note(f"infiniband/mlx5_{number}/1", CARD, NDR)
    learned.save_if_changed()

    for known in (learned, ports(tmp_path)):
        assert known.seen("infiniband/mlx5_9/1", CARD) is None
        assert known.seen(f"infiniband/mlx5_{PORTS_MAX + 9}/1", CARD)


@pytest.mark.parametrize("entry", [None, 4, [], [CARD], [CARD, 1, 2], [CARD, 1, 2, 3, 4], [7, 1, 2, 3], [CARD, 1.5, 2, 3],
                                   [CARD, True, 2, 3], [CARD, -1, 2, 3], [CARD, "50", 2, 3], {"a": CARD}], ids=range(12))  # fmt: skip
def test_an_odd_entry_costs_only_itself(tmp_path: Path, entry: object) -> None:
    """The port is learned anew."""
    entries = {PORT: entry, "infiniband/mlx5_1/1": [CARD, 1, 2, None]}
    (tmp_path / FILE).write_text(json.dumps({"version": VERSION, "ports": entries}))
    learned = ports(tmp_path)

    assert learned.seen(PORT, CARD) is None
    assert learned.seen("infiniband/mlx5_1/1", CARD) == SeenPort(CARD, PortSpeed(1, 2, None))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 9, "ports": {}}', b"\xff"])
def test_a_file_that_is_not_ours_is_forgotten_and_said(tmp_path: Path, content: bytes) -> None:
    """Empty, torn, foreign, newer."""
    (tmp_path / FILE).write_bytes(content)
    learned = ports(tmp_path)

    assert (learned.problem or "").endswith("what was learned before is forgotten")
    learned.note(PORT, CARD, NDR)
    assert learned.save_if_changed() is None
    assert ports(tmp_path).seen(PORT, CARD) == SeenPort(CARD, NDR)


figures = st.none() | st.integers(1, 10**12)
speeds = st.builds(PortSpeed, figures, figures, figures)


@given(st.lists(speeds, min_size=1, max_size=6))
def test_learning_never_loses_a_figure(found: list[PortSpeed]) -> None:
    """Each is the most that was ever seen, in whatever order."""
    learned = LearnedPorts(None)
    for speed in found:
        learned.note(PORT, CARD, speed)

    def most(name: str) -> int | None:
        return max((value for speed in found if (value := getattr(speed, name)) is not None), default=None)

    expected = PortSpeed(most("rate_bytes_per_s"), most("lanes"), most("lane_rate_bytes_per_s"))
    assert learned.seen(PORT, CARD) == SeenPort(CARD, expected)
