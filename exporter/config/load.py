"""The configuration in force: flags > environment > file > defaults, and where each value came from. Reports every mistake at once."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any

from exporter.config.duration import format_duration
from exporter.config.layers import NO_LAYER, Given, environment_layer, file_layer, flag_layer
from exporter.config.mistake import ConfigError, Mistake, error_of
from exporter.config.options import OPTIONS, SECTIONS, yaml_name
from exporter.config.schema import Config
from exporter.config.yaml_lines import parse, read_file
from exporter.model.address import TcpAddress, parse_address

DEFAULT = "default"
"""Origin of a value that nobody gave."""
INTERVALS = ("fast_interval", "normal_interval", "slow_interval")
"""Names of a source's intervals, shortest first; not every source has all."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A usable configuration, the origin of each value by option path (`default`, `config.yaml:12`, a variable, a flag), and its file."""

    config: Config
    origins: Mapping[str, str]
    file: str | None = None


def load(file: str | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, tuple[str, ...]] | None = None) -> Loaded:
    """The configuration from a file, variables and flags (texts by option path; several for a list). A missing file is an error.

    Raises ConfigError with every mistake of all three. A file that is no YAML hides its own options' mistakes, not those of the others.
    """
    mistakes: list[Mistake] = []
    from_file = NO_LAYER
    if file is not None:
        try:
            from_file = file_layer(parse(read_file(file), file), file)
        except ConfigError as error:
            mistakes.extend(error.mistakes)
    layers = (from_file, environment_layer(environ or {}), flag_layer(flags or {}))
    given: dict[str, Given] = {}
    for layer in layers:
        mistakes.extend(layer.mistakes)
        given.update(layer.given)
    config: Config = _build(Config, (), given)
    origins = {path: given[path].origin if path in given else DEFAULT for path in OPTIONS}
    mistakes = mistakes or _contradictions(config, origins)
    if mistakes:
        raise error_of(tuple(mistakes))
    return Loaded(config, origins, file)


def _build(section: type, path: tuple[str, ...], given: Mapping[str, Given]) -> Any:
    """The dataclass of a section: what is given, defaults for the rest."""
    values: dict[str, Any] = {}
    for item in fields(section):
        here = (*path, yaml_name(item))
        if isinstance(item.type, type) and is_dataclass(item.type):
            values[item.name] = _build(item.type, here, given)
        elif ".".join(here) in given:
            values[item.name] = given[".".join(here)].value
    return section(**values)


def _contradictions(config: Config, origins: Mapping[str, str]) -> list[Mistake]:
    """Values that are right by themselves but not together; looked for only once each is."""
    found: list[Mistake] = []
    found.extend(_address_conflicts(config, origins))
    found.extend(_missing_packages(config, origins))
    for section in sorted(SECTIONS):
        paths = [f"{section}.{name}" for name in INTERVALS if f"{section}.{name}" in OPTIONS]
        found.extend(_interval_conflicts(paths, config, origins))
    return found


def _interval_conflicts(paths: Sequence[str], config: Config, origins: Mapping[str, str]) -> list[Mistake]:
    """Intervals of one source, shortest first, that are not in this order."""
    found: list[Mistake] = []
    for shorter, longer in pairwise(paths):
        shorter_s, longer_s = (float(str(OPTIONS[path].value(config))) for path in (shorter, longer))
        if shorter_s <= longer_s:
            continue
        if origins[shorter] == DEFAULT:
            problem = f"{format_duration(longer_s)} is shorter than {_name(shorter)}, {format_duration(shorter_s)}; set both"
            found.append(_mistake(longer, problem, origins))
        else:
            problem = f"{format_duration(shorter_s)} is longer than {_name(longer)}, {format_duration(longer_s)}; set both"
            found.append(_mistake(shorter, problem, origins))
    return found


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _address_conflicts(config: Config, origins: Mapping[str, str]) -> list[Mistake]:
    web = config.web
    if not web.listen_addresses:
        return [_mistake("web.listen_addresses", "needs at least one address, such as :29100", origins)]
    fixed = [address for address in web.listen_addresses if not _is_ephemeral(address)]
    twice = sorted({address for address in fixed if fixed.count(address) > 1})
    found = [_mistake("web.listen_addresses", f"{address} is listed twice", origins) for address in twice]
    if web.health_address in web.listen_addresses:
        found.append(_mistake("web.health_address", f"{web.health_address} is a listen address already", origins))
    return found


def _missing_packages(config: Config, origins: Mapping[str, str]) -> list[Mistake]:
    """Options that need an extra of ours which is not installed."""
    if not config.jobs.enabled or config.jobs.pod_resources is None or (_is_installed("grpc") and _is_installed("google.protobuf")):
        return []
    problem = "the kubelet's socket needs the packages grpcio and protobuf: pip install 'fabric-exporter[kubernetes]'"
    return [_mistake("jobs.pod_resources", problem, origins)]


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the folder that it would be in
        return False


def _is_ephemeral(address: str) -> bool:
    parsed = parse_address(address)
    return isinstance(parsed, TcpAddress) and parsed.port == 0


def _mistake(path: str, problem: str, origins: Mapping[str, str]) -> Mistake:
    return Mistake(path, problem, origins[path])
