"""What health says of a recording, a JSON object for each change of a verdict, as `simulate` prints them."""

import json
from collections.abc import Iterator

from exporter.model.health import Verdict
from exporter.model.moment import format_moment
from exporter.model.node_health import status_of
from exporter.recorder.recording import Recording
from exporter.runtime.replay import replayed


def transitions(recording: Recording, from_s: float, to_s: float, problems: list[str]) -> Iterator[str]:
    """A line each, a summary last. What is missing is added to `problems`. Raises NoRecordingError, ValueError."""
    looks = changed = 0
    for wall_s, monotonic_s, changes, _, problem in replayed(recording, from_s, to_s):
        looks += 1
        if problem:
            problems.append(f"{format_moment(wall_s)}: {problem}")
        for before, after in changes:
            changed += 1
            yield _line(wall_s, monotonic_s, before, after)
    yield json.dumps({"summary": {"ticks": looks, "transitions": changed, "is_whole": not problems}})


def _line(wall_s: float, monotonic_s: float, before: Verdict, after: Verdict) -> str:
    return json.dumps({
        "time": wall_s, "monotonic": monotonic_s, "link": str(after.link), "from": status_of(before), "to": status_of(after),
        "reasons": [one.why.value for one in after.active], "evidence": [one.evidence for one in after.active],
    }, ensure_ascii=False)  # fmt: skip
