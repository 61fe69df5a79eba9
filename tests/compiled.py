"""What the stand-ins for vendors' libraries share: which functions a variant lacks, and how many built variants are kept."""

import shutil
from collections.abc import Collection, Iterable
from pathlib import Path


def absent_of(without: Iterable[str], exported: Collection[str]) -> tuple[str, ...]:
    """Names in order, each once. ValueError for a function that the library never had."""
    absent = tuple(sorted(set(without)))
    unknown = set(absent) - set(exported)
    if unknown:
        raise ValueError(f"the library has no {', '.join(sorted(unknown))}")
    return absent


def forget_others(folder: Path, pattern: str, keep: int) -> None:
    """Of libraries built from earlier states only the newest few stay."""
    built = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in built[keep:]:
        shutil.rmtree(old, ignore_errors=True)
