"""Our text against prometheus_client's own encoder and parser, for anything that a source may say."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from exporter.exposition.choice import choose
from exporter.exposition.client_library import encode, families_of
from exporter.exposition.layout import lay_out, selected_readings
from exporter.exposition.page import PageMaker, render
from exporter.exposition.samples import samples_of
from exporter.exposition.selection import Selection
from exporter.model.entity import Device, Entity, Fabric, Link
from exporter.model.metric import Cadence, Kind, Metric, Tier, Unit
from exporter.model.snapshot import Feed, Number, Reading, Scene, SeriesKey
from tests.exposition.scenes import BYTES, EVENTS, PORT, ROWS, STATE, good_keys, numbers, one_feed, scene_of, scenes

CAP = 10**6
FULL = Selection(Tier.FULL)

Sample = tuple[str, tuple[tuple[str, str], ...], str]


def said(value: Number) -> str:
    """A value as a double, which is what Prometheus keeps; text, so that NaN equals NaN and -0 differs from 0."""
    return repr(float(value))


def parse(text: str) -> list[Sample]:
    """All samples of a page, in order, as prometheus_client's parser reads them."""
    return [(s.name, tuple(sorted(s.labels.items())), said(s.value)) for f in text_string_to_metric_families(text) for s in f.samples]


def heads(text: str) -> list[tuple[str, str, str]]:
    """Name, type and help of each family that the parser sees."""
    return [(family.name, family.type, family.documentation) for family in text_string_to_metric_families(text)]


def legal(text: str) -> str:
    """A label value as UTF-8 can carry it."""
    return "".join("?" if "\ud800" <= c <= "\udfff" else c for c in text)


def plainly(scene: Scene) -> tuple[Counter[Sample], Counter[str]]:
    """What a page must hold and what was dropped, worked out from the Scene without any code of the exposition."""
    values: dict[tuple[str, tuple[tuple[str, str], ...]], Number] = {}
    dropped: Counter[str] = Counter()
    for reading in selected_readings(scene, FULL):
        for key, value in reading.values.items():
            labels = labels_of(reading.entity, key)
            name = ROWS[key if isinstance(key, str) else key[0]].name if labels is not None else ""
            if labels is None:
                dropped["invalid"] += 1
            elif (name, labels) in values:
                dropped["duplicate"] += 1
            else:
                values[name, labels] = value
    return Counter((name, labels, said(value)) for (name, labels), value in values.items()), dropped


def labels_of(entity: Entity, key: SeriesKey) -> tuple[tuple[str, str], ...] | None:
    """Sorted label pairs, None if the row does not exist or the labels do not fit it."""
    name, *own = (key,) if isinstance(key, str) else key or ("",)
    row = ROWS.get(name)
    if row is None or len(own) != len(row.own_labels):
        return None
    has = {"device": getattr(entity, "name", None) or getattr(entity, "device", None), "port": getattr(entity, "port", None)}
    if isinstance(entity, Link):
        has |= {"fabric": entity.fabric.value, "device": entity.device}
    if isinstance(entity, Device):
        has["device"] = entity.name
    has |= dict(zip(row.own_labels, own, strict=True))
    if any(has.get(label) is None for label in row.labels):
        return None
    return tuple(sorted((label, legal(str(has[label]))) for label in row.labels))


@given(scenes)
def test_page_holds_what_the_client_library_would_show(scene: Scene) -> None:
    """Any entities, any label bytes, any numbers, several feeds: same families, same samples, same order."""
    theirs = encode(families_of(selected_readings(scene, FULL), ROWS, FULL, CAP)).decode()
    ours = render(scene, FULL, CAP, ROWS)

    assert parse(ours) == parse(theirs)
    assert heads(ours) == heads(theirs)


@given(scenes)
def test_page_holds_what_the_scene_says_and_counts_the_rest(scene: Scene) -> None:
    """Against a plain reckoning: the first of two duplicates stays, what fits no row is counted, nothing raises."""
    expected, dropped = plainly(scene)
    layout = lay_out(selected_readings(scene, FULL), ROWS, FULL, CAP)

    assert Counter(parse(layout.fill(selected_readings(scene, FULL)))) == expected
    assert dict(layout.dropped) == dict(dropped)


@given(scenes)
def test_json_holds_the_same_series_as_the_text(scene: Scene) -> None:
    """Same order, same labels, and text that JSON can carry."""
    found = samples_of(selected_readings(scene, FULL), ROWS, FULL, CAP)

    assert [(s["name"], tuple(sorted(s["labels"].items())), said(s["value"])) for s in found] == parse(render(scene, FULL, CAP, ROWS))


@given(scenes)
def test_page_of_any_scene_is_utf8(scene: Scene) -> None:
    """A lone surrogate in a label ends as a question mark, not as an exception."""
    maker = PageMaker(tier=Tier.FULL, series_cap=CAP, rows=ROWS)

    assert maker.page(scene, FULL).body.decode("utf-8")


@given(st.lists(scenes, min_size=2, max_size=4))
def test_page_maker_that_saw_other_scenes_gives_the_text_of_a_fresh_one(several: list[Scene]) -> None:
    """Series that appear, vanish or change places: the kept layout is never used for another set of series."""
    used = PageMaker(tier=Tier.FULL, series_cap=CAP, rows=ROWS)
    for generation, scene in enumerate([*several, several[0]]):
        now = Scene(generation, scene.wall_s, scene.monotonic_s, scene.snapshots, scene.sources, scene.readings)
        fresh = PageMaker(tier=Tier.FULL, series_cap=CAP, rows=ROWS)

        assert used.page(now, FULL).body == fresh.page(now, FULL).body


@given(st.lists(good_keys, min_size=1, max_size=6, unique=True).flatmap(
    lambda found: st.tuples(st.just(found), st.lists(st.tuples(*(numbers for _ in found)), min_size=2, max_size=4))))  # fmt: skip
def test_kept_layout_gives_the_text_of_a_fresh_one_after_values_change(
    series: tuple[list[SeriesKey], list[tuple[Number, ...]]],
) -> None:
    """The same series with other numbers, an int where a float was and back."""
    found, steps = series
    layout = lay_out([Reading(PORT, dict(zip(found, steps[0], strict=True)))], ROWS, FULL, CAP)
    for values in steps:
        now = [Reading(PORT, dict(zip(found, values, strict=True)))]

        assert layout.fill(now) == lay_out(now, ROWS, FULL, CAP).fill(now)


def test_series_that_change_places_do_not_swap_their_values() -> None:
    """Two ports read in the other order keep their own numbers."""
    one, two = (Link(Fabric.ROCE, "mlx5_0", port) for port in ("1", "2"))
    maker = PageMaker(tier=Tier.FULL, series_cap=CAP, rows=ROWS)
    maker.page(one_feed(Reading(one, {"bytes": 11}), Reading(two, {"bytes": 22}), generation=1), FULL)
    body = maker.page(one_feed(Reading(two, {"bytes": 22}), Reading(one, {"bytes": 11}), generation=2), FULL).body.decode()

    assert [line for line in body.splitlines() if line.startswith(BYTES.name)] == [
        'fabric_t_bytes_total{device="mlx5_0",port="2"} 22',
        'fabric_t_bytes_total{device="mlx5_0",port="1"} 11',
    ]


def test_labels_are_escaped_as_the_format_says() -> None:
    """Backslash, quote and newline; a percent sign is only a percent sign."""
    key = ("events", 'a"b\\c\nd 100%s %(x)d %%')
    text = render(one_feed(Reading(PORT, {key: 7})), FULL, CAP, ROWS)

    assert text.splitlines()[-1] == 'fabric_t_events_total{device="mlx5_0",port="1",event="a\\"b\\\\c\\nd 100%s %(x)d %%"} 7'


def test_help_is_escaped_as_the_format_says() -> None:
    """A backslash is doubled, a quote is not, a percent sign stays."""
    text = render(one_feed(Reading(PORT, {"state": 4})), FULL, CAP, ROWS)

    assert text.splitlines()[0] == '# HELP fabric_t_state_id A \\\\ state "quoted" %s %(x)d.'
    assert heads(text) == [(STATE.name, "gauge", STATE.help)]


def test_first_of_two_duplicates_is_kept_and_the_other_counted() -> None:
    """Across feeds, in the order of their names."""
    feeds = {Feed("a", subject, Cadence.FAST): (Reading(PORT, {"bytes": n}),) for n, subject in enumerate(("x", "y", "z"))}
    choice = choose(selected_readings(scene_of(feeds), FULL), ROWS, FULL, CAP)

    assert [series.value for _, found in choice.rows for series in found] == [0]
    assert choice.dropped == {"duplicate": 2}


def test_labels_that_differ_only_in_stray_bytes_are_duplicates_in_every_format() -> None:
    """Both end as a question mark: two equal series would make Prometheus refuse the whole page."""
    readings = [Reading(PORT, dict(zip((("events", text) for text in ("\udcfe", "\udcff", "?")), (1, 2, 3), strict=True)))]

    assert lay_out(readings, ROWS, FULL, CAP).dropped == {"duplicate": 2}
    assert encode(families_of(readings, ROWS, FULL)).decode().count(EVENTS.name + "{") == 1
    assert [sample["value"] for sample in samples_of(readings, ROWS, FULL)] == [1]


def test_key_that_fits_no_row_is_counted_as_invalid() -> None:
    """An unknown row, an empty key, too many labels, too few, an entity without a port."""
    bad: dict[SeriesKey, Number] = {"nonsense": 1, (): 2, ("events",): 3, ("events", "a", "b"): 4, ("bytes", "x"): 5}
    readings = [Reading(PORT, bad), Reading(Device("mlx5_0"), {"bytes": 6})]
    layout = lay_out(readings, ROWS, FULL, CAP)

    assert layout.fill(readings) == ""
    assert layout.dropped == {"invalid": 6}


def test_special_numbers_are_spelt_as_prometheus_spells_them() -> None:
    """Infinities, NaN, minus zero, the largest counter."""
    values: list[Number] = [math.inf, -math.inf, math.nan, -0.0, 2**64 - 1, 5e-324, True]
    readings = [Reading(PORT, {("events", str(n)): value for n, value in enumerate(values)})]
    text = lay_out(readings, ROWS, FULL, CAP).fill(readings)

    shown = [line.rpartition(" ")[2] for line in text.splitlines()[2:]]

    assert shown == ["+Inf", "-Inf", "NaN", "-0.0", "18446744073709551615", "5e-324", "1"]


def test_row_without_series_leaves_no_head() -> None:
    """HELP and TYPE stand only above series."""
    assert render(one_feed(), FULL, CAP, ROWS) == ""


def test_row_whose_help_ends_like_a_format_is_no_format() -> None:
    """A help text is never used as a format string."""
    row = Metric("odd", "fabric_odd", Kind.GAUGE, Unit.COUNT, ("device",), "100 %", Tier.BASIC)
    text = render(one_feed(Reading(Device("%d"), {"odd": 1})), FULL, CAP, {"odd": row})

    assert text == '# HELP fabric_odd 100 %\n# TYPE fabric_odd gauge\nfabric_odd{device="%d"} 1\n'
