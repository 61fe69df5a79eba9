"""Errors per bit against what a link may have: far too many now (page), or too many for days (trend).

Two windows each: the long one says that it matters, the short one that it goes on. Scaled by the rate of the link: 120 errors an hour are
1e-12 on one link and 8e-14 on another. Each counter is judged by itself (two sources may see the same errors of a RoCE port), the worst
speaks. Errors while a link trains are no errors of a link that carries data. Errors of another link that were only forwarded
(REMOTE_ERRORS) and bits that FEC mended (CORRECTED_BITS) are not asked for. Windows of one counter: counted_errors.py.

At NDR (4e11 bit/s) a budget of 1e-15 is 1.44 errors an hour: a page takes 15 of them within the hour (10 in the first minutes after the
start), so it comes within 60 s from 0.33 errors a second on, at the default intervals; at HDR and below `errors_min` alone decides.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from exporter.catalog import CATALOGUE
from exporter.catalog import signals as rows
from exporter.model.health import Finding, Unknown, Why
from exporter.model.metric import Role
from exporter.model.quantity import BITS_PER_BYTE
from exporter.model.snapshot import Number, SeriesKey, metric_key
from exporter.model.thresholds import Thresholds
from exporter.signals.counted_errors import DAYS, HOUR, MINUTES, QUARTER_DAY, WINDOWS_S, CountedErrors, first_sight
from exporter.signals.load import usable_bytes_per_s
from exporter.signals.observation import Observation
from exporter.signals.rule import Outcome, Pass, Rule, State

WITNESSES_MAX = 4
"""Counters judged of one link, at most; a RoCE port has two."""


class Budget(NamedTuple):
    """How many errors are too many: `factor` times the target over both windows (places in WINDOWS_S)."""

    why: Why
    factor: float
    long: int
    short: int


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Errors per bit over the last hour; findings by the worst counter."""
    counters: tuple[CountedErrors, ...] = () if state is None else state
    role = Role.SYMBOL_ERRORS if Role.SYMBOL_ERRORS in asked.now.plan else Role.ERRORS
    capacity = usable_bytes_per_s(asked.latest)  # None unless the link is up: its rate is believed only then
    if role is Role.SYMBOL_ERRORS or not [one for one in counters if one.is_symbols]:
        counters = _taken_in(counters, role, asked, is_up=capacity is not None)
    return counters, _outcome(counters, asked, capacity)


def _taken_in(counters: tuple[CountedErrors, ...], role: Role, asked: Pass, *, is_up: bool) -> tuple[CountedErrors, ...]:
    """With what this pass's counter says. Counters of packets are forgotten once symbols are counted."""
    now = asked.now
    places = now.plan.get(role)
    if not places:
        return counters
    name, is_symbols = metric_key(places[0][0]), role is Role.SYMBOL_ERRORS
    saturated = Role.SATURATED in now.plan and _are_saturated(now, places)
    for at, one in enumerate(counters):
        if one.name == name:
            after = one.after(_errors(role, asked) if one.is_up and is_up else None, now.monotonic_s, asked.elapsed_s)
            if after.is_up is not is_up or after.is_saturated is not saturated:
                after = after._replace(is_up=is_up, is_saturated=saturated)
            return counters if after is one else (*counters[:at], after, *counters[at + 1 :])
    kept = tuple([one for one in counters if one.is_symbols]) if is_symbols else counters
    return (*kept, first_sight(name, now.monotonic_s, is_symbols=is_symbols, is_up=is_up, is_saturated=saturated))[-WITNESSES_MAX:]


def _errors(role: Role, asked: Pass) -> Number | None:
    """By how much the counters of a role grew: the most that one of them says, as several may count the same error. None if nobody knows
    (no pass before, a reset) or the link went down meanwhile: symbols are lost whenever a link trains."""
    before, now = asked.before, asked.now
    if before is None or now.monotonic_s <= before.monotonic_s:
        return None
    grown = _growth(before, now, role)
    if not grown or min(grown) < 0:
        return None
    most = max(grown)
    return None if most and max(_growth(before, now, Role.LINK_DOWNS), default=0) > 0 else most


def _growth(before: Observation, now: Observation, role: Role) -> list[Number]:
    places = now.plan.get(role, ())
    if before.plan is now.plan:
        return [now.numbers[at] - before.numbers[at] for _, at in places]
    earlier = dict(before.items(role))
    return [now.numbers[at] - earlier[key] for key, at in places if key in earlier]


def _are_saturated(now: Observation, places: Iterable[tuple[SeriesKey, int]]) -> bool:
    """Whether all these counters stand at their ceilings. SATURATED names one by the last part of where its row finds it."""
    full = {key[1] for key, _ in now.items(Role.SATURATED) if isinstance(key, tuple) and len(key) > 1}
    rows_of = [CATALOGUE.get(metric_key(key)) for key, _ in places]
    return all(row is not None and row.raw.rsplit("/", 1)[-1] in full for row in rows_of)


def _outcome(counters: Sequence[CountedErrors], asked: Pass, capacity: Number | None) -> Outcome:
    now_s = asked.now.monotonic_s
    heard = [one for one in counters if not one.is_saturated]
    signals: dict[SeriesKey, Number] = {}
    bits_per_s = None
    if capacity is not None:
        bits_per_s = capacity * BITS_PER_BYTE
        ratios = [one.ratio(HOUR, bits_per_s, now_s) for one in heard if now_s > one.windows[HOUR].since_s]
        if ratios:
            signals[rows.ERROR_RATIO.key] = max(ratios)
    if [one for one in heard if one.is_warm(now_s)] and not [one for one in counters if not one.is_clean]:
        return Outcome(signals)
    findings = [found for budget in _budgets(asked.thresholds) if (found := _judged(budget, counters, asked, bits_per_s)) is not None]
    is_blind = bool(counters) and not heard and not any(found.holds for found in findings)
    return Outcome(signals, tuple(findings), Unknown.SATURATED if is_blind else None)


def _budgets(thresholds: Thresholds) -> tuple[Budget, Budget]:
    return (
        Budget(Why.ERROR_BUDGET, thresholds.page_factor, HOUR, MINUTES),
        Budget(Why.ERROR_TREND, 1.0, DAYS, QUARTER_DAY),
    )


def _judged(budget: Budget, counters: Sequence[CountedErrors], asked: Pass, bits_per_s: float | None) -> Finding | None:
    """What was counted holds, also by a counter that stands still since; one that stands still, or of which too little was seen, clears
    nothing."""
    now_s = asked.now.monotonic_s
    if bits_per_s is not None:
        for one in counters:
            evidence = _evidence(budget, one, asked, bits_per_s)
            if evidence:
                return Finding(budget.why, holds=True, evidence=evidence)
    can_tell = any(not one.is_saturated and one.is_warm(now_s) for one in counters)
    needs_rate = any(one.total(budget.short, now_s) > 0 for one in counters)
    return None if can_tell and (bits_per_s is not None or not needs_rate) else Finding(budget.why, holds=None)


def _evidence(budget: Budget, one: CountedErrors, asked: Pass, bits_per_s: float) -> str:
    """One line if the counter is over that budget in both windows; empty if not."""
    now_s, thresholds = asked.now.monotonic_s, asked.thresholds
    errors = one.total(budget.long, now_s)
    limit = budget.factor * thresholds.bit_error_ratio
    if errors <= 0 or errors < thresholds.errors_min:
        return ""
    ratios = [one.ratio(window, bits_per_s, now_s) for window in (budget.long, budget.short)]
    if min(ratios) < limit:
        return ""
    hours = WINDOWS_S[budget.long] / 3600
    return f"{errors:.0f} errors within {hours:g} h, {ratios[0]:.1e} per bit at {bits_per_s / 1e9:g} Gb/s; {limit:.1e} is too much"


RULE = Rule(
    name="error_budget",
    needs=frozenset({Role.ERRORS}),  # whoever counts symbols counts bad packets too
    step=_step,
    reasons=(Why.ERROR_BUDGET, Why.ERROR_TREND),
    fabrics=frozenset({"infiniband", "roce", "ethernet"}),
)
