"""What the results say: for each version of the code how many days, how many false alarms by reason, how fast. Pure text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from tests.node_days.results import Record

LISTED_MAX = 20
HEADS = ("code", "commit", "days", "virtual h", "false alarms", "days with one", "unknown link-h", "median speed")


def report(records: Sequence[Record], digest: str) -> str:
    """A line for each version in the order of their first results, the one of that digest marked with *; then the false alarms of the
    marked one, or of the newest if that has played nothing yet."""
    if not records:
        return "no node-day was played yet"
    by_code: dict[str, list[Record]] = {}
    for record in records:
        by_code.setdefault(record["digest"], []).append(record)
    rows = [HEADS, *(_row(code, days, is_present=code == digest) for code, days in by_code.items())]
    shown = digest if digest in by_code else next(reversed(by_code))
    return "\n".join([*_columns(rows), "", *alarms(shown, by_code[shown])])


def alarms(code: str, records: Sequence[Record]) -> Iterator[str]:
    """False alarms of one version by reason, and each of them with its day, node and time."""
    listed = [(record, alarm) for record in sorted(records, key=lambda record: record["day"]) for alarm in record["false_alarms"]]
    nodes = Counter(record["node"] for record in records)
    yield f"code {code}: {len(records)} days of {', '.join(f'{node} ({count})' for node, count in sorted(nodes.items()))}"
    if not listed:
        yield "no false alarm"
        return
    for reason, count in _by_reason(records).most_common():
        yield f"{count:6} {reason}"
    for record, alarm in listed[:LISTED_MAX]:
        why = "; ".join(f"{reason}: {evidence}" for reason, evidence in zip(alarm["reasons"], alarm["evidence"], strict=True))
        yield f"day {record['day']} ({record['node']}) {alarm['at']} {alarm['link']} {alarm['level']}: {why}"
    if len(listed) > LISTED_MAX:
        yield f"… and {len(listed) - LISTED_MAX} more"


def speed(record: Record) -> float:
    """How many times faster than real time."""
    return float(record["virtual_s"] / max(record["took_s"], 0.05))


def _row(code: str, records: Sequence[Record], *, is_present: bool) -> tuple[str, ...]:
    commits = Counter(record["commit"] for record in records)
    found = _by_reason(records)
    reasons = f" ({', '.join(f'{reason} {count}' for reason, count in found.most_common())})" if found else ""
    unknown_h = sum(sum(record["unknown_s"].values()) for record in records) / 3600
    return (
        f"{'*' if is_present else ' '}{code}",
        commits.most_common(1)[0][0] or "–",
        str(len({record["day"] for record in records})),
        f"{sum(record['virtual_s'] for record in records) / 3600:g}",
        f"{sum(len(record['false_alarms']) for record in records)}{reasons}",
        str(sum(bool(record["false_alarms"]) for record in records)),
        f"{unknown_h:.1f}",
        f"{median(speed(record) for record in records):.0f} ×",
    )


def _by_reason(records: Iterable[Record]) -> Counter[str]:
    return Counter(reason for record in records for alarm in record["false_alarms"] for reason in alarm["reasons"] or (alarm["level"],))


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
