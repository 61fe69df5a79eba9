"""Health of this configuration's node: which rules, which thresholds, what is remembered."""

import os
from collections.abc import Collection

from exporter.cli.memory import Memory, state_path
from exporter.config.schema import Config
from exporter.config.signal_options import thresholds_of
from exporter.model.expected_ports import expected_port
from exporter.runtime.health import Boot, Health, HealthSettings
from exporter.runtime.maintenance_file import NAME, MaintenanceFile
from exporter.signals.rules import RULES


def health_of(config: Config, memory: Memory, boot: Boot, left_out: Collection[str] = ()) -> Health:
    """All rules but those `left_out`, by the configured thresholds."""
    ports = dict(expected_port(text) for text in config.expect.ports)
    settings = HealthSettings(thresholds_of(config.signals), ports, config.signals.tick_bytes, left_out)
    return Health(RULES, settings, memory.ports, memory.verdicts, boot, maintenance_of(config).at)


def maintenance_of(config: Config) -> MaintenanceFile:
    """The file that says whether somebody works on the node."""
    return MaintenanceFile(config.signals.maintenance_file or os.path.join(state_path(config), NAME))
