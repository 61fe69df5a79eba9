"""Which NIC serves which GPU: the rule case by case, and what holds for any node."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.rails import Gpu, Nic, PortPlace, Roles, Stated, pairs, port_places, rail_numbers, with_lost
from exporter.model.topology import PciPath, distance
from tests.sources.imitated_topology import matrix_of, places_of

ONE_SWITCH_EACH = """
      GPU0 GPU1 NIC0 NIC1
GPU0  X    SYS  PIX  SYS
GPU1  SYS  X    SYS  PIX
NIC0  PIX  SYS  X    SYS
NIC1  SYS  PIX  SYS  X
"""
SHARED_SWITCH = """
      GPU0 GPU1 NIC0 NIC1
GPU0  X    PXB  PXB  PXB
GPU1  PXB  X    PXB  PXB
NIC0  PXB  PXB  X    PXB
NIC1  PXB  PXB  PXB  X
"""
TWO_NICS_A_GPU = """
      GPU0 NIC0 NIC1
GPU0  X    PIX  PIX
NIC0  PIX  X    PIX
NIC1  PIX  PIX  X
"""
ONE_NIC_FOR_TWO = """
      GPU0 GPU1 NIC0
GPU0  X    PIX  PIX
GPU1  PIX  X    PIX
NIC0  PIX  PIX  X
"""
SWAPPED = """
      GPU0 GPU1 NIC0 NIC1
GPU0  X    PXB  PXB  PIX
GPU1  PXB  X    PIX  PXB
NIC0  PXB  PIX  X    PXB
NIC1  PIX  PXB  PXB  X
"""
NEARER_AND_FARTHER = """
      GPU0 NIC0 NIC1
GPU0  X    PXB  PIX
NIC0  PXB  X    PXB
NIC1  PIX  PXB  X
"""
ONE_NEAR_THE_OTHER_FAR = """
      GPU0 GPU1 NIC0 NIC1
GPU0  X    PXB  PIX  PXB
GPU1  PXB  X    PXB  PXB
NIC0  PIX  PXB  X    PXB
NIC1  PXB  PXB  PXB  X
"""
ACROSS_THE_CPU = """
      GPU0 NIC0 NIC1 NIC2
GPU0  X    PHB  NODE SYS
NIC0  PHB  X    NODE SYS
NIC1  NODE NODE X    SYS
NIC2  SYS  SYS  SYS  X
"""


def node(text: str, *roles: str) -> tuple[list[Gpu], list[Nic]]:
    """GPUs and NICs that stand to each other as the matrix says; `roles` of NIC0, NIC1 …"""
    places = {name.lower(): place for name, place in places_of(matrix_of(text)).items()}
    nics = [name for name in places if name.startswith("nic")]
    told = dict(zip(nics, roles, strict=False))
    gpus = [Gpu(name, place) for name, place in places.items() if name.startswith("gpu")]
    return gpus, [Nic(name, places[name], told.get(name, "")) for name in nics]


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (ONE_SWITCH_EACH, {"nic0": "gpu0", "nic1": "gpu1"}),
        (SHARED_SWITCH, {}),
        (TWO_NICS_A_GPU, {}),
        (ONE_NIC_FOR_TWO, {}),
        (SWAPPED, {"nic1": "gpu0", "nic0": "gpu1"}),
        (NEARER_AND_FARTHER, {"nic1": "gpu0"}),
        (ONE_NEAR_THE_OTHER_FAR, {"nic0": "gpu0"}),
        (ACROSS_THE_CPU, {}),
    ],
    ids=[
        "one switch for each pair",
        "two GPUs and two NICs on one switch",
        "two NICs equally near to one GPU",
        "two GPUs equally near to one NIC",
        "each nearest the other's",
        "the nearer of two",
        "what is left over is not given away",
        "the CPU in between",
    ],
)
def test_a_pair_is_where_each_is_the_others_only_nearest(matrix: str, expected: dict[str, str]) -> None:
    """PIX before PXB, nothing farther, and no pair where two are equally near."""
    assert pairs(*node(matrix)) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("", "storage"), {"nic0": "gpu0"}),
        (("management", ""), {"nic1": "gpu0"}),
        (("compute", ""), {"nic0": "gpu0"}),
        (("compute", "compute"), {}),
        (("storage", "management"), {}),
    ],
)
def test_a_role_decides_between_two_nics_of_one_gpu(roles: tuple[str, ...], expected: dict[str, str]) -> None:
    """Storage and management never serve; where some are for compute, only those do."""
    assert pairs(*node(TWO_NICS_A_GPU, *roles)) == expected


def test_a_nic_without_rdma_serves_no_rail() -> None:
    """A rail carries RDMA."""
    gpus, nics = node(TWO_NICS_A_GPU)

    assert pairs(gpus, [nics[0], replace(nics[1], has_rdma=False)]) == {"nic0": "gpu0"}


def test_a_hidden_path_gives_no_pair() -> None:
    """A guest whose PCI is flat, and one whose bridges are a hypervisor's."""
    flat = [PciPath("pci0000:00", (f"0000:00:0{n}.0",)) for n in (1, 2)]
    virtual = [PciPath("pci0000:00", ("0000:00:01.0", f"0000:01:0{n}.0"), is_virtual=True) for n in (1, 2)]

    assert [pairs([Gpu("gpu0", one)], [Nic("nic0", other)]) for one, other in (flat, virtual)] == [{}, {}]


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ((7, 3), {"gpu0": 1, "gpu1": 0}),
        ((0, 1), {"gpu0": 0, "gpu1": 1}),
        ((3, 3), {"gpu0": 0, "gpu1": 1}),
        ((1, None), {"gpu0": 0, "gpu1": 1}),
        ((None, None), {"gpu0": 0, "gpu1": 1}),
    ],
)
def test_rails_are_numbered_by_module_id_or_else_by_name(modules: tuple[int | None, ...], expected: dict[str, int]) -> None:
    """Only if each GPU has one and no two the same."""
    gpus, _ = node(ONE_SWITCH_EACH)

    assert rail_numbers([replace(gpu, module_id=module) for gpu, module in zip(gpus, modules, strict=True)]) == expected


def test_a_lost_gpu_leaves_its_number_free() -> None:
    """The names come from the slot map, which keeps them."""
    gpus, _ = node(ONE_SWITCH_EACH)

    assert rail_numbers([replace(gpus[1], name="gpu5"), gpus[0]]) == {"gpu0": 0, "gpu5": 5}


def test_gpus_of_other_names_are_numbered_in_pci_order() -> None:
    """Whatever they are called."""
    gpus, _ = node(ONE_SWITCH_EACH)

    assert rail_numbers([replace(gpus[1], name="alpha"), replace(gpus[0], name="omega")]) == {"omega": 0, "alpha": 1}


def test_a_nic_that_serves_a_rail_is_for_compute() -> None:
    """And one that serves none, with no role configured, is for nobody knows what."""
    expected = {"nic0": PortPlace(), "nic1": PortPlace("gpu0", "0", "compute")}

    assert port_places(*node(NEARER_AND_FARTHER)) == expected


def test_the_operators_table_wins() -> None:
    """Over what PCI shows and over the pattern; the GPU is what was seen."""
    gpus, nics = node(ONE_SWITCH_EACH, "", "compute")
    stated = {"nic0": Stated(rail="leaf-a"), "nic1": Stated(role="storage")}
    expected = {"nic0": PortPlace("gpu0", "leaf-a", "compute"), "nic1": PortPlace("", "", "storage")}

    assert port_places(gpus, nics, stated) == expected


def test_the_table_gives_a_rail_where_pci_shows_nothing() -> None:
    """A virtual machine: no GPU is named, for nobody saw one."""
    flat = PciPath("pci0000:00", ("0000:00:05.0",))

    assert port_places([], [Nic("nic0", flat)], {"nic0": Stated(rail="3")}) == {"nic0": PortPlace("", "3", "compute")}


@pytest.mark.parametrize(
    ("device", "expected"), [("mlx5_8", "storage"), ("mlx5_0", "compute"), ("bmc0", "management"), ("mlx5_80", "compute"), ("x", "")]
)
def test_a_role_is_the_first_whose_pattern_matches_the_whole_name(device: str, expected: str) -> None:
    """A port that may be for storage is not told to carry gradients."""
    assert Roles(storage=("mlx5_[89]",), management=("bmc.*",), compute=("mlx5_.*", "bmc.*")).of(device) == expected


def test_the_rails_stay_when_a_gpu_or_nic_is_lost() -> None:
    """The lost GPU's NIC is still on its rail, and a NIC one step farther does not take the place of a lost one."""
    gpus, nics = node(NEARER_AND_FARTHER)
    expected = port_places(gpus, nics)

    assert port_places(with_lost([], gpus), nics) == expected
    assert port_places(gpus, with_lost(nics[:1], nics)) == expected


def test_as_many_as_before_means_that_nobody_is_lost() -> None:
    """Cards moved: the old places are forgotten."""
    before, _ = node(ONE_SWITCH_EACH)
    now = [replace(gpu, place=PciPath("pci0000:f0", (f"0000:f0:0{n}.0", f"0000:f{n + 1}:00.0"))) for n, gpu in enumerate(before)]

    assert with_lost(now, before) == tuple(now)


addresses = st.lists(st.sampled_from([f"0000:1{n}:00.0" for n in range(4)]), min_size=1, max_size=4, unique=True)
places = st.builds(
    lambda root, above, own, numa: PciPath(root, (*above, f"0001:{own:02x}:00.0"), numa),
    st.sampled_from(["pci0000:15", "pci0000:97"]),
    addresses,
    st.integers(0, 255),
    st.sampled_from(["", "0", "1"]),
)
nodes = st.tuples(st.lists(places, max_size=5), st.lists(st.tuples(places, st.sampled_from(["", "compute", "storage"])), max_size=6)).map(
    lambda drawn: (
        [Gpu(f"gpu{n}", place) for n, place in enumerate(drawn[0])],
        [Nic(f"mlx5_{n}", place, role) for n, (place, role) in enumerate(drawn[1])],
    )
)


@given(nodes, st.randoms(use_true_random=False))
def test_the_order_in_which_devices_are_listed_does_not_matter(drawn: tuple[list[Gpu], list[Nic]], random: object) -> None:
    """Nor does asking twice."""
    gpus, nics = drawn
    expected = port_places(gpus, nics)

    def _shuffled(devices: Sequence[Gpu | Nic]) -> list:
        return sorted(devices, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert port_places(_shuffled(gpus), _shuffled(nics)) == expected


@given(nodes)
def test_each_gpu_has_at_most_one_nic_and_no_other_is_nearer(drawn: tuple[list[Gpu], list[Nic]]) -> None:
    """On any node; every NIC has labels, if only empty ones."""
    gpus, nics = drawn
    found = pairs(gpus, nics)
    by_name = {device.name: device for device in (*gpus, *nics)}
    order = ["PIX", "PXB"]

    assert set(port_places(gpus, nics)) == {nic.name for nic in nics}
    assert len(set(found.values())) == len(found)
    for nic, gpu in found.items():
        rank = order.index(distance(by_name[gpu].place, by_name[nic].place).value)
        assert not [
            other.name for other in gpus if other.name != gpu and distance(other.place, by_name[nic].place).value in order[: rank + 1]
        ]
