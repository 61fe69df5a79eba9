"""promtool as a linter: silent about a good page, loud about bad ones."""

from tests.real.promtool import lint_metrics

GOOD = '# HELP fabric_test_bytes_total Bytes.\n# TYPE fabric_test_bytes_total counter\nfabric_test_bytes_total{device="a"} 1\n'


def test_a_good_page_gives_no_line() -> None:
    """A page by the book is an empty list."""
    assert lint_metrics(GOOD) == []


def test_a_counter_without_its_suffix_gives_a_line() -> None:
    """Its naming rules reach the caller in its own words."""
    lines = lint_metrics("# HELP fabric_test Words.\n# TYPE fabric_test counter\nfabric_test 1\n")

    assert lines == ['fabric_test counter metrics should have "_total" suffix']


def test_a_page_that_does_not_parse_gives_a_line() -> None:
    """A broken line is reported, not passed over."""
    lines = lint_metrics("fabric_test{ 1\n")

    assert len(lines) == 1
    assert "line 1" in lines[0]


def test_a_family_that_comes_twice_gives_a_line() -> None:
    """Families torn in two are reported."""
    assert lint_metrics(GOOD + GOOD) != []


def test_promtool_does_not_see_a_series_that_stands_twice() -> None:
    """A limit of the tool (2.42), held here so that nobody takes its silence for a proof: Prometheus itself keeps one value of the two."""
    assert lint_metrics(GOOD + 'fabric_test_bytes_total{device="a"} 2\n') == []
