"""Which rows the model refuses: one test per rule."""

import pytest

from exporter.model.metric import Kind, Metric, Tier, Unit


def _row(name: str = "fabric_x_seconds", kind: Kind = Kind.GAUGE, unit: Unit = Unit.SECONDS, labels: tuple[str, ...] = ("device",),
         help_text: str = "A help.") -> Metric:  # fmt: skip
    return Metric("x", name, kind, unit, labels, help_text, Tier.BASIC)


def test_a_plain_row_is_accepted() -> None:
    """The row that the refusals below each spoil in one place."""
    assert _row().own_labels == ()


def test_a_name_outside_our_prefix_is_refused() -> None:
    """Every name begins with fabric_."""
    with pytest.raises(ValueError, match="must start with fabric_"):
        _row(name="node_x_seconds")


def test_a_counter_without_total_is_refused() -> None:
    """Prometheus convention."""
    with pytest.raises(ValueError, match="exactly the counters end in _total"):
        _row(kind=Kind.COUNTER)


def test_a_gauge_with_total_is_refused() -> None:
    """rate() over it would be believed."""
    with pytest.raises(ValueError, match="exactly the counters end in _total"):
        _row(name="fabric_x_seconds_total")


def test_an_info_row_without_info_is_refused() -> None:
    """The name tells that the value is always 1."""
    with pytest.raises(ValueError, match="exactly the info rows end in _info"):
        _row(name="fabric_x", kind=Kind.INFO, unit=Unit.COUNT)


def test_a_gauge_called_info_is_refused() -> None:
    """The same, the other way."""
    with pytest.raises(ValueError, match="exactly the info rows end in _info"):
        _row(name="fabric_x_info", unit=Unit.COUNT)


@pytest.mark.parametrize("unit", [unit for unit in Unit if unit.value], ids=lambda unit: unit.name)
def test_a_name_without_its_unit_is_refused(unit: Unit) -> None:
    """No number without its unit."""
    with pytest.raises(ValueError, match=f"must carry its unit {unit.value}"):
        _row(name="fabric_x", unit=unit)


@pytest.mark.parametrize("help_text", ["", " blank first.", "blank last. ", "two\nlines."])
def test_a_help_that_is_not_one_line_of_text_is_refused(help_text: str) -> None:
    """HELP is one line on the page."""
    with pytest.raises(ValueError, match="help must be one line of text"):
        _row(help_text=help_text)


@pytest.mark.parametrize("label", ["job", "instance", "namespace", "pod", "container", "node", "quantile", "le", "__name__"])
def test_a_label_of_the_scrape_configuration_is_refused(label: str) -> None:
    """It would come out as exported_* (NVIDIA/gpu-operator#2938)."""
    with pytest.raises(ValueError, match="belong to Prometheus"):
        _row(labels=("device", label))


def test_a_label_that_stands_twice_is_refused() -> None:
    """A scraper refuses the whole page for it."""
    with pytest.raises(ValueError, match="stands twice"):
        _row(labels=("device", "device"))


def test_the_refusal_names_the_row() -> None:
    """So that it can be found."""
    with pytest.raises(ValueError, match="metric row x:"):
        _row(name="y")
