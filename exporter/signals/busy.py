"""For how long each GPU has been busy, by the traffic of its NVLinks and of the port that serves it. Pure: times come with the passes."""

from typing import NamedTuple

from exporter.model.metric import Role
from exporter.signals.observation import Observation, delta

BUSY_BYTES_PER_S = 1e8
"""Traffic of one link above which its GPU works: far above keep-alives (an idle pair moves about 1.2 MB/s) [D]."""
PAUSE_S = 30.0
"""A training step is quiet between its bursts for seconds; longer is idle [D]."""


class _Spell(NamedTuple):
    """Since when a GPU has been busy, the last pass that saw it so, and how long after the one before that was (monotonic)."""

    since_s: float
    last_s: float
    every_s: float


class Busy:
    """Of one node's GPUs. A GPU whose traffic nobody counts is not known to be busy."""

    def __init__(self) -> None:
        self._spells: dict[str, _Spell] = {}

    def note(self, gpu: str, before: Observation | None, now: Observation) -> None:
        """A pass over a link of that GPU ("" for none); passes without byte counters say nothing."""
        if not gpu or before is None or Role.TX_BYTES not in now.plan:
            return
        now_s, spell = now.monotonic_s, self._spells.get(gpu)
        if spell is not None and spell.last_s == now_s:
            return  # another link has told of this pass already
        elapsed_s = now_s - before.monotonic_s
        moved = delta(before, now, Role.TX_BYTES)
        if moved is None or elapsed_s <= 0:
            return
        if moved / elapsed_s >= BUSY_BYTES_PER_S:
            goes_on = spell is not None and spell.last_s < now_s and before.monotonic_s - spell.last_s <= PAUSE_S
            self._spells[gpu] = _Spell(spell.since_s if spell is not None and goes_on else before.monotonic_s, now_s, elapsed_s)
        elif spell is not None and now_s - spell.last_s > PAUSE_S:
            del self._spells[gpu]

    def for_s(self, gpu: str, now_s: float) -> float | None:
        """Seconds for which it has been busy, pauses of a step included; None if it is not known to be **now**: in the newest look at its
        links it carried nothing, or nobody has looked for longer than usual. A GPU that has just stopped goes to sleep within seconds, and
        how long it worked before says nothing of a sleeping one (played: a false alarm at the end of a job on four of twelve nodes [M])."""
        spell = self._spells.get(gpu)
        if spell is None or now_s - spell.last_s >= spell.every_s:
            return None
        return max(0.0, now_s - spell.since_s)
