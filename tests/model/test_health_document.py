"""A node's health as JSON and back, and whatever else a socket may answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Fabric, Link
from exporter.model.health import Active, Level, Unknown, Verdict, Why
from exporter.model.health_document import TIME_MAX_S, document_of, health_in
from exporter.model.maintenance import Maintenance
from exporter.model.node_health import NodeHealth, SourceLook

NOW_S = 1_772_388_000.0
DOWN = Verdict(Link(Fabric.INFINIBAND, "mlx5_3", "1"), Level.FAILED, None, NOW_S - 60,
               (Active(Why.DOWN, Level.FAILED, NOW_S - 60, "state down; it should be up"),))  # fmt: skip
IDLE = Verdict(Link(Fabric.ETHERNET, "eno1", "1"), None, Unknown.NO_EXPECTATION, 0.0)
NODE = NodeHealth(NOW_S, (DOWN, IDLE), (SourceLook("infiniband", up=True, devices=8),), "the machine started 40 s ago",
                  Maintenance(is_active=True, reason="file: swap optics"))  # fmt: skip

times = st.floats(0, TIME_MAX_S)
texts = st.text(max_size=20)
actives = st.builds(Active, st.sampled_from(Why), st.sampled_from(Level), times, texts)
links = st.builds(Link, st.sampled_from(Fabric), texts, texts)
known = st.builds(Verdict, links, st.sampled_from(Level), st.none(), times, st.lists(actives, max_size=3).map(tuple))
unknown = st.builds(Verdict, links, st.none(), st.sampled_from(Unknown), times)
counts = st.none() | st.integers(0, 99)
looks = st.builds(SourceLook, texts, st.none() | st.booleans(), counts, st.lists(texts, max_size=2).map(tuple), texts)
nodes = st.builds(
    NodeHealth, times, st.lists(known | unknown, max_size=4).map(tuple), st.lists(looks, max_size=3).map(tuple), texts,
    st.builds(Maintenance, st.booleans(), texts, st.none() | times), st.booleans(), st.lists(texts, max_size=2).map(tuple),
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def changed(*path: str | int, value: object) -> Any:
    """The document of NODE with one value replaced."""
    document = json.loads(json.dumps(document_of(NODE)))
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    place[last] = value
    return document


def test_a_link_is_told_with_its_reasons() -> None:
    """Whole names beside their parts, so that a script need not take them apart."""
    assert document_of(NODE)["links"] == [
        {
            "link": "infiniband/mlx5_3/1", "fabric": "infiniband", "device": "mlx5_3", "port": "1", "status": "failed", "unknown": None,
            "since": NOW_S - 60,
            "reasons": [{"reason": "down", "level": "failed", "since": NOW_S - 60, "evidence": "state down; it should be up"}],
        },
        {"link": "ethernet/eno1/1", "fabric": "ethernet", "device": "eno1", "port": "1", "status": "unknown", "unknown": "no_expectation",
         "since": 0.0, "reasons": []},
    ]  # fmt: skip


@given(nodes)
def test_what_is_written_is_read_back(health: NodeHealth) -> None:
    """By way of JSON's text."""
    assert health_in(json.loads(json.dumps(document_of(health)))) == health


@given(json_values)
def test_anything_else_is_a_value_error(junk: object) -> None:
    """Of whatever shape."""
    with pytest.raises(ValueError, match="no health of a node"):
        health_in(junk)


@pytest.mark.parametrize(("path", "value"), [
    (("time",), float("nan")), (("time",), 10**400), (("time",), -1), (("time",), True), (("links",), {"a": 1}), (("links", 0), None),
    (("links", 0, "fabric"), "ether"), (("links", 0, "status"), "unknown"), (("links", 1, "unknown"), None),
    (("links", 0, "reasons", 0, "reason"), "moon"), (("links", 0, "reasons", 0, "level"), ["failed"]), (("links", 0, "device"), 3),
    (("sources", 0, "devices"), -1), (("sources", 0, "devices"), True), (("sources", 0, "hung"), "gpu3"), (("sources", 0, "up"), 1),
    (("maintenance",), None), (("maintenance", "until"), "tomorrow"), (("grace",), None), (("notes",), "x"),
])  # fmt: skip
def test_one_value_that_makes_no_sense_is_a_value_error(path: tuple[str | int, ...], value: object) -> None:
    """Another version's reason among them: half an answer would hide a fault."""
    with pytest.raises(ValueError, match="another version's"):
        health_in(changed(*path, value=value))
