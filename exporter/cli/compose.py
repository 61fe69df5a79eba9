"""How the parts fit together for one configuration: the tree that is read, the sources on it, the sampler that drives them."""

from collections.abc import Sequence

from exporter.cli.memory import Memory
from exporter.config.schema import Config
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import PageMaker
from exporter.model.link_capability import expected_link
from exporter.model.metric import Tier
from exporter.runtime.collect import Source
from exporter.runtime.schedule import Intervals
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.ethernet import EthernetSource
from exporter.sources.ethtool import Ethtool, IoctlEthtool
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.pcie import PcieSource
from exporter.sources.sysfs import Files


def sources_of(config: Config, files: Files, ethtool: Ethtool, memory: Memory, root: str) -> list[tuple[Source, Intervals]]:
    """The sources that are switched on, each with its intervals. `root` is what a person should be told was looked at.

    A source without a fast cadence has its normal interval in its place: nothing of it is due sooner.
    """
    found: list[tuple[Source, Intervals]] = []
    ib, eth, pcie = config.sources.infiniband, config.sources.ethernet, config.sources.pcie
    if ib.enabled:
        wants = DeviceFilter(ib.include, ib.exclude).wants
        hcas = InfiniBandSource(files, wants, hw_counters=ib.hw_counters, root=root)
        found.append((hcas, Intervals(ib.fast_interval_s, ib.normal_interval_s, ib.slow_interval_s)))
    if eth.enabled:
        interfaces = EthernetSource(files, ethtool, DeviceFilter(eth.include, eth.exclude).wants, root=root)
        found.append((interfaces, Intervals(eth.normal_interval_s, eth.normal_interval_s, eth.slow_interval_s)))
    if pcie.enabled:
        wants = DeviceFilter(pcie.include, pcie.exclude).wants
        configured = dict(expected_link(text) for text in config.expect.pcie)
        links = PcieSource(files, wants, slots=memory.names, learned=memory.learned, configured=configured, root=root)
        found.append((links, Intervals(pcie.normal_interval_s, pcie.normal_interval_s, pcie.slow_interval_s)))
    return found


def ethtool_of(config: Config, files: Files) -> Ethtool:
    """Where drivers' statistics come from: the kernel, or the simulated node's own tree."""
    return IoctlEthtool() if config.simulate.profile is None else TreeEthtool(files)


def pages_of(config: Config, process_numbers: ProcessNumbers | None, sources: Sequence[str]) -> PageMaker:
    """The page maker by the configuration; `process_numbers` outlive a reload."""
    numbers = process_numbers if config.exposition.exporter_metrics else None
    return PageMaker(tier=Tier[config.exposition.tier.upper()], series_cap=config.exposition.series_cap, process_numbers=numbers,
                     sources=sources)  # fmt: skip
