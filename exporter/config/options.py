"""The one table of options, walked from the schema: path ↔ field ↔ flag ↔ variable. Knows no value and reads nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import Any

from exporter.config.kinds import Kind
from exporter.config.option import Spelling
from exporter.config.schema import Config

PREFIX = "FABRIC_"
CONFIG_VARIABLE = "FABRIC_CONFIG"
"""Names the configuration file where no --config is given."""
OTHER_VARIABLES: Mapping[str, str] = {
    CONFIG_VARIABLE: "the configuration file where no `--config` is given",
    "FABRIC_DEBUG": "`1`: show the traceback of an unexpected error",
    "FABRIC_TEST_DATA": "test suite: folder of real captures",
    "FABRIC_NO_SKIP": "test suite: a skipped test is a failure",
}
"""Variables of ours that are no options."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its path in YAML, the names of the fields that lead to it, how it is read, and its words for a person."""

    path: str
    attributes: tuple[str, ...]
    kind: Kind
    default: object
    doc: str
    reason: str
    spelling: Spelling

    @property
    def variable(self) -> str:
        """Its environment variable: `FABRIC_` and the path in capitals, unless the schema names another."""
        return self.spelling.variable or PREFIX + self.path.replace(".", "_").upper()

    def value(self, config: Config) -> object:
        """Its value in a configuration."""
        value: object = config
        for attribute in self.attributes:
            value = getattr(value, attribute)
        return value


def yaml_name(item: Field[Any]) -> str:
    """The key in YAML: the field's name, less the `_s` of a duration and the `_bytes` of a size, which are Python's."""
    kind = item.metadata.get("kind")
    return item.name.removesuffix({"duration": "_s", "size": "_bytes"}.get(kind.name if kind else "", ""))


def _walk(section: type, path: tuple[str, ...], attributes: tuple[str, ...]) -> Iterator[Option]:
    for item in fields(section):
        here, there = (*path, yaml_name(item)), (*attributes, item.name)
        if isinstance(item.type, type) and is_dataclass(item.type):
            yield from _walk(item.type, here, there)
        else:
            meta = item.metadata
            yield Option(".".join(here), there, meta["kind"], item.default, meta["doc"], meta["reason"], meta["spelling"])


OPTIONS: Mapping[str, Option] = {option.path: option for option in _walk(Config, (), ())}
"""Every option by its path, in the order of the file."""

SECTIONS: frozenset[str] = frozenset(path[:dot] for path in OPTIONS for dot in range(len(path)) if path[dot] == ".") | {""}
"""Paths of mappings; the empty one is the whole file."""


def names_in(section: str) -> tuple[str, ...]:
    """The keys that a section may hold, in order."""
    prefix = section + "." if section else ""
    return tuple(dict.fromkeys(path.removeprefix(prefix).partition(".")[0] for path in OPTIONS if path.startswith(prefix)))
