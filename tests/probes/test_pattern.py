"""The data check: what must arrive where, and that nothing wrong passes."""

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probes import pattern
from exporter.probes.collectives import BLOCKWISE, Collective
from exporter.probes.pattern import PERIOD, RANKS_MAX, Wrong, compare, expected, received_elements, sent, source_of

FEW = settings(max_examples=40, deadline=None)


def floats(buffer: bytes | bytearray) -> array:
    """The numbers in a buffer."""
    return array("f", bytes(buffer))


def carried_out(collective: Collective, ranks: int, elements: int, seed: int, root: int) -> list[list[float]]:
    """What every rank receives, by the plain meaning of the collective and what the ranks send."""
    sends = [list(floats(sent(collective, rank, ranks, elements, seed, root))) for rank in range(ranks)]
    each = elements // ranks
    if collective is Collective.ALL_REDUCE:
        return [[sum(column) for column in zip(*sends, strict=True)]] * ranks
    if collective is Collective.REDUCE_SCATTER:
        sums = [sum(column) for column in zip(*sends, strict=True)]
        return [sums[rank * each : (rank + 1) * each] for rank in range(ranks)]
    if collective is Collective.ALL_GATHER:
        return [[value for one in sends for value in one]] * ranks
    if collective is Collective.ALL_TO_ALL:
        return [[value for one in sends for value in one[rank * each : (rank + 1) * each]] for rank in range(ranks)]
    if collective is Collective.BROADCAST:
        return [sends[root]] * ranks
    return [sends[rank - 1] for rank in range(ranks)]


@st.composite
def messages(draw: st.DrawFn) -> tuple[Collective, int, int, int, int]:
    """A collective, its ranks, elements, seed and root; some messages are longer than a period of the pattern."""
    collective, ranks = draw(st.sampled_from(list(Collective))), draw(st.integers(1, 5))
    blocks = draw(st.one_of(st.integers(1, 50), st.integers(PERIOD - 2, PERIOD + 2)))
    elements = blocks * ranks if collective in BLOCKWISE else blocks
    return collective, ranks, elements, draw(st.integers(0, 2**31)), draw(st.integers(0, ranks - 1))


@FEW
@given(messages())
def test_what_must_arrive_is_what_the_collective_means(message: tuple[Collective, int, int, int, int]) -> None:
    """Against the plain meaning, for each rank: sums, which block lands where, who sends to whom."""
    collective, ranks, elements, seed, root = message
    meant = carried_out(collective, ranks, elements, seed, root)

    for rank in range(ranks):
        assert list(floats(expected(collective, rank, ranks, elements, seed, root))) == meant[rank]


@FEW
@given(messages(), st.data())
def test_any_corrupt_element_is_found(message: tuple[Collective, int, int, int, int], data: st.DataObject) -> None:
    """A single flipped bit anywhere, with the place and the number of wrong elements; the same buffer whole is whole."""
    collective, ranks, elements, seed, root = message
    rank = data.draw(st.integers(0, ranks - 1))
    wanted = expected(collective, rank, ranks, elements, seed, root)
    got = bytearray(wanted)
    places = data.draw(st.sets(st.integers(0, len(got) // 4 - 1), min_size=1, max_size=5))
    for place in places:
        got[place * 4 + data.draw(st.integers(0, 3))] ^= 1 << data.draw(st.integers(0, 7))

    assert compare(bytes(wanted), wanted) is None
    assert compare(memoryview(got), wanted) == Wrong(len(places), min(places))


def test_sums_of_the_most_ranks_are_exact() -> None:
    """2047 times 4096 is below 2^24: each sum is a whole number that float32 holds, so the order of adding cannot matter."""
    sums = floats(expected(Collective.ALL_REDUCE, 0, RANKS_MAX, PERIOD, seed=7))

    assert max(sums) < 2**24
    assert all(value == int(value) for value in sums)


@pytest.mark.parametrize("shift", [2**power for power in range(16)] + [3 * 1024, 15 * 1024, 3 * 2**17, 2**20])
def test_a_chunk_in_the_wrong_place_shows(shift: int) -> None:
    """Data of a place any power of two away (a slice, a chunk, a page) differs in every single element."""
    whole = floats(sent(Collective.BROADCAST, 0, 2, 2**20 + 2**17, seed=3))

    assert all(whole[place] != whole[place + shift] for place in range(0, 2**17, 5))


def test_a_block_of_the_wrong_rank_shows() -> None:
    """No two ranks of a node or a rack send the same."""
    blocks = [floats(sent(Collective.ALL_REDUCE, rank, 72, 1, seed=5))[0] for rank in range(72)]

    assert len(set(blocks)) == 72


def test_another_seed_gives_other_data() -> None:
    """What an earlier run left in a buffer cannot pass for a result of this one."""
    assert sent(Collective.ALL_REDUCE, 0, 2, 64, seed=1) != sent(Collective.ALL_REDUCE, 0, 2, 64, seed=2)


@pytest.mark.parametrize("word", [pattern.POISON_WORD, pattern.GUARD_WORD, 0, 0x80000000])
def test_what_was_never_written_is_wrong(word: int) -> None:
    """Poison, guard, zeros: each element counts, but for those that happen to be 0; -0.0 is never right."""
    wanted = expected(Collective.ALL_REDUCE, 0, 2, 1000, seed=1)
    found = compare(word.to_bytes(4, "little") * 1000, wanted)

    assert found is not None
    assert found.elements >= 998


def test_poison_is_no_number_and_guards_are_whole() -> None:
    """A NaN never equals anything; a guard zone is 4 KiB of one word."""
    poison = floats(pattern.POISON_WORD.to_bytes(4, "little"))[0]

    assert poison != poison  # noqa: PLR0124 - that is what NaN means
    assert len(pattern.guard()) == pattern.GUARD_BYTES
    assert compare(bytes(pattern.guard()), pattern.guard()) is None


def test_source_tells_whose_data_belongs_at_a_place() -> None:
    """For sums nobody's alone."""
    assert source_of(Collective.ALL_GATHER, 0, 4, 400, 399) == 3
    assert source_of(Collective.ALL_TO_ALL, 2, 4, 400, 100) == 1
    assert source_of(Collective.BROADCAST, 2, 4, 400, 7, root=1) == 1
    assert source_of(Collective.SEND_RECV, 0, 4, 400, 7) == 3
    assert source_of(Collective.ALL_REDUCE, 0, 4, 400, 7) is None


def test_only_the_root_of_a_broadcast_sends() -> None:
    """The others hand in nothing, and all receive the message."""
    assert [len(sent(Collective.BROADCAST, rank, 3, 10, 1, root=1)) for rank in range(3)] == [0, 40, 0]
    assert received_elements(Collective.BROADCAST, 0, 3, 10) == 10


@pytest.mark.parametrize(("rank", "ranks", "elements"), [(0, 0, 8), (2, 2, 8), (-1, 2, 8), (0, RANKS_MAX + 1, 8), (0, 2, 0), (0, 3, 8)])
def test_a_message_that_cannot_be_is_refused(rank: int, ranks: int, elements: int) -> None:
    """More ranks would no longer be exact; blocks must be equal."""
    with pytest.raises(ValueError, match="ranks"):
        expected(Collective.ALL_GATHER, rank, ranks, elements, seed=1)


def test_buffers_of_different_length_are_not_compared() -> None:
    """A buffer that is too short is a bug of ours, no corrupt data."""
    with pytest.raises(ValueError, match="compared 4 bytes with 8"):
        compare(b"1234", bytearray(8))
