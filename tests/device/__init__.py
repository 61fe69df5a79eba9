"""A check for a machine with NVIDIA GPUs, not part of the suite: what its driver answers, and whether it agrees with what we make of it.

    python -m tests.device.gpu_check [--library FILE] [--save MACHINE.json] [--minutes 4]

It only reads. The suite runs it over the fake driver (tests/nvml_library).
"""
