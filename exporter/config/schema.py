"""Every option of this version: its kind, unit, default and reason. Data, no behaviour; the file, flags, variables and the reference
all follow from it. Names in YAML are the field's, less the unit that Python carries (`fast_interval_s` is `fast_interval`)."""

from dataclasses import dataclass, field
from typing import Any

from exporter.config.kinds import ADDRESS, BOOLEAN, EXPECTED_LINK, PATH, PATTERN, TEXT, URL_PATH, Kind, choice, count, duration, list_of

TIERS = ("aggregate", "basic", "standard", "full")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("logfmt", "json")

INTERVAL = duration(0.1, 86_400)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an option may be given apart from the file: its flag, and a variable where the name does not follow from the path.
    `value` is what a flag without an argument means. `flag_only` options are refused in file and environment, with this reason."""

    flag: str = ""
    variable: str = ""
    value: str = ""
    flag_only: str = ""


def option(default: object, kind: Kind, doc: str, reason: str, spelling: Spelling | None = None) -> Any:
    """A dataclass field: `doc` says what the option does, `reason` why the default is what it is."""
    return field(default=default, metadata={"kind": kind, "doc": doc, "reason": reason, "spelling": spelling or Spelling()})


def names(doc: str, flag: str) -> Any:  # as option()
    """Patterns that choose devices by name; none unless configured."""
    return option((), list_of(PATTERN), doc, "Empty: nothing is missed by default.", Spelling(flag))


@dataclass(frozen=True, slots=True)
class Web:
    """Where the daemon answers, and how much it bears."""

    listen_addresses: tuple[str, ...] = option(
        (":29100",),
        list_of(ADDRESS),
        "Where /metrics and the pages are served; TCP, IPv6 in brackets, or unix:///path.",
        "All interfaces, as Prometheus comes from another machine.",
        Spelling("--web.listen-address", "FABRIC_WEB_LISTEN_ADDRESS"),
    )
    telemetry_path: str = option(
        "/metrics", URL_PATH, "Path of the metrics.", "What every Prometheus expects.", Spelling("--web.telemetry-path")
    )
    health_address: str | None = option(
        None,
        ADDRESS,
        "A further plain address for /-/healthy and /-/ready alone.",
        "None: the listen addresses answer both; set it for kubelet probes once those need TLS or a password.",
        Spelling("--web.health-address"),
    )
    config_file: str | None = option(
        None,
        PATH,
        "TLS and passwords in the format of Prometheus' exporter-toolkit. Not supported yet: setting it is an error.",
        "None: plain HTTP, as node_exporter starts.",
        Spelling("--web.config.file"),
    )
    max_connections: int = option(
        512,
        count(1, 65_536, "connections"),
        "Connections open at once, all listen addresses together; further ones are closed.",
        "Eight times 64 scrapers; each costs one file handle and a few kB.",
    )


@dataclass(frozen=True, slots=True)
class State:
    """What survives a restart."""

    dir: str = option(
        "/var/lib/fabric-exporter",
        PATH,
        "Folder for what is learned and must survive a restart.",
        "StateDirectory= of the systemd unit. Not writable: the daemon runs, says so and counts it.",
        Spelling("--state-dir"),
    )


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


@dataclass(frozen=True, slots=True)
class Expect:
    """What the hardware should be able to do, where it cannot know by itself."""

    pcie: tuple[str, ...] = option(
        (),
        list_of(EXPECTED_LINK),
        "PCIe links of which less is expected than both ends could do: PATTERN=SPEED,WIDTH, as in mlx5_.*=x8 or 0000:3b:00.0=16GT/s,x8. "
        "The pattern matches the whole name of a device or the PCI address of a bridge; the least of all that is known counts.",
        "Empty: what both ends of a link can do is what it should do.",
    )


@dataclass(frozen=True, slots=True)
class Exposition:
    """What /metrics shows."""

    tier: str = option(
        "standard",
        choice(*TIERS),
        "How many series: each tier holds those before it.",
        "All that boards, rules and post-mortem use: at most 3,400 series on an eight-GPU node.",
        Spelling("--exposition.tier"),
    )
    series_cap: int = option(
        30_000,
        count(100, 10_000_000, "series"),
        "Series on one page, at most; what is left off is counted.",
        "Four times the full tier of an eight-GPU node: it bites only when something is wrong.",
    )
    exporter_metrics: bool = option(
        default=True,
        kind=BOOLEAN,
        doc="Show the process, GC and platform series of the exporter itself.",
        reason="On: they tell a leak; some thirty series.",
        spelling=Spelling("--web.disable-exporter-metrics", value="false"),
    )


@dataclass(frozen=True, slots=True)
class Logging:
    """What the daemon writes on stderr."""

    level: str = option(
        "info", choice(*LOG_LEVELS), "Least severity that is written.", "Changes of state, not each poll.", Spelling("--log.level")
    )
    format: str = option(
        "logfmt",
        choice(*LOG_FORMATS),
        "One line an event: key=value words, or a JSON object.",
        "Readable by people and by Loki alike.",
        Spelling("--log.format"),
    )


@dataclass(frozen=True, slots=True)
class Simulate:
    """A simulated node in place of the hardware."""

    profile: str | None = option(
        None,
        TEXT,
        "Show the simulated node of this profile instead of this machine.",
        "None: a daemon started without --simulate never invents data.",
        Spelling("--simulate", flag_only="a daemon started without the flag never invents data"),
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; `Config()` holds the defaults."""

    web: Web = field(default_factory=Web)
    state: State = field(default_factory=State)
    sources: Sources = field(default_factory=Sources)
    expect: Expect = field(default_factory=Expect)
    exposition: Exposition = field(default_factory=Exposition)
    logging: Logging = field(default_factory=Logging)
    simulate: Simulate = field(default_factory=Simulate)


NOT_YET = frozenset({"topology", "signals", "probes", "jobs", "recorder",
                     "sources.nvml", "sources.nvlink"})  # fmt: skip
"""Sections that later versions bring: a file that has them was written for another version, not mistyped."""
