"""How an nccl-tests program is called: with the options that its own `--help` lists, for old ones reject -T, -J, -I and -a.

Also what must not be in its environment. Starts nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_OPTION = re.compile(r"\[-([A-Za-z]),--[a-z_]+", re.ASCII)
HELP_ARGUMENT = "--help"
"""Understood since v1.0.0; the program prints its usage on stdout and exits 0."""
_NEEDED = frozenset("gbefnwc")
SETTINGS_PREFIX = "NCCL_TESTS_"
"""Variables that change what the program does: NCCL_TESTS_DEVICE, _MIN_BW (its exit code), _SPLIT and _SPLIT_MASK (which ranks take part),
_ALLTOALLV_* (src/common.cu of 2.19.6). All of them, and those of later releases, are unset."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sizes and counts of one call. `factor` is what each size is multiplied with to get the next."""

    min_bytes: int
    max_bytes: int
    factor: int
    warm_ups: int
    iterations: int


BANDWIDTH = Sweep(min_bytes=1 << 20, max_bytes=256 << 20, factor=4, warm_ups=20, iterations=50)
"""1, 4, 16, 64 and 256 MiB: where the time is bandwidth."""
LATENCY = Sweep(min_bytes=8, max_bytes=32 << 10, factor=64, warm_ups=20, iterations=100)
"""8 B, 512 B and 32 KiB: where the time is latency."""


def supported_options(help_text: str) -> frozenset[str] | None:
    """Letters of the options that a usage text lists. None if it is not the usage of an nccl-tests program, which has at least the options
    for GPUs, sizes, iterations, warm-up and check since v1.0.0."""
    found = frozenset(_OPTION.findall(help_text))
    return found if found >= _NEEDED else None


def command(binary: str, options: frozenset[str], sweep: Sweep, gpus: int, *, processes: int = 1, wait_s: int = 20,
            json_path: str | None = None) -> tuple[str, ...]:  # fmt: skip
    """Arguments of one call, the binary first. `gpus` are those of each process. What the program does not know is left out: without -T it
    must be ended from outside all the more. `json_path` must not exist yet: the program would write beside it. With several processes the
    time is the slowest one's (-a 3), where the program can tell."""
    arguments = [binary, "-b", str(sweep.min_bytes), "-e", str(sweep.max_bytes), "-f", str(sweep.factor), "-g", str(gpus),
                 "-w", str(sweep.warm_ups), "-n", str(sweep.iterations), "-c", "1"]  # fmt: skip
    if "T" in options:
        arguments += ["-T", str(wait_s)]
    if "I" in options:
        arguments += ["-I", "1"]
    if "a" in options and processes > 1:
        arguments += ["-a", "3"]
    if "J" in options and json_path is not None:
        arguments += ["-J", json_path]
    return tuple(arguments)


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment less every variable that changes what nccl-tests does."""
    return {name: value for name, value in environment.items() if not name.startswith(SETTINGS_PREFIX)}
