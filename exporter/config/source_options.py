"""Options of the sources: which are read, how often, and which of their devices. Data, no behaviour."""

from dataclasses import dataclass, field

from exporter.config.kinds import BOOLEAN, PATH, duration
from exporter.config.option import INTERVAL, Spelling, names, option


@dataclass(frozen=True, slots=True)
class Infiniband:
    """InfiniBand and RoCE ports below /sys/class/infiniband."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: a node without the hardware costs one listing."
    )
    fast_interval_s: float = option(
        5.0,
        INTERVAL,
        "How often states, rates, byte counters and the wait counter are read.",
        "A third of Prometheus' usual 15 s, so that no scrape shows a sample older than that.",
    )
    normal_interval_s: float = option(
        15.0,
        INTERVAL,
        "How often error counters and hw_counters are read; not shorter than fast_interval.",
        "Errors matter per minute, and hw_counters ask the firmware.",
    )
    slow_interval_s: float = option(
        300.0,
        INTERVAL,
        "How often identity (firmware, board, place in the machine) is read; not shorter than normal_interval.",
        "It changes with a driver reload, which is noticed at once anyway.",
    )
    include: tuple[str, ...] = names(
        "Devices to read: regular expressions that match the whole name. Empty: all.", "--sources.infiniband.include"
    )
    exclude: tuple[str, ...] = names(
        "Devices to leave alone, also if included; applied before any of their files is opened.", "--sources.infiniband.exclude"
    )
    hw_counters: bool = option(
        default=True,
        kind=BOOLEAN,
        doc="Read the driver's own counters (hw_counters/).",
        reason="On: retransmissions and congestion stand nowhere else.",
    )


@dataclass(frozen=True, slots=True)
class Ethernet:
    """Ethernet ports below /sys/class/net, and what their drivers say by ethtool."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: pause and discards of a RoCE port stand nowhere else."
    )
    normal_interval_s: float = option(
        15.0,
        duration(10, 86_400),
        "How often carrier, errors and the driver's statistics (ethtool) are read; at least 10s.",
        "As often as Prometheus asks; the statistics of one port may take the driver a millisecond and its lock.",
    )
    slow_interval_s: float = option(
        300.0,
        INTERVAL,
        "How often identity (driver, place, MTU, bond) is read; not shorter than normal_interval.",
        "It changes with a person's command, and the series of an hour ago still tell.",
    )
    include: tuple[str, ...] = names(
        "Interfaces to read: regular expressions that match the whole name of the interface, also where it feeds an RDMA device.",
        "--sources.ethernet.include",
    )
    exclude: tuple[str, ...] = names(
        "Interfaces to leave alone, also if included; applied before any of their files is opened or their driver is asked.",
        "--sources.ethernet.exclude",
    )


@dataclass(frozen=True, slots=True)
class Pcie:
    """PCIe links of GPUs, RDMA devices and NICs, and of every bridge above them, below /sys/bus/pci."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: a link that trained too narrow is logged nowhere."
    )
    normal_interval_s: float = option(
        15.0,
        INTERVAL,
        "How often link speed, link width and error counts (AER) are read.",
        "As often as Prometheus asks; a link changes seldom.",
    )
    slow_interval_s: float = option(
        300.0,
        INTERVAL,
        "How often each device's place is read; not shorter than normal_interval.",
        "It changes with a reboot or a hot plug, which is noticed at once anyway.",
    )
    include: tuple[str, ...] = names(
        "Devices to read: regular expressions that match the whole name (gpu0, mlx5_0, eno1). Empty: all.", "--sources.pcie.include"
    )
    exclude: tuple[str, ...] = names(
        "Devices to leave alone, also if included; bridges that they share with others are read.", "--sources.pcie.exclude"
    )


@dataclass(frozen=True, slots=True)
class Nvml:
    """The NVIDIA driver's library, which a process of its own loads."""

    library: str | None = option(
        None,
        PATH,
        "The driver's library; a path such as /run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1.",
        "None: the system's loader finds libnvidia-ml.so.1.",
        Spelling("--nvml-library"),
    )
    exit_on_unknown_error_after_s: float | None = option(
        None,
        duration(10, 86_400),
        "End the daemon with a failure once the driver has said Unknown Error for so long.",
        "None: it goes on without GPUs. In a container that lost its devices only a restart helps, which the kubelet does after a failure.",
    )


@dataclass(frozen=True, slots=True)
class Nvlink:
    """NVLinks and GPUs, through the NVIDIA driver's library (NVML)."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: a node without the driver costs one short process a while."
    )
    fast_interval_s: float = option(
        5.0, INTERVAL, "How often states and byte counters are read.", "As InfiniBand ports, so that both can be compared."
    )
    normal_interval_s: float = option(
        15.0,
        INTERVAL,
        "How often errors, recoveries, bit error ratios and the place in an NVLink domain are read; not shorter than fast_interval.",
        "As often as Prometheus asks; on Blackwell some of them ask firmware.",
    )
    slow_interval_s: float = option(
        300.0,
        INTERVAL,
        "How often identity and far ends are read; not shorter than normal_interval.",
        "They change with a repair or a driver reload, which is noticed at once anyway.",
    )
    include: tuple[str, ...] = names(
        "GPUs to read: regular expressions that match the whole name (gpu0). Empty: all.", "--sources.nvlink.include"
    )
    exclude: tuple[str, ...] = names("GPUs to leave alone, also if included.", "--sources.nvlink.exclude")


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Xid and SXid lines of the NVIDIA driver in the kernel log."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: Xids with their link stand nowhere else."
    )
    path: str = option("/dev/kmsg", PATH, "The kernel log's device.", "The kernel's own place; a container must be shown the host's.")
    fast_interval_s: float = option(
        5.0,
        INTERVAL,
        "How often new lines are read.",
        "As states are read, so that a link and its Xid appear together; a quiet log costs one system call.",
    )


@dataclass(frozen=True, slots=True)
class GpuDirect:
    """Whether RDMA devices can reach the memory of GPUs beside them without the CPU (GPUDirect RDMA), as far as files tell."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: without it every transfer between nodes takes a detour."
    )
    normal_interval_s: float = option(
        15.0, INTERVAL, "How often loaded modules are looked at.", "As often as Prometheus asks; two files for the whole node."
    )
    slow_interval_s: float = option(
        300.0, INTERVAL, "How often PCI registers are looked at; not shorter than normal_interval.", "They change at a reboot."
    )


@dataclass(frozen=True, slots=True)
class Bursts:
    """The burst sampler: byte counters of InfiniBand and RoCE ports, read many times a second. Which devices: as sources.infiniband."""

    enabled: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Sample bursts. Without it a rail that takes longer for the same bytes is not found.",
        reason="Off: nobody has measured yet what firmware pays for twenty reads a second and port.",
        spelling=Spelling("--sources.bursts.enabled", value="true"),
    )
    interval_s: float = option(
        0.1,
        duration(0.01, 1),
        "How often; bursts shorter than about twice that are not seen at their own speed.",
        "Sees the bursts of most training steps; 20ms sees those of 30 ms.",
        Spelling("--sources.bursts.interval"),
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the hardware is read."""

    sysfs_root: str = option(
        "/sys", PATH, "Where sysfs is mounted.", "The kernel's own place; /host/sys in a container.", Spelling("--sysfs-root")
    )
    procfs_root: str = option(
        "/proc", PATH, "Where procfs is mounted.", "The kernel's own place; /host/proc in a container.", Spelling("--procfs-root")
    )
    infiniband: Infiniband = field(default_factory=Infiniband)
    ethernet: Ethernet = field(default_factory=Ethernet)
    pcie: Pcie = field(default_factory=Pcie)
    nvml: Nvml = field(default_factory=Nvml)
    nvlink: Nvlink = field(default_factory=Nvlink)
    kernel_log: KernelLog = field(default_factory=KernelLog)
    gpudirect: GpuDirect = field(default_factory=GpuDirect)
    bursts: Bursts = field(default_factory=Bursts)
