"""The three layers above the defaults: file, environment, flags. Each becomes values by option path and a list of mistakes.

Knows how each layer spells an option; precedence and building are load.py's. Never stops at the first mistake, but at the hundredth.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from exporter.config import yaml_lines
from exporter.config.mistake import Mistake
from exporter.config.options import OPTIONS, OTHER_VARIABLES, PREFIX, SECTIONS, Option, names_in
from exporter.model.quoted import escaped, shown

NAME_MAX = 64
"""Characters of an unknown name that are compared and repeated."""
MISTAKES_MAX = 100
"""Mistakes looked for in one file: a wrong file is not compared key by key to its end."""
NEAR = 0.75
"""How alike (difflib ratio) a variable must be to one of ours to be called mistyped."""

_SERVICE_LINK = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)")
"""Variables that Kubernetes injects for a Service that happens to be called `fabric-…`."""
_COMMA = re.compile(r",(?![^{\[(]*[}\])])")
"""A comma between two items: not one within {}, [] or (), which belongs to a pattern."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a layer gives, and where: `config.yaml:12`, `FABRIC_LOGGING_LEVEL`, `--log.level`."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer gives by option path, and its mistakes."""

    given: Mapping[str, Given]
    mistakes: tuple[Mistake, ...]


NO_LAYER = Layer({}, ())


def file_layer(root: yaml_lines.Node | None, name: str) -> Layer:
    """The file's options. An empty file is legal; a null leaves the option at its default."""
    given: dict[str, Given] = {}
    mistakes: list[Mistake] = []
    if root is not None:
        _read_section(root, "", name, given, mistakes)
    if len(mistakes) >= MISTAKES_MAX:
        mistakes.append(Mistake(name, f"{MISTAKES_MAX} mistakes so far; is this the right file?"))
    return Layer(given, tuple(mistakes))


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The options in variables; an empty variable is as good as none. Lists are separated by commas. A variable that begins as ours do
    but is none is a mistake; those of other programs (`FABRIC_MANAGER_…`) and of Kubernetes are let be."""
    given: dict[str, Given] = {}
    mistakes: list[Mistake] = []
    options = {option.variable: option for option in OPTIONS.values()}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES or not text:
            continue
        option = options.get(variable)
        if option is None:
            mistakes.extend(_unknown_variable(variable, options))
        elif option.spelling.flag_only:
            mistakes.append(_flag_only(option, variable))
        else:
            texts = _COMMA.split(text) if option.kind.many else [text]
            _take(option, [item.strip() for item in texts], variable, given, mistakes)
    return Layer(given, tuple(mistakes))


def flag_layer(flags: Mapping[str, tuple[str, ...]]) -> Layer:
    """The options in flags, by option path; more than one text only for lists. Raises KeyError for a path that is no option."""
    given: dict[str, Given] = {}
    mistakes: list[Mistake] = []
    for path, texts in flags.items():
        _take(OPTIONS[path], texts, OPTIONS[path].spelling.flag, given, mistakes)
    return Layer(given, tuple(mistakes))


def _take(option: Option, texts: Iterable[str], origin: str, given: dict[str, Given], mistakes: list[Mistake]) -> None:
    values: list[object] = []
    for text in texts:
        try:
            values.append(option.kind.parse(text))
        except ValueError as error:
            mistakes.append(Mistake(option.path, str(error), origin))
            return
    given[option.path] = Given(tuple(values) if option.kind.many else values[-1], origin)


def _read_section(node: yaml_lines.Node, path: str, name: str, given: dict[str, Given], mistakes: list[Mistake]) -> None:
    if isinstance(node, yaml_lines.Scalar) and node.null:
        return
    if not isinstance(node, yaml_lines.Mapping):
        mistakes.append(Mistake(path or name, f"expected a mapping of {_listed(names_in(path))}, got {_got(node)}", f"{name}:{node.line}"))
        return
    lines: dict[str, int] = {}
    for key, value in node.entries:
        if len(mistakes) >= MISTAKES_MAX:
            return
        where = f"{name}:{key.line}"
        if not isinstance(key, yaml_lines.Scalar):
            mistakes.append(Mistake(path or name, f"expected a name as key, got {_got(key)}", where))
            continue
        here = f"{path}.{key.text}" if path else key.text
        if key.text in lines:
            mistakes.append(Mistake(_short(here), f"given twice, first in line {lines[key.text]}", where))
            continue
        lines[key.text] = key.line
        if here in SECTIONS and here:
            _read_section(value, here, name, given, mistakes)
        elif here in OPTIONS:
            _read_option(OPTIONS[here], value, where, given, mistakes)
        else:
            mistakes.append(Mistake(_short(here), _unknown_key(key.text, path), where))


def _read_option(option: Option, node: yaml_lines.Node, where: str, given: dict[str, Given], mistakes: list[Mistake]) -> None:
    if option.spelling.flag_only:
        mistakes.append(_flag_only(option, where))
        return
    if isinstance(node, yaml_lines.Scalar) and node.null:
        return
    if option.kind.many:
        if not isinstance(node, yaml_lines.Sequence):
            mistakes.append(Mistake(option.path, f"expected a list such as [a, b], got {_got(node)}", where))
            return
        scalars = [item for item in node.items if isinstance(item, yaml_lines.Scalar) and not item.null]
        if len(scalars) < len(node.items):
            mistakes.append(Mistake(option.path, f"expected a {option.kind.name}, got a list with something else in it", where))
            return
        _take(option, [item.text for item in scalars], where, given, mistakes)
    elif isinstance(node, yaml_lines.Scalar):
        _take(option, [node.text], where, given, mistakes)
    else:
        mistakes.append(Mistake(option.path, f"expected a {option.kind.name}, got {_got(node)}", where))


def _flag_only(option: Option, where: str) -> Mistake:
    return Mistake(option.path, f"can only be given as {option.spelling.flag}: {option.spelling.flag_only}", where)


def _unknown_key(key: str, section: str) -> str:
    near = get_close_matches(key[:NAME_MAX], names_in(section), 1)
    if near:
        return f"unknown key; did you mean {near[0]}?"
    elsewhere = [known for known in OPTIONS if known.rpartition(".")[2] == key and not OPTIONS[known].spelling.flag_only]
    return f"unknown key; did you mean {elsewhere[0]}?" if elsewhere else f"unknown key; known here: {_listed(names_in(section))}"


def _unknown_variable(variable: str, options: Mapping[str, Option]) -> list[Mistake]:
    top = variable.removeprefix(PREFIX).partition("_")[0].lower()
    near = get_close_matches(variable[:NAME_MAX], options, 1, NEAR)
    if _SERVICE_LINK.fullmatch(variable) or not (near or top in names_in("")):
        return []
    hint = f"did you mean {near[0]}?" if near else "docs/configuration.md lists all"
    return [Mistake(_short(variable), f"unknown variable; {hint}", "environment")]


def _got(node: yaml_lines.Node) -> str:
    if isinstance(node, yaml_lines.Scalar):
        return "nothing" if node.null else shown(node.text)
    return "a list" if isinstance(node, yaml_lines.Sequence) else "a mapping"


def _short(name: str) -> str:
    return escaped(name[:NAME_MAX]) + ("…" if len(name) > NAME_MAX else "")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
