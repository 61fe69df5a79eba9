"""Relations of a node's devices, what differs, and how a person and a program are shown it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.node_topology import HIDDEN, Asymmetry, NodeTopology, NvlinkCounts, as_json, matrix_text, natural_order
from exporter.model.rails import Gpu, Nic, port_places
from exporter.model.topology import Distance, PciPath
from tests.sources.imitated_topology import matrix_of

ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in range(0x18, 0x1C)]
GPUS = tuple(
    Gpu(f"gpu{n}", PciPath(f"pci0000:{n:02x}", (f"0000:{n:02x}:01.0", address), str(n // 2))) for n, address in enumerate(ADDRESSES)
)
NIC = Nic("mlx5_0", PciPath("pci0000:00", ("0000:00:01.0", "0000:30:00.0"), "0"))
SWITCHED = {address: NvlinkCounts(switched=18, expected=18) for address in ADDRESSES}


def node(**nvlinks: NvlinkCounts) -> NodeTopology:
    """Four GPUs, two a socket, each on a host bridge of its own; a NIC beside gpu0. `nvlinks` by GPU."""
    return NodeTopology(GPUS, (NIC,), port_places(GPUS, [NIC]), {"0": "0-55,112-167"},
                        {ADDRESSES[int(name[3:])]: links for name, links in nvlinks.items()})  # fmt: skip


def to(**counts: int) -> NvlinkCounts:
    """Links straight to other GPUs."""
    return NvlinkCounts({ADDRESSES[int(name[3:])]: count for name, count in counts.items()})


def test_without_nvlink_gpus_are_as_far_apart_as_on_pci() -> None:
    """Nobody asked NVML, or there is none."""
    shown = node()

    assert [shown.relation(GPUS[0], other) for other in (GPUS[1], GPUS[2], NIC)] == ["NODE", "SYS", "PIX"]


def test_links_into_switches_join_all_gpus() -> None:
    """NV18 between each two; a GPU without links into the switches is left on PCI."""
    shown = replace(node(), nvlinks={**SWITCHED, ADDRESSES[3]: NvlinkCounts()})

    assert [shown.relation(GPUS[0], other) for other in GPUS[1:]] == ["NV18", "NV18", "SYS"]


def test_gpus_of_two_domains_do_not_reach_each_other_through_switches() -> None:
    """Cliques of an NVL72 rack, partitions of a virtualised board."""
    shown = node(gpu0=NvlinkCounts(switched=18, domain="rack/1"), gpu1=NvlinkCounts(switched=18, domain="rack/2"))

    assert shown.relation(GPUS[0], GPUS[1]) == "NODE"


def test_straight_links_join_their_two_ends() -> None:
    """A hybrid mesh: as many as there are, and none where there are none."""
    shown = node(gpu0=to(gpu1=2, gpu2=1), gpu1=to(gpu0=2), gpu2=to(gpu0=1))

    assert [shown.relation(GPUS[0], other) for other in GPUS[1:]] == ["NV2", "NV1", "SYS"]
    assert shown.relation(GPUS[1], GPUS[2]) == "SYS"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (node(gpu0=to(gpu1=4), gpu1=to(gpu0=4)), ()),
        (node(gpu0=to(gpu1=4), gpu1=to(gpu0=3)), (Asymmetry("gpu1", "gpu0", 3, 4),)),
        (node(gpu0=to(gpu1=4), gpu1=to()), (Asymmetry("gpu1", "gpu0", 0, 4),)),
        (node(gpu0=to(gpu1=4)), ()),
        (node(gpu0=NvlinkCounts(switched=18), gpu2=NvlinkCounts(switched=17)), (Asymmetry("gpu2", "gpu0", 17, 18),)),
    ],
    ids=["equal", "one link less", "none back", "the other was not asked", "into switches"],
)
def test_counts_that_differ_are_named(shown: NodeTopology, expected: tuple[Asymmetry, ...]) -> None:
    """The one that counts fewer stands first; a GPU that did not answer counts nothing."""
    assert shown.asymmetries == expected


def test_a_relation_is_the_lesser_of_two_counts() -> None:
    """What both ends agree on."""
    shown = node(gpu0=NvlinkCounts(switched=18), gpu1=NvlinkCounts(switched=17))

    assert [shown.relation(*pair) for pair in ((GPUS[0], GPUS[1]), (GPUS[1], GPUS[0]))] == ["NV17", "NV17"]


def test_the_text_shows_matrix_rails_and_links() -> None:
    """What a person looks for, in columns; what is not known takes no room."""
    expected = """\
      GPU0  GPU1  GPU2  GPU3  NIC0  CPU Affinity  NUMA Affinity
GPU0  X     NV18  NV18  NV18  PIX   0-55,112-167  0
GPU1  NV18  X     NV18  NV18  NODE  0-55,112-167  0
GPU2  NV18  NV18  X     NV18  SYS   N/A           1
GPU3  NV18  NV18  NV18  X     SYS   N/A           1
NIC0  PIX   NODE  SYS   SYS   X
"""
    text = matrix_text(replace(node(), nvlinks={**SWITCHED, ADDRESSES[3]: NvlinkCounts(switched=18)}))

    assert text.startswith(expected)
    assert "  NIC0:  mlx5_0  0000:30:00.0  NUMA 0  rail 0  gpu0  compute\n" in text
    assert "  GPU0:  gpu0  0000:18:00.0  NUMA 0  NIC mlx5_0  18 of 18 NVLinks\n" in text
    assert "  GPU3:  gpu3  0000:1b:00.0  NUMA 1  no own NIC  18 NVLinks\n" in text


def test_a_gpu_with_fewer_links_is_one_line() -> None:
    """Whatever the number of GPUs on the other side of the switches."""
    text = matrix_text(replace(node(), nvlinks={**SWITCHED, ADDRESSES[2]: NvlinkCounts(switched=17)}))

    assert text.endswith("count differently:\n\n  gpu2 counts 17 to gpu0 gpu1 gpu3, which count 18 back\n")


def test_a_narrow_terminal_gets_the_columns_in_several_tables() -> None:
    """No line is longer than the terminal, and nothing is lost."""
    whole, narrow = matrix_text(node()), matrix_text(node(), 40)
    tables = narrow.partition("Legend:")[0]

    assert max(map(len, tables.splitlines())) <= 40
    assert matrix_of(narrow) == matrix_of(whole)


def test_a_hidden_path_is_explained() -> None:
    """A question mark, and a line in the legend only then."""
    flat = replace(NIC, place=PciPath("pci0000:00", ("0000:00:05.0",)))
    text = matrix_text(replace(node(), nics=(flat,)))

    assert matrix_of(text).cells["GPU0", "NIC0"] == HIDDEN
    assert "hypervisor" in text
    assert "hypervisor" not in matrix_text(node())


def test_a_name_cannot_drive_the_terminal() -> None:
    """Names of RDMA devices can be set to anything."""
    wild = replace(NIC, name="\x1b[2Jmlx5")

    assert "\x1b" not in matrix_text(replace(node(), nics=(wild,), ports={}))


def test_json_holds_the_same_and_leaves_out_what_is_unknown() -> None:
    """A missing key, never null, 0 or N/A."""
    page = json.loads(json.dumps(as_json(replace(node(gpu0=NvlinkCounts(switched=18)), gpus=GPUS[:2]))))

    assert page["gpus"][0] == {"name": "gpu0", "pci": ADDRESSES[0], "numa_node": "0", "cpu_affinity": "0-55,112-167", "nic": "mlx5_0",
                               "nvlinks_active": 18}  # fmt: skip
    assert page["gpus"][1] == {"name": "gpu1", "pci": ADDRESSES[1], "numa_node": "0", "cpu_affinity": "0-55,112-167"}
    assert page["nics"] == [
        {"name": "mlx5_0", "pci": "0000:30:00.0", "numa_node": "0", "cpu_affinity": "0-55,112-167", "rdma": True, "gpu": "gpu0",
         "rail": "0", "role": "compute"}
    ]  # fmt: skip
    assert page["relations"]["gpu0"] == {"gpu1": "NODE", "mlx5_0": "PIX"}
    assert page["asymmetries"] == []


def test_a_node_without_anything_is_shown_without_error() -> None:
    """No row, no legend of devices."""
    assert "NIC Legend" not in matrix_text(NodeTopology((), ()))
    assert as_json(NodeTopology((), ()))["relations"] == {}


def test_names_are_in_the_order_of_a_person() -> None:
    """By number where there is one."""
    expected = ["7", "bnxt", "mlx5_2", "mlx5_10", "mlx5_bond_0"]

    assert sorted(["mlx5_bond_0", "mlx5_10", "7", "mlx5_2", "bnxt"], key=natural_order) == expected


links = st.builds(
    NvlinkCounts,
    st.dictionaries(st.sampled_from(ADDRESSES), st.integers(0, 18), max_size=3),
    st.integers(0, 18),
    st.none() | st.integers(0, 36),
    st.sampled_from(["", "a", "b"]),
)
facts = st.dictionaries(st.sampled_from(ADDRESSES), links)


@given(facts, st.permutations(GPUS))
def test_relations_are_symmetric_total_and_do_not_depend_on_order(known: dict[str, NvlinkCounts], order: list[Gpu]) -> None:
    """Whatever NVML says of whomever."""
    shown, shuffled = replace(node(), nvlinks=known), replace(node(), nvlinks=known, gpus=tuple(order))
    everyone = (*GPUS, NIC)
    words = {distance.value for distance in Distance} | {f"NV{count}" for count in range(1, 37)}

    for one in everyone:
        for other in everyone:
            assert shown.relation(one, other) == shown.relation(other, one) == shuffled.relation(one, other)
            assert shown.relation(one, other) in words
    assert {frozenset((a.one, a.other)) for a in shown.asymmetries} == {frozenset((a.one, a.other)) for a in shuffled.asymmetries}
