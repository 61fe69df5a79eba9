"""Health as numbers."""

from exporter.catalog import signals as rows
from exporter.model.entity import Fabric
from exporter.model.health import Level, Unknown, Why
from exporter.signals.shown import STATUSES, health_values, node_values
from exporter.signals.verdict import LinkState, ReasonState
from tests.signals.passes import PORT

SICK = LinkState(Level.DEGRADED, 5.0, {Why.PAUSED: ReasonState(1, 4.0), Why.WIDTH_DOWNGRADE: ReasonState(3, 5.0), Why.DOWN: ReasonState(1)})


def test_a_well_link_has_its_level_alone() -> None:
    """The most of all links."""
    assert health_values(PORT, LinkState()) == {rows.HEALTH.key: 0}


def test_a_sick_link_has_each_active_reason_and_since_when() -> None:
    """A reason that held once and is not raised is no news."""
    expected = {rows.HEALTH.key: 2, (rows.CONDITION.key, "paused"): 1, (rows.CONDITION_SINCE.key, "paused"): 4.0,
                (rows.CONDITION.key, "width_downgrade"): 1, (rows.CONDITION_SINCE.key, "width_downgrade"): 5.0}  # fmt: skip

    assert health_values(PORT, SICK) == expected


def test_an_unknown_link_has_the_reason_in_place_of_a_level() -> None:
    """Never 0: a maximum over links stays right. What was raised is not hidden."""
    assert health_values(PORT, LinkState(unknown=Unknown.STALE)) == {(rows.UNKNOWN.key, "stale"): 1}
    assert health_values(PORT, SICK._replace(unknown=Unknown.STALE)) == health_values(PORT, SICK)


def test_a_node_has_each_status_of_each_of_its_fabrics() -> None:
    """From 0, so that an alert can compare; and the worst level that is known."""
    states = [(Fabric.ROCE, LinkState()), (Fabric.ROCE, SICK), (Fabric.NVLINK, LinkState(unknown=Unknown.GRACE))]
    counts = {("nvlink", "unknown"): 1, ("roce", "ok"): 1, ("roce", "degraded"): 1}

    pairs = [(fabric, status) for fabric in ("nvlink", "roce") for status in STATUSES]
    expected = {(rows.NODE_LINKS.key, *pair): counts.get(pair, 0) for pair in pairs}
    assert node_values(states) == {**expected, rows.NODE_HEALTH.key: 2}


def test_a_node_of_which_nothing_is_known_has_no_level() -> None:
    """No link, or none that is known."""
    assert node_values([]) == {}
    assert rows.NODE_HEALTH.key not in node_values([(Fabric.ROCE, LinkState(unknown=Unknown.STALE))])
