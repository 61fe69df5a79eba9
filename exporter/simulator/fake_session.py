"""The FakeNvml of a simulated node in real time, as the NVML child asks for it by name (`Setup.opener`). Reads no clock of its own."""

from collections.abc import Callable

from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.profiles import profile_named


def open_simulated(monotonic_s: Callable[[], float], profile: str, seed: int, started_s: float, head_start_s: float) -> FakeNvml:
    """GPUs of that profile; at monotonic `started_s` the node was `head_start_s` old. Raises ValueError for an unknown profile."""
    return FakeNvml(profile_named(profile), seed, lambda: head_start_s + monotonic_s() - started_s)
