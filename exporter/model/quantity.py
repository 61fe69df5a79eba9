"""Unit constants: the one place where a vendor's unit becomes a base unit. Pure."""

BYTES_PER_IB_WORD = 4
"""IBTA PortXmitData and PortRcvData count 32-bit words, whatever the link width (Documentation/ABI/stable/sysfs-class-infiniband)."""

BYTES_PER_KIB = 1024
"""NVML's throughput fields count KiB (nvml.h, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX)."""

BYTES_PER_S_PER_GBIT = 125_000_000
"""1 Gb/s in bytes per second."""

SECONDS_PER_MS = 1e-3

MICROSECONDS_PER_S = 1_000_000
PERCENT = 100
BITS_PER_BYTE = 8
"""What a raw number is divided by: a quotient of integers is the nearest float, a product with 1e-6 is not always."""

BYTES_PER_S_PER_MBIT = 125_000
"""1 Mb/s in bytes per second."""

UINT64_MAX = 2**64 - 1


def clamp_of(bits: int) -> int:
    """The value at which a counter of that many bits stops counting: all ones (IBTA PMA counters clamp, they do not wrap)."""
    return (1 << bits) - 1
