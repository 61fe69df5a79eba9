"""All baselines of this node, by what they are numbers of; to and from the JSON kept in the state directory. Pure.

The versions of NCCL and of the driver are part of the key: an upgrade starts to learn anew, and the old baseline stays for comparison
until there are too many. What cannot be read is learned anew, entry by entry; no document can stop a probe.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from statistics import median
from typing import NamedTuple

from exporter.catalog.limits import PROBE_BASELINE_RUNS, PROBE_BASELINES_MAX, PROBE_LEARN_RUNS
from exporter.probes import baseline
from exporter.probes.baseline import VALUE_MAX, VALUE_MIN, Baseline, Grade, Judgement, Measure, State

VERSION = 1
"""Of the document; another one is not read."""
WHEN_LEARNED = ("commissioned", "decayed", "drift")
"""What a baseline has from its last learning run on."""
TEXT_MAX = 1024
"""Longest text in a key that is read back; ours are far shorter."""


class Key(NamedTuple):
    """What a baseline is of. `gpus` tells the set that took part (their UUIDs, sorted, or a digest); `collective`, `size_bytes`,
    `algorithm` and `protocol` as NCCL ran it, "" where it did not tell; `kind` the kind of probe."""

    kind: str
    measure: Measure
    gpus: str
    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    nccl: str
    driver: str

    @property
    def without_versions(self) -> "Key":
        """The same under any version of NCCL and driver."""
        return self._replace(nccl="", driver="")


class Kept(NamedTuple):
    """A baseline and when it was last used, in Unix time."""

    baseline: Baseline
    used_wall_s: float


@dataclass(frozen=True, slots=True)
class Baselines:
    """Every baseline of this node, PROBE_BASELINES_MAX at most."""

    kept: Mapping[Key, Kept] = field(default_factory=dict)

    def step(self, key: Key, value: float, wall_s: float, floor: float | None = None) -> tuple["Baselines", Judgement]:
        """After one more run of what `key` names; see `baseline.step`. Beyond the bound those not used for longest are forgotten."""
        known = self.kept.get(key)
        after, judgement = baseline.step(known.baseline if known is not None else Baseline(key.measure), value, floor)
        kept = {**self.kept, key: Kept(after, wall_s)}
        for oldest in sorted(kept, key=lambda one: (one == key, kept[one].used_wall_s))[: max(0, len(kept) - PROBE_BASELINES_MAX)]:
            del kept[oldest]
        return replace(self, kept=kept), judgement

    def earlier(self, key: Key) -> float | None:
        """The baseline of the same under other versions, the one used last: what an upgrade is compared with. None without one that was
        learned to the end."""
        others = [
            kept
            for other, kept in self.kept.items()
            if other != key and other.without_versions == key.without_versions and not kept.baseline.is_learning
        ]
        return median(max(others, key=lambda kept: kept.used_wall_s).baseline.learned) if others else None


def document_of(baselines: Baselines) -> dict[str, object]:
    """What `baselines_of` reads: numbers, texts, lists and dicts alone."""
    return {"version": VERSION, "baselines": [_entry_of(key, kept) for key, kept in baselines.kept.items()]}


def baselines_of(document: object) -> Baselines:
    """What a document holds. An entry that is not what `document_of` writes is left out alone; of any other document nothing is read."""
    entries = document.get("baselines") if isinstance(document, dict) and document.get("version") == VERSION else None
    read = [_read(entry) for entry in entries] if isinstance(entries, list) else []
    known = sorted((one for one in read if one is not None), key=lambda one: one[1].used_wall_s)
    return Baselines(dict(known[-PROBE_BASELINES_MAX:]))


def _entry_of(key: Key, kept: Kept) -> dict[str, object]:
    known = kept.baseline
    return {
        **key._asdict(),
        "measure": key.measure.value,
        "used_wall_s": kept.used_wall_s,
        "learned": list(known.learned),
        **{name: getattr(known, name) for name in WHEN_LEARNED},
        "grades": [grade.value for grade in known.grades],
        "state": known.state.value,
    }


def _read(entry: object) -> tuple[Key, Kept] | None:
    """One entry; None if anything in it is not what it must be: half a baseline is none."""
    if not isinstance(entry, dict):
        return None
    try:
        texts = {name: _text(entry[name]) for name in ("kind", "gpus", "collective", "algorithm", "protocol", "nccl", "driver")}
        key = Key(measure=Measure(entry["measure"]), size_bytes=_size(entry["size_bytes"]), **texts)
        learned = tuple(_value(one) for one in _list(entry["learned"], PROBE_BASELINE_RUNS))
        commissioned, decayed, drift = (None if entry[name] is None else _value(entry[name]) for name in WHEN_LEARNED)
        grades = tuple(Grade(one) for one in _list(entry["grades"], baseline.GRADES_KEPT))
        known = Baseline(key.measure, learned, commissioned, decayed, drift, grades, State(entry["state"]))
        used_wall_s = _number(entry["used_wall_s"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    is_whole = all((one is None) == (len(learned) < PROBE_LEARN_RUNS) for one in (commissioned, decayed, drift))
    return (key, Kept(known, used_wall_s)) if is_whole else None


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > TEXT_MAX:
        raise ValueError("not a text")
    return value


def _list(value: object, longest: int) -> list[object]:
    if not isinstance(value, list) or len(value) > longest:
        raise ValueError("not a list, or too long")
    return value


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("not a size")
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ValueError("not a number")
    return float(value)


def _value(value: object) -> float:
    number = _number(value)
    if not VALUE_MIN <= number <= VALUE_MAX:
        raise ValueError("not a value")
    return number
