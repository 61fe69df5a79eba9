"""The thin face: rows in, panels out, and nonsense refused with a word on what to write instead."""

import pytest

from dashboards import units
from dashboards.board import FLEET, ONE_NODE, Board, Section, expectation, grafana
from dashboards.normal import normal
from dashboards.panels import timeseries
from dashboards.promql import age, buckets, growth, rate, since, value
from dashboards.query import FaceError
from dashboards.substitution import filled
from dashboards.tables import Column, Label, table
from dashboards.ways import TO_NODE
from exporter.catalog import ethernet, gpu, infiniband, internals, nvlink, probes, signals

RECEIVED = rate(infiniband.RECEIVED)


def test_a_counter_is_shown_as_its_rate_in_its_unit() -> None:
    """Bytes become bytes per second; the board's scope fills the selector; the legend is made of the labels."""
    name = 'fabric_infiniband_port_data_received_bytes_total{pool=~"$pool",node=~"$node"}'

    assert FLEET.fill(RECEIVED.text) == f"rate({name}[$__rate_interval])"
    assert RECEIVED.unit == units.BYTES_PER_SECOND
    assert FLEET.legend(RECEIVED) == "{{node}} {{device}}/{{port}}"


def test_a_board_of_one_node_does_not_name_it_in_legends() -> None:
    """It stands in the head of the board."""
    assert ONE_NODE.legend(RECEIVED) == "{{device}}/{{port}}"


def test_matchers_stand_behind_the_scope() -> None:
    """`~` makes a pattern, `!` turns it around."""
    query = value(signals.NODE_LINKS, status="~failed|degraded", fabric="!pcie")

    assert FLEET.fill(query.text) == 'fabric_node_links{pool=~"$pool",node=~"$node",status=~"failed|degraded",fabric!="pcie"}'


@pytest.mark.parametrize(
    ("ask", "advice"),
    [
        (lambda: value(infiniband.RECEIVED), "ask for its rate or its growth"),
        (lambda: rate(signals.HEALTH), "ask for its value"),
        (lambda: growth(signals.HEALTH), "ask for its value"),
        (lambda: value(signals.SAMPLES), "ask for its buckets"),
        (lambda: buckets(signals.HEALTH), "not a histogram"),
        (lambda: value(signals.CONDITION_SINCE), "ask for since"),
        (lambda: since(signals.HEALTH), "no point in time"),
        (lambda: value(signals.HEALTH, gpu="3"), "no label"),
        (lambda: value(signals.HEALTH).sum_by("rail"), "no label"),
        (lambda: RECEIVED.minus(value(signals.CAPACITY).max_by("node"), "node"), "make no sum"),
        (lambda: RECEIVED.joined(value(infiniband.PORT_INFO), "node", "device", bring=("rail",)), "aggregate it by"),
    ],
)
def test_what_means_nothing_is_refused(ask: object, advice: str) -> None:
    """Each with a word on what to write instead."""
    with pytest.raises(FaceError, match=advice):
        ask()  # type: ignore[operator]


def test_queries_of_two_units_do_not_share_an_axis() -> None:
    """Bytes per second beside errors per second would be read as one."""
    with pytest.raises(FaceError, match="2 units on one axis"):
        _drawn(timeseries("Mixed", "Two units.", RECEIVED, rate(nvlink.ERRORS)))


def test_a_panel_needs_a_description() -> None:
    """A sentence, at that."""
    with pytest.raises(FaceError, match="needs a description"):
        timeseries("Bare", "", RECEIVED)


def test_a_table_shows_only_labels_that_its_queries_have() -> None:
    """A column that stays empty would look like missing hardware."""
    with pytest.raises(FaceError, match="rail"):
        table("Links", "All.", Column("status", value(signals.HEALTH)), labels={"rail": Label()}, sort="status")


def test_a_link_that_needs_a_label_that_is_not_shown_is_refused() -> None:
    """Grafana would open the board of no node."""
    query = value(signals.HEALTH).max_by("fabric", "device", "port")

    with pytest.raises(FaceError, match="needs \\['node'\\]"):
        table("Links", "All.", Column("status", query), labels={"device": Label()}, sort="status", way=TO_NODE)
    with pytest.raises(FaceError, match="needs \\['node'\\]"):
        _drawn(timeseries("Links", "All.", query, way=TO_NODE))


def test_two_panels_of_one_title_are_refused() -> None:
    """Tests and readers name panels by their titles."""
    tile = timeseries("Received", "Bytes.", RECEIVED)

    with pytest.raises(FaceError, match="two panels of the title"):
        grafana(Board("fabric-x", "X", "X.", FLEET, (), (Section("Row", (tile, tile)),)))


def test_joins_are_many_to_one() -> None:
    """The side that tells more series apart is the many side; the brought labels follow."""
    joined = RECEIVED.joined(
        value(infiniband.PORT_INFO).max_by("node", "device", "port", "rail"), "node", "device", "port", bring=("rail",)
    )

    assert " * on (node, device, port) group_left (rail) max by (node, device, port, rail) (" in joined.text
    assert "rail" in joined.labels


def test_a_division_is_a_share() -> None:
    """Of one unit by another of its size."""
    share = rate(nvlink.BLOCKS_REPEATED).sum_by("node").over(rate(nvlink.BLOCKS).sum_by("node"), "node")

    assert share.unit == units.RATIO


def test_a_loose_operand_gets_brackets() -> None:
    """So that operators bind as they were written."""
    missing = value(gpu.LINKS_EXPECTED).minus(value(gpu.LINKS_ACTIVE), "node", "device")

    assert missing.only("> 0", "none").text == f"({missing.text}) > 0"


def test_a_point_in_time_is_shown_as_its_age() -> None:
    """In milliseconds for `3 hours ago`, or as seconds that have passed."""
    assert since(signals.CONDITION_SINCE).unit == units.FROM_NOW
    assert age(internals.SOURCE_LAST_SUCCESS).text.startswith("time() - ")


def test_seconds_per_second_are_a_share_of_time() -> None:
    """A pause counter's rate."""
    assert rate(ethernet.PAUSE_SECONDS).unit == units.RATIO


def test_what_a_query_expects_follows_from_its_rows() -> None:
    """Probes: nothing. Tier full: maybe."""
    assert [expectation(query)[0].value for query in (value(probes.BASELINE), rate(nvlink.FEC), value(signals.HEALTH))] == [
        "never", "maybe", "data",
    ]  # fmt: skip


def test_label_replace_keeps_its_group() -> None:
    """`$1` is PromQL's, not Grafana's."""
    assert (
        filled('label_replace(x{a="$node"}, "b", "$1", "a", "(.+)")', {"node": "n1"}) == 'label_replace(x{a="n1"}, "b", "$1", "a", "(.+)")'
    )


def _drawn(tile: object) -> dict[str, object]:
    return normal(grafana(Board("fabric-x", "X", "X.", FLEET, (), (Section("Row", (tile,)),))))  # type: ignore[arg-type]
