"""Names of GPUs: index in PCI order, and what happens to it when GPUs go, come and move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.gpu_slots import GpuSlots, assign, in_pci_order, pci_order

NODE = tuple(f"0000:{bus}:00.0" for bus in ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db"))
LEARNED = assign(NODE, GpuSlots())
addresses = st.builds("{:04x}:{:02x}:{:02x}.0".format, st.integers(0, 3), st.integers(0, 255), st.integers(0, 31))


def test_a_new_node_is_numbered_in_pci_order() -> None:
    """Whatever order the kernel lists them in."""
    assert [assign(sorted(NODE, reverse=True), GpuSlots()).name_of(address) for address in NODE] == [f"gpu{n}" for n in range(8)]


def test_pci_order_is_by_number_and_not_by_text() -> None:
    """Hyper-V and VMD have domains of more than four digits."""
    assert sorted(["10000:01:00.0", "0002:00:00.0", "0000:ff:00.0"], key=pci_order) == [
        "0000:ff:00.0",
        "0002:00:00.0",
        "10000:01:00.0",
    ]


@given(st.sets(st.sampled_from(NODE), min_size=1))
def test_whoever_is_lost_the_others_keep_their_names(present: set[str]) -> None:
    """NVML renumbers; this does not."""
    after = assign(present, LEARNED)

    assert all(after.name_of(address) == LEARNED.name_of(address) for address in present)


def test_a_lost_gpu_returns_under_its_name() -> None:
    """After a reset or a reboot."""
    without = assign(NODE[:3] + NODE[4:], LEARNED)

    assert assign(NODE, without).name_of(NODE[3]) == "gpu3"


def test_an_added_gpu_gets_the_next_number() -> None:
    """Also one that stands between the others: their names stay."""
    after = assign((*NODE, "0000:20:00.0"), LEARNED)

    assert (after.name_of("0000:20:00.0"), after.name_of(NODE[7])) == ("gpu8", "gpu7")


def test_a_newcomer_never_takes_the_name_of_a_lost_gpu() -> None:
    """It would inherit the other's history."""
    after = assign((*NODE[:6], "0000:fe:00.0"), LEARNED)

    assert after.name_of("0000:fe:00.0") == "gpu8"


def test_buses_numbered_anew_give_the_same_names_in_order() -> None:
    """A firmware update or a card more moves every bus behind it; the node is complete, so nobody is lost."""
    moved = (NODE[0], *(f"0000:{int(address[5:7], 16) + 1:02x}:00.0" for address in NODE[1:]))
    after = assign(moved, LEARNED)

    assert [after.name_of(address) for address in moved] == [f"gpu{n}" for n in range(8)]


def test_a_node_that_is_complete_again_after_a_repair_is_numbered_without_gaps() -> None:
    """The replacement sits at another address; while a GPU is missing it is gpu8, once eight are there all are gpu0 to gpu7."""
    repaired = (*NODE[:7], "0000:dc:00.0")

    assert sorted(assign(repaired, LEARNED).numbers.values()) == list(range(8))


def test_no_gpu_at_all_forgets_nothing() -> None:
    """A driver reload or a bus that cannot be listed for a moment."""
    assert assign((), LEARNED) is LEARNED


def test_nothing_new_is_the_same_value() -> None:
    """Who keeps it on disk writes only what changed."""
    assert assign(NODE, LEARNED) is LEARNED
    assert assign(NODE[:5], LEARNED) is LEARNED


@given(st.lists(st.sets(addresses, max_size=9), max_size=6))
def test_names_are_unique_and_complete_whatever_comes_and_goes(history: list[set[str]]) -> None:
    """Two GPUs never share a name."""
    slots = GpuSlots()
    for present in history:
        slots = assign(present, slots)
        names = [slots.name_of(address) for address in present]

        assert len(set(names)) == len(present)
    assert len(set(slots.numbers.values())) == len(slots.numbers)


def test_without_memory_names_are_the_order_of_what_is_there() -> None:
    """What a process shows that has no state to remember with."""
    assert in_pci_order(NODE[2:4]) == {NODE[2]: "gpu0", NODE[3]: "gpu1"}


@pytest.mark.parametrize("text", ["", "19:00.0", "0000:19:00", "0000:19:00.8", "0000:19:00.0 ", "gpu0"])
def test_other_text_is_no_address(text: str) -> None:
    """A wrong line in a file must be seen."""
    with pytest.raises(ValueError, match="no PCI address"):
        pci_order(text)
