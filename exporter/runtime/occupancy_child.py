"""The probes' eye on the GPUs: `python -m exporter.runtime.occupancy_child OPENER ARGUMENTS` tells who uses them, once for each line that
it gets: a JSON list of the number of samples and the seconds between them.

A process of its own, because a call of the driver may never come back; it ends when its input does. It reads and opens no CUDA context.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module

from exporter.sources.nvml_session import Nvml, NvmlError


def main() -> None:
    """Answer on stdout until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the probe decides when we end
    module, _, function = sys.argv[1].partition(":")
    opener: Callable[..., Nvml] = getattr(import_module(module), function)
    nvml = opener(time.monotonic, *json.loads(sys.argv[2]))
    is_open = False
    for line in sys.stdin:
        samples, gap_s = json.loads(line)
        try:
            if not is_open:
                nvml.open()
                is_open = True
            answer: Mapping[str, object] = {"gpus": _looked(nvml, samples, gap_s)}
        except NvmlError as error:
            answer = {"problem": str(error)}
        print(json.dumps(answer), flush=True)  # noqa: T201  # the answer is what it is for
    nvml.close()


def _looked(nvml: Nvml, samples: int, gap_s: float) -> list[dict[str, object]]:
    """Each GPU with its address and what it says; `utilisation` of every sample, None if one is missing."""
    count = nvml.gpu_count()
    facts = [nvml.facts(gpu) for gpu in range(count)]
    loads: list[list[float] | None] = [[] for _ in range(count)]
    last = [nvml.occupancy(gpu) for gpu in range(count)]
    for number in range(samples):
        if number:
            time.sleep(gap_s)
            last = [nvml.occupancy(gpu) for gpu in range(count)]
        for gpu, found in enumerate(last):
            load = loads[gpu]
            loads[gpu] = None if load is None or found.utilisation is None else [*load, found.utilisation]
    return [
        {"uuid": who.uuid, "pci": who.pci, "name": who.name, **found._asdict(), "utilisation": load}
        for who, found, load in zip(facts, last, loads, strict=True)
    ]


if __name__ == "__main__":
    main()
