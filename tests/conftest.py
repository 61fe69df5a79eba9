"""Settings of hypothesis for the whole suite: no deadlines (a busy machine is not a bug), and a blob that repeats a failure elsewhere. And
what a test does to the log of this process ends with the test."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from exporter.runtime.logs import ROOT

settings.register_profile("desk", deadline=None, print_blob=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("desk"), max_examples=200)
settings.load_profile("ci" if os.environ.get("FABRIC_NO_SKIP") == "1" else "desk")


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """A command sets up the log of its process, which the next test wants to look at."""
    root = logging.getLogger(ROOT)
    before = root.level, root.propagate, root.handlers[:]
    yield
    root.setLevel(before[0])
    root.propagate, root.handlers[:] = before[1], before[2]
