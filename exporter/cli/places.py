"""Where the devices of this configuration's node stand: rails and roles, as configured and as the bus shows them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.cli.memory import Names
from exporter.config.mistake import Mistake, error_of
from exporter.config.schema import Config
from exporter.model.rail_table import TABLE_SIZE_BYTES, RailTable, parse_rail_table
from exporter.model.rails import Roles
from exporter.sources.node_places import NodePlaces, no_modules
from exporter.sources.sysfs import Files

ModuleIds = Mapping[str, int]
"""NVML's number of each GPU's place on the board, by PCI address."""


def places_of(config: Config, files: Files, names: Names, table: RailTable,
              module_ids: Callable[[], ModuleIds] = no_modules) -> NodePlaces:  # fmt: skip
    """Who knows where the devices of this configuration's node stand. `names` are the GPUs' (cli/memory.py)."""
    return NodePlaces(files, slots=names, module_ids=module_ids, roles=roles_of(config), stated=table.stated)


def roles_of(config: Config) -> Roles:
    """What NICs are for, as configured."""
    return Roles(config.topology.storage, config.topology.management, config.topology.compute)


def rail_table_of(config: Config) -> RailTable:
    """The operator's table; an empty one unless configured. Raises ConfigError if it cannot be read."""
    return read_rail_table(config.topology.rails) if config.topology.rails else RailTable()


def read_rail_table(path: str) -> RailTable:
    """The table in that file, its complaints with the file's name. Raises ConfigError if it cannot be read or is far too long."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(TABLE_SIZE_BYTES + 1)
    except OSError as error:
        raise error_of((Mistake("topology.rails", f"cannot read {path}: {error.strerror}"),)) from error
    if len(raw) > TABLE_SIZE_BYTES:
        problem = f"{path} is longer than {TABLE_SIZE_BYTES // 1024} KiB; a table of rails has one line for each NIC of a node"
        raise error_of((Mistake("topology.rails", problem),))
    table = parse_rail_table(raw.decode("utf-8", "replace"))
    return RailTable(table.stated, tuple(f"{path}, {complaint}" for complaint in table.complaints))
