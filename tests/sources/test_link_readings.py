"""What several families brought, put together by link: whatever is refused, nothing is lost, swapped or made up."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.nvlink_fields import Field
from exporter.model.entity import Entity, Fabric, Link
from exporter.model.snapshot import FixedValues, Number, SeriesKey
from exporter.sources.field_family import FamilyPass, Refusal
from exporter.sources.link_readings import LinkReadings

LINKS = {index: Link(Fabric.NVLINK, "gpu0", str(index)) for index in range(6)}
KEYS: tuple[tuple[SeriesKey, ...], ...] = (("a", ("b", "x")), ("c",), (("b", "y"), "d", "e"))


class Asked(NamedTuple):
    """A family in one pass: which links it was asked for under which keys, and what was refused."""

    links: tuple[int, ...]
    keys: tuple[SeriesKey, ...]
    refused: frozenset[tuple[int, SeriesKey]] = frozenset()


def one_pass(asked: Asked, base: int = 0) -> FamilyPass:
    """Numbers that tell link and key."""
    pairs = [(link, key) for link in asked.links for key in asked.keys]
    marks = {at: Refusal(link, Field(0, key), 3) for at, (link, key) in enumerate(pairs) if (link, key) in asked.refused}
    return FamilyPass(asked.links, asked.keys, [number_of(link, key, base) for link, key in pairs], marks)


def number_of(link: int, key: SeriesKey, base: int = 0) -> int:
    """Another one for each."""
    return base + link * 100 + [one for keys in KEYS for one in keys].index(key)


@st.composite
def some_passes(draw: st.DrawFn) -> list[Asked]:
    """Families with the links each was asked for and the numbers that were refused."""
    found = []
    for keys in KEYS[: draw(st.integers(0, len(KEYS)))]:
        links = tuple(sorted(draw(st.sets(st.sampled_from(sorted(LINKS))))))
        pairs = [(link, key) for link in links for key in keys]
        found.append(Asked(links, keys, frozenset(draw(st.sets(st.sampled_from(pairs)))) if pairs else frozenset()))
    return found


@given(st.lists(some_passes(), min_size=1, max_size=4))
def test_every_number_lands_at_its_link_and_key(rounds: list[list[Asked]]) -> None:
    """In each of several passes with other links, families and refusals: what was not refused, and nothing else."""
    readings = LinkReadings(LINKS)
    for base, families in enumerate(rounds):
        told = {reading.entity: dict(reading.values) for reading in readings.of([one_pass(asked, base) for asked in families])}

        expected: dict[Entity, dict[SeriesKey, Number]] = {}
        for links, keys, refused in families:
            for link, key in ((link, key) for link in links for key in keys):
                if (link, key) not in refused:
                    expected.setdefault(LINKS[link], {})[key] = number_of(link, key, base)
        assert told == expected


def test_links_come_in_order_and_share_their_places() -> None:
    """Who knows the places of one pass knows those of the next: the same object."""
    readings = LinkReadings(LINKS)
    families = (Asked((0, 2, 5), KEYS[0]), Asked((2,), KEYS[1]))
    first, second = (readings.of([one_pass(asked, base) for asked in families]) for base in (0, 1))
    places = [[reading.values.places for reading in one if isinstance(reading.values, FixedValues)] for one in (first, second)]

    assert [reading.entity.port for reading in first if isinstance(reading.entity, Link)] == ["0", "2", "5"]
    assert [len(one) for one in places] == [3, 3]
    assert all(before is after for before, after in zip(*places, strict=True))


def test_a_link_of_which_nothing_came_has_no_reading() -> None:
    """Not an empty one."""
    only_refused = one_pass(Asked((0, 1), KEYS[1], frozenset({(0, "c")})))

    assert [str(reading.entity) for reading in LinkReadings(LINKS).of([only_refused])] == ["nvlink/gpu0/1"]
    assert LinkReadings(LINKS).of([]) == []
