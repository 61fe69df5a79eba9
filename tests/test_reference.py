"""The reference and the README keep up with what the product shows."""

from pathlib import Path

from exporter.cli.main import main
from exporter.config.reference import reference_markdown
from tests.machine import MACHINES, machine_names, parsed

REPOSITORY = Path(__file__).parent.parent


def _reference(capsys: object) -> str:
    assert main(["metrics", "--markdown"]) == 0
    return str(capsys.readouterr().out)  # type: ignore[attr-defined]


def test_every_series_of_every_machine_is_documented(capsys: object) -> None:
    """`fabric-exporter metrics --markdown` has a section for each name that any machine's page holds."""
    shown = {name for m in machine_names() for name, _ in parsed((MACHINES / f"{m}.prom").read_text(encoding="utf-8"))}

    reference = _reference(capsys)

    assert [name for name in sorted(shown) if f"`{name}`" not in reference] == []


def test_the_committed_metric_reference_is_current(capsys: object) -> None:
    """docs/metrics.md is what `make assets` writes."""
    assert (REPOSITORY / "docs/metrics.md").read_text(encoding="utf-8") == _reference(capsys)


def test_the_committed_configuration_reference_is_current() -> None:
    """docs/configuration.md is what `make assets` writes."""
    assert (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8") == reference_markdown()


def test_the_readme_opens_with_the_two_commands() -> None:
    """A newcomer finds `make demo` and `make test` before anything else."""
    lines = (REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()

    assert [line.split()[:2] for line in lines[2:4]] == [["make", "demo"], ["make", "test"]]
