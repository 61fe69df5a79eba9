"""A probe's report as a document of JSON's types, and back: how `fabric-exporter probe` hands its result to the node's daemon.

Pure. A document comes from another process, perhaps of another version: whatever it holds, reading it gives a Report or one ValueError.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from exporter.probes.baseline import State
from exporter.probes.collectives import Collective
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import FitReport, Kind, Library, Outcome, PairReport, Report, SizeReport, SuspectReport, Transport, UsualReport

TEXT_MAX = 500
"""Longest text of a report."""
LIST_MAX = 4096
"""Longest list: 64 GPUs have 4,032 pairs."""
TIME_MAX_S = 1e11
NUMBER_MAX = 1e18
VERSION = 1


def document_of(report: Report) -> dict[str, object]:
    """The document."""
    return {"version": VERSION, **{name: _plain(value) for name, value in report._asdict().items()}}


def report_in(document: object) -> Report:
    """What such a document says. Raises ValueError, a few words, for any other."""
    try:
        return _report(document)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"it is no report of a probe, or another version's: {str(error)[:100]}") from error


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _report(found: Any) -> Report:
    if found["version"] != VERSION:
        raise ValueError("its version is another")
    outcome = Outcome(found["outcome"])
    return Report(
        Kind(found["kind"]),
        outcome,
        _number(found["started_wall_s"], TIME_MAX_S),
        _number(found["ended_wall_s"], TIME_MAX_S),
        _reason(outcome, found["reason"]),
        _text(found["detail"]),
        _each(found["gpus"], _text),
        {_text(name): _number(value) for name, value in _items(found["phases_s"])},
        _each(found["sizes"], _size),
        _each(found["fits"], _fit),
        _each(found["pairs"], lambda pair: PairReport(_text(pair["source"]), _text(pair["target"]), _number(pair["bandwidth"]))),
        _each(found["suspects"], lambda one: SuspectReport(_scope(one["scope"]), _text(one["id"]), _text(one["words"]))),
        None if found["transport"] is None else _transport(found["transport"]),
        None if found["library"] is None else Library(*(_text(found["library"][name]) for name in Library._fields)),
        _count(found["sent_bytes"]),
        _number(found["gpu_s"]),
        _flag(found["contended"]),
        _each(found["usual"], _usual),
        State(found["state"]),
    )


def _reason(outcome: Outcome, word: object) -> Skipped | Failure | None:
    if outcome is Outcome.SUCCESS and word is not None:
        raise ValueError("a success has no reason")
    if outcome in (Outcome.SKIPPED, Outcome.PREEMPTED):
        return Skipped(word)
    if outcome in (Outcome.FAILED, Outcome.ABORTED):
        return Failure(word)
    return None if word is None else Failure(word)


def _size(found: Mapping[str, Any]) -> SizeReport:
    return SizeReport(
        Collective(found["collective"]),
        _count(found["size_bytes"]),
        _count(found["ranks"]),
        _number(found["p50_s"]),
        None if found["p95_s"] is None else _number(found["p95_s"]),
        _number(found["max_s"]),
        None if found["jitter_ratio"] is None else _number(found["jitter_ratio"]),
        _number(found["skew_s"]),
        _number(found["algorithm_bandwidth"]),
        None if found["bus_bandwidth"] is None else _number(found["bus_bandwidth"]),
        _text(found["algo"]),
        _text(found["proto"]),
        None if found["wrong"] is None else _count(found["wrong"]),
        _each(found["iterations_s"], _number),
    )


def _usual(found: Mapping[str, Any]) -> UsualReport:
    ratio = None if found["ratio"] is None else _number(found["ratio"])
    return UsualReport(Collective(found["collective"]), _count(found["size_bytes"]), State(found["state"]), ratio)


def _fit(found: Mapping[str, Any]) -> FitReport:
    latency_s, bandwidth = (None if found[name] is None else _number(found[name]) for name in ("latency_s", "bandwidth"))
    return FitReport(Collective(found["collective"]), latency_s, bandwidth, _number(found["residual_ratio"]))


def _transport(found: Mapping[str, Any]) -> Transport:
    gdr, shm = (None if found[name] is None else _flag(found[name]) for name in ("gdr", "shm"))
    count = None if found["hca_count"] is None else _count(found["hca_count"])
    return Transport(_text(found["net"]), gdr, _text(found["p2p"]), shm, count)


def _each(found: object, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(found, list) or len(found) > LIST_MAX:
        raise TypeError("expected a list that is not too long")
    return tuple(read(one) for one in found)


def _items(found: object) -> Sequence[tuple[object, object]]:
    if not isinstance(found, dict) or len(found) > LIST_MAX:
        raise TypeError("expected a map that is not too great")
    return tuple(found.items())


def _scope(value: object) -> str:
    if value not in ("gpu", "pair", "nic", "node"):
        raise ValueError("no such scope")
    return str(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > TEXT_MAX:
        raise TypeError("expected a short text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _number(value: object, most: float = NUMBER_MAX) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= most:
        raise ValueError("expected a number that is not negative")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= NUMBER_MAX:
        raise ValueError("expected a count")
    return value
