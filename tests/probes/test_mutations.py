"""Damaged outputs of nccl-tests: no crash, and no wrong number accepted silently."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.probes.mutations import originals, real_outputs, run, wrong_rows
from tests.requires import need_data

CORPUS = originals()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_damaged_outputs_pass_no_wrong_number(seed: int) -> None:
    """Flipped bytes, changed digits, cuts, losses, foreign pieces, swapped lines, two outputs in turn: every layout, plain and wrapped.
    `python -m tests.probes.mutations 100000` does it a hundred thousand times."""
    assert run(40, seed, CORPUS).outputs == 40


def test_damaged_real_outputs_pass_no_wrong_number() -> None:
    """The same with outputs of eight A100 (FABRIC_TEST_DATA)."""
    assert run(60, 7, real_outputs(need_data())).rows > 0


def test_a_wrong_row_would_be_seen() -> None:
    """The judge itself: a row of another run is no row of this one."""
    one, other = (original for original in CORPUS if original.name in {"v2.13-reduce-scatter.txt", "v2.13-sendrecv-unchecked.txt"})

    assert len(wrong_rows(one.read(one.content), other.read(other.content).rows)) == 4
