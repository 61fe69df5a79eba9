"""The file of results: a line of JSON for each day played, appended as it is done, so that a run that was broken off goes on.

Knows the file and which version played; what became of a day is playing.py's.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from exporter import __version__
from tests.node_days.code_digest import ROOT
from tests.node_days.playing import Played

FILE = Path(__file__).with_name("results.jsonl")
Record = Mapping[str, Any]


class ResultsError(ValueError):
    """The file holds a line that is no result; the message names file and line."""


def read(file: Path) -> list[Record]:
    """Every result in the order in which they came; none if there is no file. A last line that broke off is left out. Raises OSError, or
    ResultsError."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    records: list[Record] = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = json.loads(line)
            assert {"day", "digest", "virtual_s", "false_alarms"} <= record.keys()
        except (ValueError, AttributeError, AssertionError):
            raise ResultsError(f"{file}:{number}: this is no result of a node-day; remove the line to play its day again") from None
        records.append(record)
    return records


def append(file: Path, record: Record) -> None:
    """One line more. Raises OSError."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")  # a run that was killed left half a line
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(record, ensure_ascii=False) + "\n")


def record_of(played: Played, commit: str) -> Record:
    """A day as a line of the file."""
    return {
        "day": played.number,
        "seed": played.seed,
        "node": played.node,
        "version": __version__,
        "commit": commit,
        "digest": played.digest,
        "virtual_s": played.virtual_s,
        "took_s": round(played.took_s, 1),
        "transitions": played.transitions,
        "false_alarms": [
            {
                "t_s": one.t_s,
                "at": clock_time(one.t_s),
                "link": one.link,
                "level": one.level,
                "reasons": one.reasons,
                "evidence": one.evidence,
            }
            for one in played.false_alarms
        ],
        "unknown_s": played.unknown_s,
        "events": played.events,
        "uses": played.uses,
    }


def done(records: Iterable[Record], digest: str, virtual_s: float) -> set[int]:
    """Days that this code has played as far already."""
    return {record["day"] for record in records if record["digest"] == digest and record["virtual_s"] == virtual_s}


def clock_time(t_s: float) -> str:
    """Time of the day, `13:05:09`."""
    whole = int(t_s)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def commit() -> str:
    """The commit that is checked out, with `-dirty` if files were changed since; "" where git does not know."""
    try:
        said = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                              capture_output=True, text=True, check=False)  # fmt: skip
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
