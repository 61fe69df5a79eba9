"""YAML text into a tree that remembers its lines. Bounded: size, depth, no anchors, aliases or tags, one document.

Built from the parser's event stream, not from its composer: that one recurses, resolves scalars by YAML 1.1 (`no` is false, `1:30` is
90) and drops duplicate keys and lines. Knows YAML, no option.
"""

from dataclasses import dataclass
from typing import TypeAlias

import yaml

from exporter.config.mistake import ConfigError
from exporter.model.quoted import escaped

SIZE_MAX_BYTES = 262_144
"""A hundred times a long configuration; bounds what a wrong file (a log, /dev/zero) can cost."""
DEPTH_MAX = 16
"""Four times what the schema nests."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One scalar as written. `null` is True for a plain empty, `~` or `null`."""

    text: str
    line: int
    null: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple["Node", ...]
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in the order of the file, duplicate keys kept; keys may be any node."""

    entries: tuple[tuple["Node", "Node"], ...]
    line: int


Node: TypeAlias = Scalar | Sequence | Mapping


def read_file(path: str) -> str:
    """The file's text. Raises ConfigError if it cannot be read, is too large or is not UTF-8."""
    try:
        with open(path, "rb") as file:
            content = file.read(SIZE_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > SIZE_MAX_BYTES:
        raise ConfigError(path, f"larger than {SIZE_MAX_BYTES // 1024} KiB; is this the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(path, "not UTF-8 text; save the file as UTF-8", f"{path}:{line}") from error


def parse(text: str, name: str) -> Node | None:
    """The document's tree, None if it is empty. Raises ConfigError with the file's name and line."""
    try:
        return _build(text, name)
    except yaml.YAMLError as error:
        raise ConfigError(name, f"not valid YAML: {_problem(error)}", f"{name}:{_line(error, text)}") from error
    except (ValueError, OverflowError) as error:  # PyYAML lets chr() and int() of impossible escapes and versions through
        raise ConfigError(name, "not valid YAML: an escape or a version number out of range", name) from error


def _build(text: str, name: str) -> Node | None:
    open_nodes: list[tuple[int, list[Node]]] = []
    root: Node | None = None
    documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        where = f"{name}:{line}"
        _refuse(event, name, where)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ConfigError(name, "holds more than one document (a second ---)", where)
            continue
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None
            node = Scalar(event.value, line, plain and event.value in ("", "~", "null"))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_nodes) == DEPTH_MAX:
                raise ConfigError(name, f"nested deeper than {DEPTH_MAX} levels", where)
            open_nodes.append((line, []))
            continue
        elif isinstance(event, yaml.SequenceEndEvent):
            start, children = open_nodes.pop()
            node = Sequence(tuple(children), start)
        elif isinstance(event, yaml.MappingEndEvent):
            start, children = open_nodes.pop()
            node = Mapping(tuple(zip(children[::2], children[1::2], strict=True)), start)
        else:
            continue
        if open_nodes:
            open_nodes[-1][1].append(node)
        else:
            root = node
    return None if isinstance(root, Scalar) and root.null else root


def _refuse(event: yaml.Event, name: str, where: str) -> None:
    """Raise ConfigError for what the configuration has no use for and an attacker or an accident has."""
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise ConfigError(name, "anchors and aliases (&name, *name) are not supported; a text that begins so stands in quotes", where)
    if getattr(event, "tag", None):
        raise ConfigError(name, "tags (!name) are not supported; a text that begins so stands in quotes", where)


def _problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        return escaped(error.problem).replace('\\"', '"')
    return escaped(str(getattr(error, "reason", "unreadable")))


def _line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return int(mark.line) + 1
    return text.count("\n", 0, int(getattr(error, "position", 0) or 0)) + 1
