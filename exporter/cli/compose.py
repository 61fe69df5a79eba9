"""How the parts fit together for one configuration: the tree that is read, the sources on it, the sampler that drives them."""

from collections.abc import Sequence

from exporter.config.schema import Config
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import PageMaker
from exporter.model.metric import Tier
from exporter.runtime.collect import Source
from exporter.runtime.schedule import Intervals
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.sysfs import Files


def sources_of(config: Config, files: Files, root: str) -> list[tuple[Source, Intervals]]:
    """The sources that are switched on, each with its intervals. `root` is what a person should be told was looked at."""
    found: list[tuple[Source, Intervals]] = []
    ib = config.sources.infiniband
    if ib.enabled:
        wants = DeviceFilter(ib.include, ib.exclude).wants
        source = InfiniBandSource(files, wants, hw_counters=ib.hw_counters, root=root)
        found.append((source, Intervals(ib.fast_interval_s, ib.normal_interval_s, ib.slow_interval_s)))
    return found


def pages_of(config: Config, process_numbers: ProcessNumbers | None, sources: Sequence[str]) -> PageMaker:
    """The page maker by the configuration; `process_numbers` outlive a reload."""
    numbers = process_numbers if config.exposition.exporter_metrics else None
    return PageMaker(tier=Tier[config.exposition.tier.upper()], series_cap=config.exposition.series_cap, process_numbers=numbers,
                     sources=sources)  # fmt: skip
