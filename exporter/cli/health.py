"""Health of this configuration's node: which rules, which thresholds, what is remembered."""

import os
from collections.abc import Callable, Collection, Iterable

from exporter.cli.memory import Memory, state_path
from exporter.config.schema import Config
from exporter.config.signal_options import thresholds_of
from exporter.model.expected_ports import expected_port
from exporter.model.maintenance import Claim
from exporter.runtime.health import Boot, Health, HealthSettings
from exporter.runtime.maintenance_file import NAME, MaintenanceFile
from exporter.signals.rules import RULES


def health_of(config: Config, memory: Memory, boot: Boot, left_out: Collection[str] = (),
              others: Callable[[], Iterable[Claim]] = tuple) -> Health:  # fmt: skip
    """All rules but those `left_out`, by the configured thresholds; `others` may say that somebody works on the node, beside the file."""
    ports = dict(expected_port(text) for text in config.expect.ports)
    settings = HealthSettings(thresholds_of(config.signals), ports, config.signals.tick_bytes, left_out)
    return Health(RULES, settings, memory.ports, memory.verdicts, boot, maintenance_of(config, others).at)


def maintenance_of(config: Config, others: Callable[[], Iterable[Claim]] = tuple) -> MaintenanceFile:
    """The file that says whether somebody works on the node, and what `others` say of it."""
    return MaintenanceFile(config.signals.maintenance_file or os.path.join(state_path(config), NAME), others)
