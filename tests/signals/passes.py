"""Passes for tests of rules: what one pass of a link saw, said by role."""

from collections.abc import Mapping

from exporter.model.entity import Fabric, Link
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.observation import Observation, plan_of
from exporter.signals.rule import NOWHERE, LinkPlace, Pass

WALL_S = 1.8e9
PORT = Link(Fabric.INFINIBAND, "mlx5_0", "1")
NVLINK = Link(Fabric.NVLINK, "gpu0", "4")
DEFAULTS = Thresholds()


def seen(numbers: Mapping[Role, Number], now_s: float = 0.0) -> Observation:
    """An Observation in which one key plays each of these roles."""
    plan = {role: ((role.value, at),) for at, role in enumerate(numbers)}
    return Observation(now_s, WALL_S + now_s, plan, list(numbers.values()))


def read(values: Mapping[SeriesKey, Number], now_s: float = 0.0) -> Observation:
    """An Observation of real keys: their rows say the roles."""
    return Observation(now_s, WALL_S + now_s, plan_of(values), list(values.values()))


def a_pass(now: Observation, before: Observation | None = None, *, link: Link = PORT, expected: Mapping[Role, Number] = {},
           latest: Mapping[Role, Number] = {}, place: LinkPlace = NOWHERE, thresholds: Thresholds = DEFAULTS,
           cadence: Cadence = Cadence.FAST, tick_bytes: int | None = None, busy_s: float | None = None) -> Pass:  # fmt: skip
    """A Pass; the newest values are those of `now`, and `latest` beside."""
    known = {role: total for role in now.plan if (total := now.total(role)) is not None}
    return Pass(link, cadence, before, now, {**known, **latest}, expected, place, thresholds, tick_bytes, busy_s)
