"""Every option of this version: its kind, unit, default and reason. Data, no behaviour; the file, flags, variables and the reference
all follow from it. Names in YAML are the field's, less the unit that Python carries (`fast_interval_s` is `fast_interval`)."""

from dataclasses import dataclass, field

from exporter.config.kinds import (
    ADDRESS,
    BOOLEAN,
    EXPECTED_LINK,
    EXPECTED_NVLINKS,
    EXPECTED_PORT,
    PATH,
    PATTERN,
    TEXT,
    URL_PATH,
    choice,
    count,
    list_of,
)
from exporter.config.maintenance_options import Maintenance
from exporter.config.option import INTERVAL, Spelling, option
from exporter.config.probe_options import Probes
from exporter.config.recorder_options import Recorder
from exporter.config.signal_options import Signals
from exporter.config.source_options import Sources

TIERS = ("aggregate", "basic", "standard", "full")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("logfmt", "json")


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
    systemd_socket: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Take the sockets that a systemd .socket unit opened, in place of web.listen_addresses.",
        reason="Off: the daemon opens its own. On, the port is open before the daemon is, and a port below 1024 needs no capability.",
        spelling=Spelling("--web.systemd-socket", value="true"),
    )
    config_file: str | None = option(
        None,
        PATH,
        "A file with TLS, passwords and headers for the listen addresses, in the format of Prometheus' exporter-toolkit: docs/security.md.",
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
class Control:
    """The unix socket by which somebody on this machine tells the daemon what to do."""

    enabled: bool = option(
        default=True,
        kind=BOOLEAN,
        doc="Make the control socket at all.",
        reason="On: check, release, resume, reload and maintenance need it.",
    )
    socket: str = option(
        "/run/fabric-exporter/control.sock",
        PATH,
        "The socket that carries check, release, resume, reload and maintenance; whoever may write to it may ask for them.",
        "RuntimeDirectory= of the systemd unit; mode 0660. Cannot be made: the daemon runs and says so. With --simulate none unless set.",
        Spelling("--control-socket"),
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
class Expect:
    """What the hardware should be able to do, where it cannot know by itself."""

    pcie: tuple[str, ...] = option(
        (),
        list_of(EXPECTED_LINK),
        "PCIe links of which less is expected than both ends could do: PATTERN=SPEED,WIDTH, as in mlx5_.*=x8 or 0000:3b:00.0=16GT/s,x8. "
        "The pattern matches the whole name of a device or the PCI address of a bridge; the least of all that is known counts.",
        "Empty: what both ends of a link can do is what it should do.",
    )
    ports: tuple[str, ...] = option(
        (),
        list_of(EXPECTED_PORT),
        "Rate and lanes that InfiniBand, RoCE and Ethernet ports should have, or that they should not be up at all: PATTERN=RATE,LANES or "
        "PATTERN=off, as in mlx5_[0-7]=400Gb/s,x4; and the link layer of RDMA ports, before these or alone: mlx5_[0-7]=infiniband,400Gb/s "
        "or mlx5_8=ethernet. The pattern matches the whole name of a device; of those that name a thing the first that matches counts.",
        "Empty: the best that a port was ever seen at on this node, and what most of its sisters run at.",
    )
    nvlink: tuple[str, ...] = option(
        (),
        list_of(EXPECTED_NVLINKS),
        "NVLinks that GPUs should have, and their signalling rate: PATTERN=COUNT or PATTERN=[LINKS], as in gpu.*=18@26562MB/s or "
        "NVIDIA H100 PCIe=[0-3,6-9,12-15]. The pattern matches the whole name of a GPU or of its product; the first that matches counts.",
        "Empty: boards that wire every port are known, others are learned in ten minutes.",
    )


@dataclass(frozen=True, slots=True)
class Topology:
    """What NICs are for, and on which rail they are, where PCI does not say."""

    storage: tuple[str, ...] = option(
        (),
        list_of(PATTERN),
        "RDMA devices for storage: regular expressions that match the whole name. They serve no rail.",
        "Empty: a NIC that is no GPU's only nearest has no role.",
    )
    management: tuple[str, ...] = option(
        (), list_of(PATTERN), "RDMA devices for management, likewise. They serve no rail.", "Empty: as for storage."
    )
    compute: tuple[str, ...] = option(
        (),
        list_of(PATTERN),
        "RDMA devices for compute, likewise. If any is there, no other serves a rail. Storage and management come first where two match.",
        "Empty: a NIC is for compute if it and a GPU are each other's only nearest behind PCIe switches.",
    )
    rails: str | None = option(
        None,
        PATH,
        "A table of this node's rails, which wins over what PCI shows: lines `device,rail` or `device,rail,role`.",
        "None: rail i is that of GPU i. Virtual machines hide PCI, and no node sees its leaf switches: name a table there.",
    )


@dataclass(frozen=True, slots=True)
class Jobs:
    """Which batch job or pod uses which GPU: docs/jobs.md."""

    enabled: bool = option(
        default=True, kind=BOOLEAN, doc="Read this source at all.", reason="On: a bad link matters by the job that runs over it."
    )
    interval_s: float = option(
        15.0,
        INTERVAL,
        "How often jobs are looked for.",
        "As often as Prometheus asks; a pass takes some 0.02 ms for each process on a GPU.",
    )
    processes: bool = option(
        default=True,
        kind=BOOLEAN,
        doc="Find jobs by the processes on each GPU, their cgroups and environments.",
        reason="On: it needs no help of the scheduler. Where the host's processes cannot be seen the source says so.",
    )
    directory: str | None = option(
        None,
        PATH,
        "Job-mapping directory in dcgm-exporter's format: a file for each GPU index with one job id a line.",
        "None: it exists only where the scheduler's prolog fills it.",
    )
    scheduler: str = option(
        "slurm", TEXT, "The scheduler label of the jobs in that directory: its files do not say who wrote them.", "Slurm's are the most."
    )
    pod_resources: str | None = option(
        None,
        PATH,
        "The kubelet's pod-resources socket, /var/lib/kubelet/pod-resources/kubelet.sock: which pod was given which GPU. It is asked in "
        "every pass.",
        "None: it takes pip install 'fabric-exporter[kubernetes]', 17 MB of memory, the host's folder and the right to write to root's "
        "socket; but no look at other processes.",
    )
    pod_logs_dir: str = option(
        "/var/log",
        PATH,
        "Folder with the kubelet's pods/ and containers/, whose names tell a pod's name; no log is opened.",
        "The kubelet's own place; /host/var/log in a container. Without it pods go by their uid.",
    )
    user_label: bool = option(
        default=False,
        kind=BOOLEAN,
        doc="Fill the label user of fabric_gpu_job_info with the owner of the job's processes.",
        reason="Off: a user's name is personal data.",
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
    node_label: str | None = option(
        None,
        TEXT,
        "Put the label node with this value on every series.",
        "None: the scrape configuration knows the node and sets the label by relabelling; this is for where it cannot, as --label.node=%H "
        "in a systemd unit.",
        Spelling("--label.node"),
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
    control: Control = field(default_factory=Control)
    state: State = field(default_factory=State)
    sources: Sources = field(default_factory=Sources)
    expect: Expect = field(default_factory=Expect)
    topology: Topology = field(default_factory=Topology)
    signals: Signals = field(default_factory=Signals)
    maintenance: Maintenance = field(default_factory=Maintenance)
    jobs: Jobs = field(default_factory=Jobs)
    recorder: Recorder = field(default_factory=Recorder)
    probes: Probes = field(default_factory=Probes)
    exposition: Exposition = field(default_factory=Exposition)
    logging: Logging = field(default_factory=Logging)
    simulate: Simulate = field(default_factory=Simulate)
