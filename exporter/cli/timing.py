"""`scrape --timing`: what each read costs on this machine, per device, per file and per call, before anyone enables anything faster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from exporter.catalog.limits import DUTY_MAX_RATIO
from exporter.model.metric import Cadence
from exporter.runtime.collect import Errand, Outcome
from exporter.runtime.crew import Executor, Place
from exporter.runtime.schedule import Intervals
from exporter.runtime.timed_files import Cost

PASSES = 10
SHOWN = 10
"""Single calls of each kind that are listed, the most expensive first; the rest are summed up."""
FASTER = (("1s", 1.0), ("100ms", 0.1))
"""Fast intervals a person may think of enabling."""


@dataclass(slots=True)
class CostRecorder:
    """An Executor that notes what each place's passes of a single cadence cost, beside doing the work of another one."""

    inner: Executor
    takes_groups: bool = False
    passes: dict[tuple[Place, Cadence], list[float]] = field(default_factory=dict)

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """As the inner one."""
        outcomes = self.inner.run(errands, gather_s)
        for outcome in outcomes:
            if len(outcome.errand.cadences) == 1:
                self.passes.setdefault((outcome.errand.place, outcome.errand.cadences[0]), []).append(outcome.elapsed_s)
        return outcomes

    def busy(self) -> dict[Place, float]:
        """As the inner one."""
        return self.inner.busy()

    def depose(self, stuck_for_s: float) -> bool:
        """As the inner one."""
        return self.inner.depose(stuck_for_s)

    def stop(self) -> None:
        """As the inner one."""
        self.inner.stop()


def timing_table(passes: Mapping[tuple[Place, Cadence], Sequence[float]], costs: Mapping[tuple[str, str], Cost],
                 intervals: Mapping[str, Intervals]) -> str:  # fmt: skip
    """The report as plain text: devices, then single calls. The first pass of each device is left out of medians."""
    return "\n".join([*_devices(passes, intervals), "", *_calls(costs)]) + "\n"


def _devices(passes: Mapping[tuple[Place, Cadence], Sequence[float]], intervals: Mapping[str, Intervals]) -> list[str]:
    places = sorted({place for place, _ in passes if place[1]})
    if not places:
        return ["no device was read"]
    width = max(len(f"{source}/{subject}") for source, subject in places)
    faster = " ".join(f"{'fast ' + name:>11}" for name, _ in FASTER)
    lines = [
        f"one pass, median of {PASSES}, and the share of wall time it takes at an interval (the duty guard bites at {DUTY_MAX_RATIO:.0%})",
        "",
        f"{'device':<{width}}  {'fast':>9} {'normal':>9} {'slow':>9}  {'as configured':>14} {faster}",
    ]
    for place in places:
        usual = {cadence: _usual(passes.get((place, cadence), ())) for cadence in Cadence}
        shown = " ".join(f"{_time(cost):>9}" for cost in usual.values())
        configured = sum((cost or 0.0) / intervals[place[0]].of(cadence) for cadence, cost in usual.items())
        fast = usual[Cadence.FAST]
        faster = " ".join(f"{'–' if fast is None else _share(fast / interval_s):>11}" for _, interval_s in FASTER)
        lines.append(f"{place[0] + '/' + place[1]:<{width}}  {shown}  {_share(configured):>14} {faster}")
    return lines


def _calls(costs: Mapping[tuple[str, str], Cost]) -> list[str]:
    """Calls that come back in every pass one by one; those made once (opening, listing) summed up by kind."""
    recurring = {key: cost for key, cost in costs.items() if len(cost.seconds) > PASSES // 2}
    ranked = sorted(recurring.items(), key=lambda item: -item[1].median_s)
    lines = ["calls of every pass, of each kind the most expensive first", "",
             f"{'call':<8} {'median':>9} {'longest':>9} {'calls':>6}  what"]  # fmt: skip
    for kind in sorted({call for (call, _), _ in ranked}):
        alike = [(path, cost) for (call, path), cost in ranked if call == kind]
        lines += [_line(kind, cost.seconds, path) for path, cost in alike[:SHOWN]]
        if len(alike) > SHOWN:
            lines.append(_line(kind, [s for _, cost in alike[SHOWN:] for s in cost.seconds], f"… {len(alike) - SHOWN} others"))
    lines += ["", "calls at start and after a device returned", ""]
    for kind in sorted({call for call, _ in costs.keys() - recurring.keys()}):
        once = [s for (call, path), cost in costs.items() if call == kind and (call, path) not in recurring for s in cost.seconds]
        lines.append(_line(kind, once, f"{sum(once) * 1e3:.1f} ms in all"))
    return lines


def _line(call: str, seconds: Sequence[float], what: str) -> str:
    return f"{call:<8} {_time(median(seconds)):>9} {_time(max(seconds)):>9} {len(seconds):>6}  {what}"


def _usual(seconds: Sequence[float]) -> float | None:
    """The median without the first pass; None for a cadence that was not read."""
    return median(seconds[1:] or seconds) if seconds else None


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _share(ratio: float) -> str:
    return f"{ratio:.4%}"
