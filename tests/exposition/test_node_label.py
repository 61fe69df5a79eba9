"""`--label.node`: every series of every format carries the label, and nothing else changes."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.cli.compose import labels_of
from exporter.config.load import load
from exporter.config.schema import Config
from exporter.exposition.client_library import OPENMETRICS_TYPE, ProcessNumbers
from exporter.exposition.page import TEXT_TYPE, PageMaker
from exporter.exposition.samples import samples_of
from exporter.exposition.selection import Selection
from exporter.model.metric import Tier
from tests.exposition.scenes import ROWS, one_feed, ports

FULL = Selection(Tier.FULL)
LABELS = (("node", 'n"1'),)
SCENE = one_feed(*ports(3))


def page(content_type: str, labels: tuple[tuple[str, str], ...]) -> str:
    """The page of three ports and the process."""
    numbers = ProcessNumbers()
    return (
        PageMaker(tier=Tier.FULL, series_cap=100, process_numbers=numbers, labels=labels, rows=ROWS)
        .page(SCENE, FULL, content_type)
        .body.decode()
    )


def test_every_series_of_the_text_page_carries_it() -> None:
    """Those of the process and the counts of series too; values and other labels are those of the page without."""
    plain = {(s.name, frozenset(s.labels.items())) for f in parse_text(page(TEXT_TYPE, ())) for s in f.samples}
    found = [(s.name, dict(s.labels)) for f in parse_text(page(TEXT_TYPE, LABELS)) for s in f.samples]

    assert {labels.pop("node") for _, labels in found} == {'n"1'}
    assert {(name, frozenset(labels.items())) for name, labels in found} == plain


def test_every_series_of_openmetrics_carries_it() -> None:
    """By prometheus_client's strict parser."""
    families = parse_openmetrics(page(OPENMETRICS_TYPE, LABELS))  # type: ignore[no-untyped-call]  # untyped upstream

    assert {s.labels.get("node") for f in families for s in f.samples} == {'n"1'}


def test_every_sample_of_json_carries_it() -> None:
    """As `scrape --format json` prints them."""
    samples = samples_of(ports(3), ROWS, FULL, labels=LABELS)

    assert [sample["labels"]["node"] for sample in samples] == ['n"1'] * 3


def test_it_is_off_unless_somebody_names_the_node() -> None:
    """By flag or variable; no default, as a name that nobody gave would stand against the one that relabelling sets."""
    named = load(None, {"FABRIC_EXPOSITION_NODE_LABEL": "gpu-7"}, {}).config

    assert labels_of(Config()) == ()
    assert labels_of(named) == (("node", "gpu-7"),)
