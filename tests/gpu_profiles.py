"""Simulated nodes that have GPUs, for tests of whatever holds on each of them."""

from exporter.simulator.profiles import PROFILES

GPU_PROFILES = [profile for profile in PROFILES.values() if profile.gpus]
