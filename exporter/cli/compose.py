"""How the parts fit together for one configuration: the machine that is read, the sources on it, the sampler that drives them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exporter.cli.gpus import Gpus
from exporter.cli.memory import Memory
from exporter.cli.places import places_of, rail_table_of
from exporter.config.schema import Config
from exporter.exposition.choice import Labels
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import PageMaker
from exporter.model.link_capability import expected_link
from exporter.model.metric import Tier
from exporter.runtime.burst_sampler import BurstSampler
from exporter.runtime.burst_source import BurstSource
from exporter.runtime.clock import Clock
from exporter.runtime.collect import Source
from exporter.runtime.health import Boot
from exporter.runtime.schedule import Intervals
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.device_place import short_text
from exporter.sources.ethernet import EthernetSource
from exporter.sources.ethtool import Ethtool, IoctlEthtool
from exporter.sources.gpudirect import GpuDirectSource
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.job_directory import JobDirectory
from exporter.sources.jobs import JobsSource, Pids
from exporter.sources.kernel_log import KernelLogSource
from exporter.sources.kmsg import DevKmsg, KernelLog
from exporter.sources.kubelet_jobs import KubeletJobs
from exporter.sources.nvswitches import NvSwitches
from exporter.sources.pcie import PcieSource
from exporter.sources.pod_names import PodNames
from exporter.sources.process_jobs import Processes, ProcessJobs
from exporter.sources.psutil_processes import PsutilProcesses
from exporter.sources.sysfs import Files, RealFiles

NO_BOOT = Boot()
BOOT_ID, UPTIME = "sys/kernel/random/boot_id", "uptime"


@dataclass(frozen=True, slots=True)
class Machine:
    """What the sources read: this machine, or a simulated one. `root` is what a person should be told was looked at, `procfs` where modules
    are told of, `boot` which start of the machine this is; `log_boot_id` is "" where nothing of its kernel log may be kept."""

    files: Files
    ethtool: Ethtool
    kernel_log: KernelLog
    processes: Processes
    gpus: Gpus
    root: str
    procfs: Files
    boot: Boot = NO_BOOT
    log_boot_id: str = ""


def this_machine(config: Config, files: Files, gpus: Gpus, now_s: float) -> Machine:
    """The hardware, by the configured roots. `now_s` is monotonic time."""
    procfs = RealFiles(config.sources.procfs_root, 4)
    boot_id = short_text(procfs, BOOT_ID)
    processes = PsutilProcesses(config.sources.procfs_root)
    log = DevKmsg(config.sources.kernel_log.path)
    boot = Boot(boot_id, _seconds(short_text(procfs, UPTIME)), now_s)
    return Machine(files, IoctlEthtool(), log, processes, gpus, config.sources.sysfs_root, procfs, boot, boot_id)


def sources_of(config: Config, machine: Machine, memory: Memory,
               bursts: BurstSampler | None = None) -> list[tuple[Source, Intervals]]:  # fmt: skip
    """The sources that are switched on, each with its intervals. `bursts` samples ports, if somebody drives it; None: nobody does.

    A source without a fast cadence has its normal interval in its place: nothing of it is due sooner.
    """
    found: list[tuple[Source, Intervals]] = []
    files, root = machine.files, machine.root
    ib, eth, pcie, kmsg, nvlink = (config.sources.infiniband, config.sources.ethernet, config.sources.pcie, config.sources.kernel_log,
                                   config.sources.nvlink)  # fmt: skip
    if ib.enabled:
        places = places_of(config, files, memory.names, rail_table_of(config), _module_ids(machine.gpus, memory))
        hcas = InfiniBandSource(files, DeviceFilter(ib.include, ib.exclude).wants, hw_counters=ib.hw_counters, places=places, root=root)
        found.append((hcas, Intervals(ib.fast_interval_s, ib.normal_interval_s, ib.slow_interval_s)))
    if bursts is not None:
        shapes = BurstSource(files, bursts, DeviceFilter(ib.include, ib.exclude).wants, root=root)
        found.append((shapes, Intervals(ib.normal_interval_s, ib.normal_interval_s, ib.slow_interval_s)))
    if eth.enabled:
        interfaces = EthernetSource(files, machine.ethtool, DeviceFilter(eth.include, eth.exclude).wants, root=root)
        found.append((interfaces, Intervals(eth.normal_interval_s, eth.normal_interval_s, eth.slow_interval_s)))
    if pcie.enabled:
        wants = DeviceFilter(pcie.include, pcie.exclude).wants
        configured = dict(expected_link(text) for text in config.expect.pcie)
        links = PcieSource(files, wants, slots=memory.names, learned=memory.learned, configured=configured, root=root)
        found.append((links, Intervals(pcie.normal_interval_s, pcie.normal_interval_s, pcie.slow_interval_s)))
    if nvlink.enabled:
        gpus = machine.gpus.source(config, files, memory, lambda: not (kmsg.enabled and _is_readable(machine.kernel_log)))
        found.append((gpus, Intervals(nvlink.fast_interval_s, nvlink.normal_interval_s, nvlink.slow_interval_s)))
    if kmsg.enabled:
        lines = KernelLogSource(machine.kernel_log, memory.kernel_log, machine.log_boot_id, gpus=memory.gpus,
                                switches=NvSwitches(files).addresses, path=kmsg.path)  # fmt: skip
        found.append((lines, Intervals(kmsg.fast_interval_s, kmsg.fast_interval_s, 300.0)))
    if config.sources.gpudirect.enabled:
        direct = config.sources.gpudirect
        paths = GpuDirectSource(files, machine.procfs, DeviceFilter(ib.include, ib.exclude).wants, root=root)
        found.append((paths, Intervals(direct.normal_interval_s, direct.normal_interval_s, direct.slow_interval_s)))
    if config.jobs.enabled:
        found.append(_jobs_of(config, machine))
    return found


def bursts_of(config: Config, clock: Clock) -> BurstSampler | None:
    """The burst sampler, not started; None where it is off."""
    return BurstSampler(clock, config.sources.bursts.interval_s) if config.sources.bursts.enabled else None


def probes_of(config: Config, state_dir: str, wall_s: float) -> list[tuple[Source, Intervals]]:
    """The source of what probes measured, if it is on; it is the daemon's alone, which counts from `wall_s` (Unix time) on."""
    if not config.probes.enabled:
        return []
    from exporter.runtime.probe_source import ProbeSource  # noqa: PLC0415  # a megabyte that a node without probes need not hold

    return [(ProbeSource(state_dir, config.probes.interval_s, wall_s), Intervals(15.0, 15.0, 300.0))]


def _jobs_of(config: Config, machine: Machine) -> tuple[Source, Intervals]:
    """The jobs source: processes on each GPU, the scheduler's directory, and the kubelet's list."""
    jobs = config.jobs
    processes = directory = kubelet = None
    pods = PodNames(RealFiles(jobs.pod_logs_dir, 1), root=jobs.pod_logs_dir)
    if jobs.processes:
        processes = ProcessJobs(machine.processes, pods, procfs_root=config.sources.procfs_root, with_user=jobs.user_label)
    if jobs.directory is not None:
        indices: Callable[[], Mapping[int, str]] = lambda: machine.gpus.facts().indices  # noqa: E731  # asked anew each time
        directory = JobDirectory(RealFiles(jobs.directory, 4), indices, root=jobs.directory, scheduler=jobs.scheduler)
    if jobs.pod_resources is not None:
        from exporter.sources.pod_resources import Kubelet  # noqa: PLC0415  # 17 MB, and an extra that only sites with Kubernetes have

        given: Callable[[], Mapping[str, str] | None] = lambda: machine.gpus.facts().device_ids  # noqa: E731  # asked anew each time
        kubelet = KubeletJobs(Kubelet(jobs.pod_resources).allocations, given, pods, path=jobs.pod_resources)
    pids: Pids = machine.gpus.pids
    source = JobsSource(pids, processes=processes, directory=directory, kubelet=kubelet)
    return source, Intervals(jobs.interval_s, jobs.interval_s, jobs.interval_s)


def _module_ids(gpus: Gpus, memory: Memory) -> Callable[[], Mapping[str, int]]:
    """Where GPUs sit on their board: what the driver says now, else what it said before."""

    def ids() -> Mapping[str, int]:
        found = gpus.facts().module_ids
        if found:
            memory.modules.note(found)
        return memory.modules.ids()

    return ids


def _seconds(text: str) -> float | None:
    """The first number of /proc/uptime; None if there is none."""
    first = text.partition(" ")[0]
    return float(first) if first.replace(".", "", 1).isdigit() else None


def _is_readable(kernel_log: KernelLog) -> bool:
    try:
        kernel_log.open()
    except OSError:
        return False
    return True


def pages_of(config: Config, process_numbers: ProcessNumbers | None, sources: Sequence[str]) -> PageMaker:
    """The page maker by the configuration; `process_numbers` outlive a reload."""
    numbers = process_numbers if config.exposition.exporter_metrics else None
    return PageMaker(tier=Tier[config.exposition.tier.upper()], series_cap=config.exposition.series_cap, process_numbers=numbers,
                     sources=sources, labels=labels_of(config))  # fmt: skip


def labels_of(config: Config) -> Labels:
    """What every series carries beside its own labels."""
    return (("node", config.exposition.node_label),) if config.exposition.node_label is not None else ()
