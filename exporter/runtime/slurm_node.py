"""The Slurm node as an origin of maintenance: `scontrol show node`, or a command that the site names.

Knows how Slurm is asked; what it prints model/scontrol.py knows, and what a state means model/maintenance.py.
"""

from collections.abc import Sequence

from exporter.model.fault import Reason
from exporter.model.maintenance import SLURM, Claim, of_slurm
from exporter.model.quoted import shown
from exporter.model.scontrol import NodeState, node_state
from exporter.runtime.bounded_command import BoundedCommand, Finished
from exporter.runtime.child_process import how_it_ended
from exporter.runtime.clock import Clock
from exporter.runtime.origin import OriginError

NODE = "{node}"
"""Stands for the node's name in the words of a site's own command."""


class SlurmNode:
    """An Origin (origin.py). `command` replaces scontrol, word by word; reasons with one of `own_reasons` in them are a program's."""

    name = SLURM

    def __init__(self, node: str, interval_s: float, timeout_s: float, clock: Clock, command: Sequence[str] = (),
                 own_reasons: Sequence[str] = ()) -> None:  # fmt: skip
        self.interval_s = interval_s
        self._node = node
        self._timeout_s = timeout_s
        self._clock = clock
        self._command = [word.replace(NODE, node) for word in command]
        self._own_reasons = own_reasons
        self._asked = BoundedCommand(clock)
        self._has_json = True

    def ask(self) -> Claim | None:
        """None unless somebody drained the node or reserved it for maintenance. Raises OriginError."""
        until_s = self._clock.monotonic_s() + self._timeout_s
        found = self._said(self._command, until_s) if self._command else self._shown(until_s)
        return of_slurm(found.state, found.reason, self._own_reasons)

    def close(self) -> None:
        """Kill what still asks."""
        self._asked.close()

    def _shown(self, until_s: float) -> NodeState:
        """As JSON, unless this scontrol prints none: then it is not asked for it again. One that fails both ways may be able to later."""
        argv = ["scontrol", "show", "node", self._node]
        if self._has_json:
            try:
                return self._said([*argv, "--json"], until_s)
            except OriginError as error:
                if error.reason not in (Reason.IO, Reason.PARSE, Reason.LIMIT):
                    raise
        found = self._said(argv, until_s)
        self._has_json = False
        return found

    def _said(self, argv: Sequence[str], until_s: float) -> NodeState:
        left_s = until_s - self._clock.monotonic_s()
        if left_s <= 0.0:
            raise OriginError(Reason.TIMEOUT, f"{argv[0]} has not answered within {self._timeout_s:g} s")
        done = self._asked.run(argv, left_s)
        if done.status != 0:
            raise OriginError(Reason.IO, f"{argv[0]} ended with {how_it_ended(done.status)}: {_complaint(done)}")
        try:
            return node_state(done.printed, self._node)
        except ValueError as error:
            raise OriginError(Reason.PARSE, f"what {argv[0]} prints makes no sense: {error}") from None


def _complaint(done: Finished) -> str:
    """The first line that it wrote, on either stream."""
    lines = (done.complaint or done.printed).decode("utf-8", "replace").split("\n")
    return shown(next((line.strip() for line in lines if line.strip()), ""))
