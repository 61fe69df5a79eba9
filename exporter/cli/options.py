"""The flags that several verbs share, from the one table of options (config/options.py): which flag sets which option."""

import argparse
import os
from collections.abc import Mapping

from exporter.config.duration import parse_duration
from exporter.config.load import Loaded, load
from exporter.config.options import CONFIG_VARIABLE, OPTIONS, Option


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --config and every flag of the configuration. Nothing given is no attribute, so that a default never hides the file."""
    group = parser.add_argument_group("configuration", "flags beat FABRIC_… variables, these beat the file, the file beats the defaults")
    group.add_argument("--config", metavar="FILE", help=f"YAML file; also in {CONFIG_VARIABLE}")
    for option in OPTIONS.values():
        if option.spelling.flag:
            _add_flag(group, option)


def loaded(args: argparse.Namespace, environ: Mapping[str, str] | None = None) -> Loaded:
    """The configuration by the parsed flags, the environment (the process's own if None) and the file. Raises ConfigError.

    Calling it again reads the file again: that is a reload.
    """
    environment = os.environ if environ is None else environ
    values = vars(args)
    flags = {path: tuple(values[path]) for path in OPTIONS if values.get(path)}
    return load(values.get("config") or environment.get(CONFIG_VARIABLE) or None, environment, flags)


def duration_argument(text: str) -> float:
    """An argparse type: seconds from `10s`; argparse turns what it raises into its one line."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_flag(group: argparse._ArgumentGroup, option: Option) -> None:
    default = option.kind.show_value(option.default)
    words = f"{option.doc} Default: {default}.".replace("%", "%%")
    flag = option.spelling.flag
    if option.spelling.value:
        if option.spelling.value == "false":
            words = f"Do not {option.doc[0].lower()}{option.doc[1:]}".replace("%", "%%")
        group.add_argument(flag, dest=option.path, action="append_const", const=option.spelling.value, help=words)
    else:
        repeat = " Repeatable." if option.kind.many else ""
        group.add_argument(flag, dest=option.path, action="append", metavar=_metavar(option), help=words + repeat)


def _metavar(option: Option) -> str:
    name = option.kind.name.removeprefix("list of ")
    if " | " in name:
        return "|".join(name.split(" | "))
    if option.path == "simulate.profile":
        return "PROFILE"
    return {"addresses": "ADDRESS", "patterns": "PATTERN", "path": "PATH", "URL path": "PATH"}.get(name, name.upper())
