"""Who uses the GPUs now, as the gates of a probe want to know it: asked of a process of its own, with a deadline for each answer.

Whatever goes wrong is an error and no answer: the gates count it as busy.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from exporter.probes.gates import ComputeMode, GpuFacts
from exporter.runtime.child_process import ended
from exporter.runtime.clock import Clock

MODULE = "exporter.runtime.occupancy_child"
ANSWER_S = 10.0
"""NVML answers within milliseconds; starting the process and the driver on a node without persistence mode takes seconds [B]."""
END_S = 1.0
LINE_MAX_BYTES = 1 << 20


class OccupancyError(Exception):
    """Nobody can tell who uses the GPUs; the text is one line for a person."""


class Looked(NamedTuple):
    """One GPU: the facts for the gates, its UUID (what CUDA finds it by), and its product name."""

    facts: GpuFacts
    uuid: str
    product: str


class Occupancy:
    """Asks the child, which lives until `close`. `opener` and `arguments` make its NVML session (Setup in worker_messages.py), `names` the
    GPUs' names from their PCI addresses."""

    def __init__(self, opener: str, arguments: Sequence[object], names: Callable[[Collection[str]], Mapping[str, str]],
                 clock: Clock) -> None:  # fmt: skip
        self._argv = [sys.executable, "-P", "-m", MODULE, opener, json.dumps(list(arguments))]
        self._names = names
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def look(self, samples: int = 1, gap_s: float = 0.0) -> tuple[Looked, ...]:
        """Every GPU, by name in order. Raises OccupancyError; after one the child is gone, and the next look starts another."""
        try:
            found = self._ask(json.dumps([samples, gap_s]), ANSWER_S + samples * gap_s)
            names = self._names([gpu["pci"] for gpu in found["gpus"]])
            gpus = [_looked(gpu, names.get(gpu["pci"], gpu["pci"])) for gpu in found["gpus"]]
        except (KeyError, TypeError, ValueError, OSError) as error:
            self.close()
            raise OccupancyError(f"the process that asks the driver failed: {error}") from None
        except OccupancyError:
            self.close()
            raise
        return tuple(sorted(gpus, key=lambda one: (len(one.facts.device), one.facts.device)))

    def close(self) -> None:
        """End the child; one that the driver holds is left behind, and ends when its call comes back, since its input is closed."""
        process, self._process, self._rest = self._process, None, b""
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        if not ended(process, 0, END_S):
            ended(process, 9, END_S)

    def _ask(self, line: str, within_s: float) -> dict[str, Any]:
        process = self._running()
        assert process.stdin is not None  # noqa: S101  # asked for when it was started
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        until_s = self._clock.monotonic_s() + within_s
        while b"\n" not in self._rest:
            left_s = until_s - self._clock.monotonic_s()
            if left_s <= 0 or not select.select([process.stdout], [], [], left_s)[0]:
                raise OccupancyError(f"the driver has not answered within {within_s:g} s")
            piece = os.read(process.stdout.fileno(), 65_536)
            if not piece or len(self._rest) > LINE_MAX_BYTES:
                raise OccupancyError("the process that asks the driver ended without an answer")
            self._rest += piece
        answer, _, self._rest = self._rest.partition(b"\n")
        found = json.loads(answer)
        if not isinstance(found, dict):
            raise TypeError("it is no answer")
        if "problem" in found:
            raise OccupancyError(str(found["problem"]))
        return found

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self._rest = b""
            self._process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )  # fmt: skip
        return self._process


def _looked(gpu: Mapping[str, Any], name: str) -> Looked:
    mode, action = gpu["compute_mode"], gpu["recovery_action"]
    facts = GpuFacts(
        name,
        gpu["processes"],
        gpu["memory_used_bytes"],
        gpu["utilisation"],
        gpu["mig"],
        ComputeMode(mode) if mode in {one.value for one in ComputeMode} else None,
        thermal=gpu["slowdown"],
        needs_reset=None if action is None else action != 0,
    )
    return Looked(facts, gpu["uuid"], gpu["name"])
