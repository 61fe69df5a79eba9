"""A fake driver in the test's own folder."""

from pathlib import Path

import pytest

from tests.nvml_library import FakeDriver


@pytest.fixture
def driver(tmp_path: Path) -> FakeDriver:
    """One GPU-less fake driver; a test writes what it needs."""
    return FakeDriver(tmp_path)
