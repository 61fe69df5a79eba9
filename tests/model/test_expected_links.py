"""Who says how many NVLinks a GPU should have, which inactive link that makes a fault, and the text a person writes it in."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.nvlink_boards import BOARDS
from exporter.model.expected_links import Expectation, Expected, GpuLinks, expectation, expected_links, is_expected

FULL = frozenset(range(18))
NOBODY: Mapping[str, Expected] = {}
SWITCHED = dict.fromkeys(range(18), ("switch", "0000:05:00.0"))


def gpu(number: int, active: frozenset[int] = FULL, peers: Mapping[int, tuple[str, str]] = SWITCHED, product: str = "NVIDIA H100 80GB HBM3",
        ports: int = 18) -> GpuLinks:  # fmt: skip
    """One of a node."""
    known = {link: peer for link, peer in peers.items() if link in active}
    return GpuLinks(f"gpu{number}", f"GPU-{number}", product, address(number), tuple(range(ports)), active, known)


def address(number: int) -> str:
    """Of that GPU."""
    return f"0000:{0x10 + number:02x}:00.0"


def pair(links: int) -> list[GpuLinks]:
    """Two cards with a bridge of so many links."""
    ends = [dict.fromkeys(range(links), ("gpu", address(1 - number))) for number in range(2)]
    return [gpu(number, frozenset(range(links)), ends[number], "NVIDIA H100 NVL") for number in range(2)]


def by_symmetry(one: GpuLinks, node: list[GpuLinks]) -> int | None:
    """What the others of the node make of it."""
    found = expectation(one, node, NOBODY, NOBODY, frozenset())
    return found.expected.count if found.expected is not None else None


def test_the_first_that_knows_is_believed() -> None:
    """Configuration, board, what was learned, symmetry; each is asked only if those before it are silent."""
    node = [gpu(number) for number in range(4)]
    configured, boards, learned = {"gpu0": Expected(1)}, {"NVIDIA H100.*": Expected(18)}, frozenset({2, 3})
    nothing: frozenset[int] = frozenset()
    known = ((configured, boards, learned), (NOBODY, boards, learned), (NOBODY, NOBODY, learned), (NOBODY, NOBODY, nothing))
    asked = [expectation(node[0], node, *one) for one in known]

    assert asked == [
        Expectation("configured", Expected(1)),
        Expectation("board", Expected(18, FULL)),
        Expectation("learned", Expected(2, learned)),
        Expectation("symmetry", Expected(18)),
    ]


def test_nobody_knows_of_a_single_card() -> None:
    """Nothing to compare it with."""
    one = gpu(0, frozenset(), product="NVIDIA A100 80GB PCIe", ports=12)

    assert expectation(one, [one], NOBODY, BOARDS, frozenset()) == Expectation("unknown")


def test_patterns_match_the_whole_name_of_gpu_or_product() -> None:
    """`gpu1` is not gpu10; the first pattern that matches is the one."""
    texts = {"gpu1": Expected(1), ".*H100.*": Expected(2), "gpu.*": Expected(3)}
    found = [expectation(replace_name(gpu(0), name, product), [], texts, NOBODY, frozenset()).expected for name, product in (
        ("gpu1", "x"), ("gpu10", "x"), ("gpu1", "NVIDIA H100"), ("gpu2", "NVIDIA H100"))]  # fmt: skip

    assert [one and one.count for one in found] == [1, 3, 1, 2]


def replace_name(one: GpuLinks, name: str, product: str) -> GpuLinks:
    """The same GPU under another name and product."""
    return one._replace(name=name, product=product)


@pytest.mark.parametrize(("product", "count", "rate_mb_per_s"), [
    ("Tesla V100-SXM2-32GB", 6, 25_781), ("NVIDIA A100-SXM4-80GB", 12, 25_781), ("A100-SXM4-40GB", 12, 25_781),
    ("NVIDIA H100 80GB HBM3", 18, 26_562), ("NVIDIA H200", 18, 26_562), ("NVIDIA B200", 18, 53_125), ("NVIDIA GB200", 18, 53_125),
    ("NVIDIA GB300", 18, 53_125), ("NVIDIA H100 PCIe", None, None), ("NVIDIA H100 NVL", None, None), ("NVIDIA H200 NVL", None, None),
    ("NVIDIA A100 80GB PCIe", None, None), ("NVIDIA A800-SXM4-80GB", None, None), ("NVIDIA L40S", None, None),
    ("NVIDIA GH200 480GB", None, None), ("NVIDIA Rubin", None, None),
])  # fmt: skip
def test_only_boards_that_wire_every_port_are_in_the_catalogue(product: str, count: int | None, rate_mb_per_s: int | None) -> None:
    """Count and rate of each GPU (NVIDIA Health Validation); a card whose bridge may be missing is none of them."""
    found = expectation(gpu(0, product=product, ports=count or 18), [], NOBODY, BOARDS, frozenset())
    expected = found.expected

    assert (expected and expected.count, expected and expected.rate_bytes_per_s) == (
        count, rate_mb_per_s and rate_mb_per_s * 1_000_000)  # fmt: skip


def test_a_board_with_other_ports_than_the_catalogue_says_names_no_links() -> None:
    """The number holds, which of them it means does not."""
    found = expectation(gpu(0, ports=20), [], NOBODY, BOARDS, frozenset()).expected

    assert found is not None
    assert [found.count, found.links] == [18, None]


def test_a_bridge_is_seen_from_its_other_end() -> None:
    """As many links as others see it on: boards bridged in pairs need not all be bridged."""
    lone = gpu(2, frozenset(), {}, "NVIDIA H100 NVL")
    node = [*pair(12), lone]

    assert [by_symmetry(one, node) for one in node] == [12, 12, None]


def test_a_link_that_only_the_far_end_has_is_missing() -> None:
    """Eleven here, twelve there."""
    near, far = pair(12)
    broken = near._replace(active=near.active - {5}, peers={link: peer for link, peer in near.peers.items() if link != 5})

    assert by_symmetry(broken, [broken, far]) == 12


def test_what_most_gpus_on_switches_have_is_expected_of_all() -> None:
    """One of four with all links down; of two that differ either may be the sick one; of four that all differ, none is right."""
    dark = gpu(3, frozenset())
    four = [*(gpu(number) for number in range(3)), dark]
    two = [gpu(0), gpu(1, frozenset(range(17)))]
    torn = [gpu(number, frozenset(range(18 - number))) for number in range(4)]

    assert [by_symmetry(dark, four), by_symmetry(two[1], two)] == [18, None]
    assert [by_symmetry(one, torn) for one in torn] == [None] * 4


def test_gpus_of_another_product_say_nothing() -> None:
    """Three of one kind, one of another."""
    other = gpu(3, frozenset({0}), product="NVIDIA B300")

    assert by_symmetry(other, [*(gpu(number) for number in range(3)), other]) is None


@pytest.mark.parametrize(("expected", "active", "link", "wanted"), [
    (Expected(2, frozenset({0, 1})), {0}, 1, True),
    (Expected(2, frozenset({0, 1})), {0}, 2, False),
    (Expected(18), set(range(17)), 17, True),
    (Expected(18), set(), 4, True),
    (Expected(12), set(range(12)), 12, False),
    (Expected(12), set(range(11)), 12, None),
    (Expected(0), set(), 3, False),
    (Expected(30), set(range(17)), 17, True),
])  # fmt: skip
def test_an_inactive_link_is_expected_if_that_is_certain(expected: Expected, active: set[int], link: int, wanted: bool | None) -> None:  # noqa: FBT001  # a column
    """By the list of links; by a number alone only where it settles which ones."""
    assert is_expected(link, gpu(0, frozenset(active)), expected) is wanted


@pytest.mark.parametrize(("text", "pattern", "expected"), [
    ("gpu.*=18", "gpu.*", Expected(18)),
    ("NVIDIA H100 PCIe=[0-3,6-9,12-15]", "NVIDIA H100 PCIe", Expected(12, frozenset({0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15}))),
    ("gpu.*=18@26562MB/s", "gpu.*", Expected(18, None, 26_562_000_000)),
    ("gpu0=[5]@1MB/s", "gpu0", Expected(1, frozenset({5}), 1_000_000)),
    ("gpu0=0", "gpu0", Expected(0)),
    ("a=b=2", "a=b", Expected(2)),
    ("gpu0=[1,1-2,2]", "gpu0", Expected(2, frozenset({1, 2}))),
])  # fmt: skip
def test_a_text_says_pattern_number_or_links_and_rate(text: str, pattern: str, expected: Expected) -> None:
    """As a person writes it."""
    assert expected_links(text) == (pattern, expected)


@pytest.mark.parametrize("text", ["", "gpu0", "=18", "gpu0=", "gpu0=-1", "gpu0=1000", "gpu0=[]", "gpu0=[,]", "gpu0=[1,]", "gpu0=[-3]",
                                  "gpu0=[3-]", "gpu0=[3-1]", "gpu0=[0-3,9-6]", "gpu0=[1--2]", "gpu0=[0-99999]", "gpu0=[a]", "gpu0=18@26562",
                                  "gpu0=18@0MB/s", "gpu0=18 ", "gpu0=\u0661", "gpu0=[\u0661]", "gpu0\n=18", "gpu0=18@MB/s"])  # fmt: skip
def test_a_text_that_says_nothing_clear_is_refused_in_one_line(text: str) -> None:
    """With what was expected and what stands there."""
    with pytest.raises(ValueError, match="expected PATTERN=COUNT or PATTERN=") as refused:
        expected_links(text)

    assert "\n" not in str(refused.value)


@given(st.text(max_size=40) | st.from_regex(r"gpu[0-9]=\[[0-9,-]{0,12}\](@[0-9]{1,7}MB/s)?", fullmatch=True))
def test_any_text_is_understood_or_refused(text: str) -> None:
    """Never another error, and what is understood holds together."""
    try:
        pattern, expected = expected_links(text)
    except ValueError:
        return

    assert pattern
    assert expected.links is None or len(expected.links) == expected.count > 0
    assert expected.rate_bytes_per_s is None or expected.rate_bytes_per_s > 0


@given(st.lists(st.frozensets(st.integers(0, 17)), min_size=1, max_size=8), st.frozensets(st.integers(0, 17)))
def test_a_healthy_gpu_is_never_accused_by_symmetry(others: list[frozenset[int]], active: frozenset[int]) -> None:
    """Whatever the rest of the node does: a GPU that has what most have lacks nothing."""
    one = gpu(0, active)
    node = [one, *(gpu(number, links) for number, links in enumerate(others, 1))]
    expected = expectation(one, node, NOBODY, NOBODY, frozenset()).expected
    agreeing = sum(len(other.active) == len(active) for other in node)

    if agreeing * 2 > len(node):
        assert expected is None or expected.count <= len(active)


@given(st.integers(0, 40), st.frozensets(st.integers(0, 17)))
def test_a_number_never_accuses_more_links_than_are_missing(count: int, active: frozenset[int]) -> None:
    """Every link that is called down is one too few."""
    one = gpu(0, active)
    accused = [link for link in one.ports if link not in active and is_expected(link, one, Expected(count))]

    assert len(accused) <= max(0, count - len(active))
