"""Each machine's profile, read back whole by the unmodified pynvml: every value exact, at a moment when counters have risen."""

import json
from pathlib import Path

import pytest

from tests.nvml_library import BOARDS, FakeDriver, field_id, profile
from tests.nvml_library.profiles import KIB, KIB_FIELDS, NVLINK5_BYTES
from tests.nvml_library.scenario import Amount, Ret, Statements, answer

AT_NS = 1_234_567_890_123
ALL = 0xFFFFFFFF


def asked(statements: Statements, gpu: int) -> dict[str, tuple[int, int]]:
    """Key → (field id, scope) of each field value that the scenario states for the GPU."""
    found = {}
    for key in (one for one in statements if "." in one):
        owner, *middle, last = key.split(".")
        if owner == f"g{gpu}" and last[0] == "f" and last[1:].isdigit():
            scope = 0 if not middle else ALL if middle[0] == "all" else int(middle[0][1:])
            found[key] = (int(last[1:]), scope)
    return found


@pytest.mark.parametrize("name", BOARDS)
def test_every_field_of_a_profile_is_read_back_exactly(driver: FakeDriver, tmp_path: Path, name: str) -> None:
    """All GPUs, links and sums; a batch as wide as a GPU."""
    statements = profile(name)
    pairs = [list(asked(statements, gpu).values()) for gpu in range(BOARDS[name].gpus)]
    driver.write(statements).clock.set_ns(AT_NS)
    wanted = tmp_path / "pairs.json"
    wanted.write_text(json.dumps(pairs), encoding="utf-8")

    told = driver.ask(f"told([values(gpu, pairs) for gpu, pairs in zip(started(), json.load(open({str(wanted)!r})))])")

    expected = [[answer(statements, key, AT_NS) for key in asked(statements, gpu)] for gpu in range(BOARDS[name].gpus)]
    assert told == [[{"ret": one.code} if isinstance(one, Ret) else one for one in of_gpu] for of_gpu in expected]


@pytest.mark.parametrize("name", BOARDS)
def test_links_of_a_profile_are_up_where_the_board_is_wired(driver: FakeDriver, name: str) -> None:
    """State by the call, up to one port beyond; far ends where wired, NotSupported elsewhere."""
    board = BOARDS[name]

    told = driver.write(profile(name)).ask(f"""
        def far(gpu, link):
            pci, kind = (outcome(call, gpu, link) for call in (N.nvmlDeviceGetNvLinkRemotePciInfo, N.nvmlDeviceGetNvLinkRemoteDeviceType))
            return pci if isinstance(pci, str) else [pci.busId, kind, *values(gpu, [(146, link)])]
        links = range({board.ports})
        told([[[outcome(N.nvmlDeviceGetNvLinkState, gpu, link) for link in (*links, {board.ports})], [far(gpu, link) for link in links]]
              for gpu in started()])
    """)

    for gpu, (states, far) in enumerate(told):
        active = board.active(gpu)
        ends = {link: board.far_end(gpu, link) for link in active}
        assert states == [*(int(link in active) for link in range(board.ports)), "NVMLError_InvalidArgument"]
        assert far == [
            [ends[link].pci, 2 if ends[link].is_switch else 0, ends[link].port] if link in ends else "NVMLError_NotSupported"
            for link in range(board.ports)
        ]


@pytest.mark.parametrize("name", BOARDS)
def test_no_two_links_of_a_profile_have_the_same_counter(name: str) -> None:
    """So that a swapped GPU, link or field is seen: whatever rises differs in value and in rate."""
    numbers = [
        (value.type, value.base, value.per_second)
        for key, value in profile(name).items()
        if isinstance(value, Amount) and value.per_second and ".l" in key
    ]

    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("name", [name for name, board in BOARDS.items() if not board.switches and board.wired])
def test_both_ends_of_a_cable_name_each_other(name: str) -> None:
    """Without switches: port and address at one end lead to the other and back."""
    board = BOARDS[name]
    at = {board.pci(gpu): gpu for gpu in range(board.gpus)}

    for gpu in range(board.gpus):
        for link in board.wired:
            far = board.far_end(gpu, link)
            assert board.far_end(at[far.pci], far.port)[:2] == (board.pci(gpu), link)


@pytest.mark.parametrize(("name", "peers"), [("v100", [1, 1, 2, 2]), ("hgx-h100-4", [6, 6, 6]), ("h100-nvl", [12])])
def test_gpu_0_has_as_many_links_to_each_peer_as_the_machine(name: str, peers: list[int]) -> None:
    """NV1 and NV2 of the DGX-1V, NV6 of the board of four, NV12 of a bridged pair."""
    board = BOARDS[name]
    ends = [board.far_end(0, link).pci for link in board.wired]

    assert [ends.count(pci) for pci in sorted(set(ends))] == peers


@pytest.mark.parametrize("name", ["b200", "gb200", "rubin-36"])
def test_bytes_of_nvlink5_are_the_kib_of_the_same_traffic(name: str) -> None:
    """Who takes the one unit for the other is off by 1024."""
    statements = profile(name)

    for kib, of_bytes in zip(KIB_FIELDS, NVLINK5_BYTES, strict=False):
        small, large = (statements[f"g1.l3.f{field_id(field)}"] for field in (kib, of_bytes))
        assert isinstance(small, Amount)
        assert isinstance(large, Amount)
        assert [large.base, large.per_second] == [small.base * KIB, small.per_second * KIB]
