"""What a test needs beyond Python: a tool, a folder of real captures. The only place that skips.

A skip says how to get what is missing. With FABRIC_NO_SKIP=1 (`.ci/run` sets it) it is a failure instead: there nothing may be missing, but
for tools that only compare.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

DATA_VARIABLE = "FABRIC_TEST_DATA"


def lacking(reason: str) -> NoReturn:
    """Skip the test for that reason, or fail it where nothing may skip."""
    if os.environ.get("FABRIC_NO_SKIP") == "1":
        pytest.fail(f"{reason} (FABRIC_NO_SKIP=1: nothing may skip here)", pytrace=False)
    pytest.skip(reason)


def need(tool: str, install: str) -> str:
    """The path of an executable. Without it the test skips, and `install` tells how to get it: "apt-get install strace"."""
    return shutil.which(tool) or lacking(f"{tool} is not installed: {install}")


def need_data() -> Path:
    """The folder of real captures that FABRIC_TEST_DATA names; they are not part of the project. Fails if it names no folder."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        lacking(f"{DATA_VARIABLE} is not set: point it at a folder of captures from real machines")
    if not Path(named).is_dir():
        pytest.fail(f"{DATA_VARIABLE} names {named}, which is not a folder", pytrace=False)
    return Path(named)


def where_available(tool: str, install: str) -> str:
    """The path of a tool that only compares: without it the test skips everywhere, CI included, and `install` tells how to get it."""
    beside = shutil.which(tool, path=str(Path(sys.executable).parent))  # an extra brought it into the virtual environment
    return shutil.which(tool) or beside or no_comparison(f"{tool} is not installed: {install}")


def no_comparison(reason: str) -> NoReturn:
    """Skip a comparison, also where nothing else may skip."""
    pytest.skip(f"only a comparison: {reason}")
