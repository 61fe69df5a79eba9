"""What a missing tool or folder does to a test."""

from pathlib import Path

import pytest

from tests.requires import DATA_VARIABLE, need, need_data, where_available


@pytest.fixture(autouse=True)
def _lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FABRIC_NO_SKIP", raising=False)


def test_a_tool_that_is_there_is_given_by_its_path() -> None:
    """The path can be run as it is."""
    assert Path(need("sh", "apt-get install dash")).is_absolute()


def test_a_missing_tool_skips_with_the_install_command() -> None:
    """The reason of the skip names the tool and how to get it."""
    with pytest.raises(pytest.skip.Exception, match="no-such-tool is not installed: apt-get install no-such-tool"):
        need("no-such-tool", "apt-get install no-such-tool")


def test_a_missing_tool_fails_where_nothing_may_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """With FABRIC_NO_SKIP=1 the same reason is a failure."""
    monkeypatch.setenv("FABRIC_NO_SKIP", "1")

    with pytest.raises(pytest.fail.Exception, match="no-such-tool is not installed"):
        need("no-such-tool", "apt-get install no-such-tool")


def test_a_tool_that_only_compares_skips_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with FABRIC_NO_SKIP=1."""
    monkeypatch.setenv("FABRIC_NO_SKIP", "1")

    with pytest.raises(pytest.skip.Exception, match="only a comparison: no-such-tool is not installed: apt-get install no-such-tool"):
        where_available("no-such-tool", "apt-get install no-such-tool")


def test_captures_are_found_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """FABRIC_TEST_DATA names the folder."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))

    assert need_data() == tmp_path


def test_without_captures_a_test_skips_and_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset and empty are the same."""
    monkeypatch.setenv(DATA_VARIABLE, "")

    with pytest.raises(pytest.skip.Exception, match="FABRIC_TEST_DATA is not set"):
        need_data()


def test_a_variable_that_names_no_folder_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A typing mistake in the path must not look like a machine without captures."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "typo"))

    with pytest.raises(pytest.fail.Exception, match="is not a folder"):
        need_data()
