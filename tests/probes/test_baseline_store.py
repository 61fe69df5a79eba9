"""All baselines of a node: by key, bounded, and through JSON, whole or corrupt."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.limits import PROBE_BASELINES_MAX, PROBE_LEARN_RUNS
from exporter.probes.baseline import Measure, State
from exporter.probes.baseline_store import Baselines, Key, baselines_of, document_of

KEY = Key("node", Measure.BANDWIDTH, "GPU-1,GPU-2", "all_reduce", 2**28, "RING", "SIMPLE", "2.27.3", "570.86.15")


def taught(key: Key = KEY, runs: int = PROBE_LEARN_RUNS + 3, value: float = 4e11, baselines: Baselines | None = None) -> Baselines:
    """With so many good runs of one key."""
    known = baselines or Baselines()
    for run in range(runs):
        known, _ = known.step(key, value, wall_s=1000.0 + run)
    return known


def test_keys_do_not_touch_each_other() -> None:
    """A slow all-gather is no slow all-reduce."""
    other = KEY._replace(collective="all_gather")
    known, said = taught().step(other, 1e11, 2000.0)

    assert said.ratio is None
    assert known.step(KEY, 2e11, 2001.0)[1].ratio == 0.5


def test_another_version_learns_anew_and_keeps_the_old_for_comparison() -> None:
    """An upgrade of NCCL or the driver may change what is usual."""
    upgraded = KEY._replace(nccl="2.28.0", driver="580.1")
    known, said = taught().step(upgraded, 3e11, 2000.0)

    assert said.ratio is None
    assert known.earlier(upgraded) == 4e11
    assert known.earlier(KEY) is None
    assert known.earlier(upgraded._replace(size_bytes=8)) is None


def test_those_not_used_for_longest_are_forgotten() -> None:
    """A clock that stands still does not lose the key in hand."""
    known = Baselines()
    for size in range(PROBE_BASELINES_MAX + 2):
        known, _ = known.step(KEY._replace(size_bytes=size), 4e11, wall_s=float(size))
    known, _ = known.step(KEY._replace(size_bytes=9999), 4e11, wall_s=0.0)

    assert len(known.kept) == PROBE_BASELINES_MAX
    assert {0, 1, 2}.isdisjoint(key.size_bytes for key in known.kept)
    assert KEY._replace(size_bytes=9999) in known.kept


def test_a_document_holds_all_of_it() -> None:
    """Through JSON text and back, degraded state included."""
    known = taught(KEY._replace(measure=Measure.LATENCY), baselines=taught())
    for run in range(4):
        known, _ = known.step(KEY, 1e11, 3000.0 + run)

    read = baselines_of(json.loads(json.dumps(document_of(known))))

    assert read == known
    assert read.kept[KEY].baseline.state is State.DEGRADED


@pytest.mark.parametrize("change", [
    {"measure": "speed"}, {"size_bytes": -1}, {"size_bytes": True}, {"size_bytes": 1.5}, {"learned": [1.0]}, {"learned": [1.0] * 201},
    {"learned": [float("nan")] * 15}, {"learned": "x"}, {"commissioned": None}, {"drift": 0}, {"decayed": None}, {"grades": ["odd"]},
    {"state": None},
    {"used_wall_s": "now"}, {"gpus": 1}, {"kind": "x" * 2000}, {"grades": [[]]}, {"measure": []}, {"learned": [10**400] * 15},
])  # fmt: skip
def test_a_corrupt_entry_is_learned_anew_and_the_others_stay(change: Mapping[str, object]) -> None:
    """Half a baseline is none, and none of it may end in a verdict."""
    document = document_of(taught(KEY._replace(size_bytes=8), baselines=taught()))
    entries = document["baselines"]
    assert isinstance(entries, list)
    entries[0] = {**entries[0], **change}

    assert [key.size_bytes for key in baselines_of(document).kept] == [8]


@pytest.mark.parametrize("document", [None, [], {}, {"version": 2, "baselines": []}, {"version": 1}, {"version": 1, "baselines": {"a": 1}}])
def test_another_document_is_an_empty_one(document: object) -> None:
    """Corrupt means learn anew, never a crash."""
    assert baselines_of(document) == Baselines()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.sampled_from([*document_of(taught())["baselines"][0]]), JSON)  # type: ignore[index]
def test_no_document_makes_it_raise(name: str, value: object) -> None:
    """Any JSON in any place of an entry; what is read can be stepped on."""
    document = document_of(taught())
    entries = document["baselines"]
    assert isinstance(entries, list)
    entries[0][name] = value

    read = baselines_of(document)

    for key in read.kept:
        read.step(key, 4e11, 5000.0)
