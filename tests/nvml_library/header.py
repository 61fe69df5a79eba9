"""What nvml.h itself says: where the installed package put it, its numbers, and its words about each field.

Tests take field ids and units from here, never from the exporter's own tables: a wrong id in those is seen only against the header.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

from tests.requires import lacking

PACKAGE = "nvidia-nvml-dev"
FIELD_PREFIX = "NVML_FI_DEV_"

_DEFINE = re.compile(r"^#define\s+(NVML_\w+)\s+(0x[0-9A-Fa-f]+|\d+)\s*(?://!<\s*(.*))?$", re.MULTILINE)
_ENUMERATOR = re.compile(r"^\s+(NVML_\w+)\s*=\s*(0x[0-9A-Fa-f]+|\d+)\s*,?\s*(?://.*)?$", re.MULTILINE)


class Field(NamedTuple):
    """One field: its id, and the header's remark on it, which names the unit."""

    id: int
    remark: str


def header_path() -> Path:
    """The real nvml.h. Without the package that brings it the test skips."""
    try:
        found = [Path(str(one.locate())) for one in files(PACKAGE) or () if one.name == "nvml.h"]
    except PackageNotFoundError:
        found = []
    return next((path for path in found if path.is_file()), None) or lacking(f"nvml.h is not installed: pip install {PACKAGE}")


@cache
def constants() -> Mapping[str, int]:
    """Every number that the header names by a define or an enumerator with a plain value."""
    text = header_path().read_text(encoding="utf-8")
    pairs = [*((m[1], m[2]) for m in _ENUMERATOR.finditer(text)), *((m[1], m[2]) for m in _DEFINE.finditer(text))]
    return {name: int(number, 0) for name, number in pairs}


@cache
def fields() -> Mapping[str, Field]:
    """Name without NVML_FI_DEV_ → field. Aliases of one id stay separate names."""
    text = header_path().read_text(encoding="utf-8")
    found = (match for match in _DEFINE.finditer(text) if match[1].startswith(FIELD_PREFIX))
    return {match[1].removeprefix(FIELD_PREFIX): Field(int(match[2], 0), (match[3] or "").strip()) for match in found}


def field_id(name: str) -> int:
    """The id of NVML_FI_DEV_<name>. KeyError if the header has no such field."""
    return fields()[name].id
