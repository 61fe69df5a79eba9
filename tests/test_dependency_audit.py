"""`make audit` fails for what ships and for nothing else."""

from tests.dependency_audit import judge, shipped

CLEAN = {"name": "PyYAML", "version": "6.0.3", "vulns": []}
ILL = {"name": "Some_Package", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}]}
UNKNOWN = {"name": "psutil", "skip_reason": "Dependency not found on PyPI and could not be audited: psutil (7.0)"}


def test_a_vulnerable_package_that_ships_fails_with_its_number_and_its_cure() -> None:
    """In one line."""
    audit = judge([CLEAN, ILL], frozenset({"pyyaml", "some-package"}))

    assert audit.has_failed
    assert audit.lines == ("some-package 1.0 (ships): PYSEC-1, fixed in 1.1", "2 of 2 packages that ship were looked up")


def test_a_vulnerable_tool_of_developers_is_told_and_fails_nothing() -> None:
    """It reaches no node."""
    audit = judge([CLEAN, ILL], frozenset({"pyyaml"}))

    assert not audit.has_failed
    assert audit.lines[0] == "some-package 1.0 (a developer's tool): PYSEC-1, fixed in 1.1"


def test_a_database_that_knows_nothing_says_so_and_fails_nothing() -> None:
    """An index without advisories must not look like a clean bill of health."""
    audit = judge([UNKNOWN], frozenset({"psutil"}))

    assert audit == (("nothing was audited: no package is in the database",), False)


def test_what_ships_is_the_requirements_and_extras_but_no_tool_of_developers() -> None:
    """With what those require."""
    names = shipped()

    assert {"prometheus-client", "nvidia-ml-py", "psutil", "pyyaml", "httptools", "bcrypt", "grpcio", "protobuf"} <= names
    assert names & {"pytest", "mypy", "ruff", "hypothesis", "pip-audit"} == set()
