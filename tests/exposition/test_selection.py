"""What a scraper may ask for, and what it is told when it asks for too much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.exposition.page import render
from exporter.exposition.selection import EXPORTER, VALUES_MAX, Selection, SelectionError, selection_of
from exporter.model.entity import NODE, Device
from exporter.model.metric import Cadence, Tier
from exporter.model.snapshot import Feed, Reading, Scene
from tests.exposition.scenes import PORT, ROWS, scene_of, texts

KNOWN = ["infiniband", "nvml"]


@pytest.fixture
def scene() -> Scene:
    """Two sources and a number of the exporter's own, rows of every tier."""
    return scene_of({
        Feed("infiniband", "mlx5_0", Cadence.FAST): (Reading(PORT, {"bytes": 1, ("events", "crc"): 2}), Reading(NODE, {"node": 3})),
        Feed("nvml", "gpu0", Cadence.FAST): (Reading(Device("gpu0"), {"ratio": 0.5}),),
    }, own=(Reading(NODE, {("exporter_source_up", "infiniband"): 1}),))  # fmt: skip


def names(scene: Scene, query: dict[str, list[str]]) -> set[str]:
    """Names of the series that a query shows."""
    selection = selection_of(query, KNOWN, Tier.FULL)
    lines = render(scene, selection, 1000, ROWS).splitlines()
    return {line.partition("{")[0].partition(" ")[0] for line in lines if not line.startswith("#")}


def refused(query: dict[str, list[str]]) -> str:
    """The text of the refusal."""
    with pytest.raises(SelectionError) as caught:
        selection_of(query, KNOWN, Tier.STANDARD)
    return str(caught.value)


def test_no_query_shows_everything(scene: Scene) -> None:
    """All sources, all names of the tier."""
    assert len(names(scene, {})) == 5


def test_collect_shows_the_named_source_alone(scene: Scene) -> None:
    """The exporter's own series leave as well."""
    assert names(scene, {"collect[]": ["nvml"]}) == {"fabric_t_ratio"}


def test_collect_exporter_shows_the_exporter_alone(scene: Scene) -> None:
    """It is a source like any other to a scraper."""
    assert names(scene, {"collect[]": [EXPORTER]}) == {"fabric_exporter_source_up"}


def test_collect_several_shows_them_all(scene: Scene) -> None:
    """Values add up."""
    assert names(scene, {"collect[]": ["nvml", EXPORTER]}) == {"fabric_t_ratio", "fabric_exporter_source_up"}


def test_name_shows_the_named_metric_alone(scene: Scene) -> None:
    """By its public name."""
    assert names(scene, {"name[]": ["fabric_t_bytes_total"]}) == {"fabric_t_bytes_total"}


def test_unknown_name_shows_nothing(scene: Scene) -> None:
    """A metric may be absent on this node; asking for it is no mistake."""
    assert names(scene, {"name[]": ["fabric_no_such"]}) == set()


@pytest.mark.parametrize(("tier", "shown"), [("aggregate", 2), ("basic", 3), ("Standard", 4), ("FULL", 5)])
def test_tier_holds_all_before_it(scene: Scene, tier: str, shown: int) -> None:
    """Whatever the case of its name."""
    assert len(names(scene, {"tier": [tier]})) == shown


def test_query_without_a_tier_takes_the_configured_one() -> None:
    """The default is the site's."""
    assert selection_of({}, KNOWN, Tier.BASIC) == Selection(Tier.BASIC)


def test_parameters_of_others_are_ignored() -> None:
    """Prometheus lets people add any."""
    assert selection_of({"target": ["x"], "module": ["y"]}, KNOWN, Tier.BASIC) == Selection(Tier.BASIC)


def test_unknown_source_is_refused_with_the_known_ones() -> None:
    """One line that tells what could be asked for."""
    assert refused({"collect[]": ["infiniband", "slurm"]}) == "unknown source 'slurm' in collect[]; known: exporter, infiniband, nvml"


def test_unknown_tier_is_refused_with_the_known_ones() -> None:
    """One line that tells what could be asked for."""
    assert refused({"tier": ["most"]}) == "unknown tier 'most'; known: aggregate, basic, standard, full"


@pytest.mark.parametrize(
    "query", [{"collect[]": ["nvml"] * (VALUES_MAX + 1)}, {"name[]": ["x"] * (VALUES_MAX + 1)}, {"tier": ["full", "full"]}]
)
def test_flood_of_parameters_is_refused(query: dict[str, list[str]]) -> None:
    """A selection is a key of a cache: its size has a bound."""
    assert refused(query).startswith("too many parameters")


@given(st.dictionaries(st.sampled_from(["collect[]", "name[]", "tier"]), st.lists(texts, max_size=3)))
def test_any_query_gives_a_selection_or_one_printable_line(query: dict[str, list[str]]) -> None:
    """Odd bytes in a query never break a log or an answer."""
    try:
        said = repr(selection_of(query, KNOWN, Tier.STANDARD))
    except SelectionError as error:
        said = str(error)

    assert said.isprintable()
