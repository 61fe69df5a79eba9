"""One mapping of a web configuration file, asked for its keys by type; every mistake goes to one list with its path and line.

Knows YAML nodes and how Go's yaml reads scalars where an operator may rely on it (`yes`, `1s`); knows no option.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from exporter.config import yaml_lines
from exporter.config.mistake import Mistake
from exporter.model.quoted import escaped, shown

NAME_MAX = 64
"""Characters of an unknown name that are compared and repeated."""
KEYS_MAX = 10_000
"""Keys of one mapping that are looked at: users, of which a web server that suits this format has a few."""
BOOLEANS = {**dict.fromkeys(("true", "yes", "on", "y"), True), **dict.fromkeys(("false", "no", "off", "n"), False)}
"""As YAML 1.1 has them, in lower case: the toolkit's reader takes all of them."""
SECONDS_PER_UNIT = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
"""Of Go's time.ParseDuration."""

_GO_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{0,9})?(?:h|ms|m|s|us|µs|ns))+")
_PART = re.compile(r"([0-9.]+)(h|ms|m|s|us|µs|ns)")


@dataclass(frozen=True, slots=True)
class Section:
    """The keys of one mapping; `path` is its own ("" for the top), `where` the file and line of its name. Keys that are absent or null are
    as good as not given. One complaint a key: what follows from a mistake is none of its own."""

    path: str
    file: str
    where: str
    nodes: dict[str, yaml_lines.Node]
    mistakes: list[Mistake]
    places: dict[str, str]

    @classmethod
    def top(cls, node: yaml_lines.Node, file: str, known: tuple[str, ...], mistakes: list[Mistake], places: dict[str, str]) -> "Section":
        """The whole file, which has these keys; mistakes, and places by path, go where the caller says."""
        return cls("", file, f"{file}:{node.line}", {}, mistakes, places).filled_by(node, known)

    def filled_by(self, node: yaml_lines.Node, known: tuple[str, ...] | None) -> "Section":
        """This section with the node's keys. `known` None: any key will do, or the reader asks `only` later."""
        if isinstance(node, yaml_lines.Scalar) and node.null:
            return self
        if not isinstance(node, yaml_lines.Mapping):
            self.complain("", f"expected a mapping, got {_got(node)}")
            return self
        for key, value in node.entries[:KEYS_MAX]:
            self._take(key, value)
        if known is not None:
            self.only(known)
        return self

    def _take(self, key: yaml_lines.Node, value: yaml_lines.Node) -> None:
        where = f"{self.file}:{key.line}"
        if not isinstance(key, yaml_lines.Scalar):
            self.mistakes.append(Mistake(self.path or self.file, f"expected a name as key, got {_got(key)}", where))
            return
        here = self._here(key.text)
        if key.text in self.nodes:
            self.mistakes.append(Mistake(here, f"given twice, first in {self.places[here]}", where))
            return
        self.nodes[key.text] = value
        self.places[here] = where

    def only(self, known: Iterable[str]) -> None:
        """Complain of every key that is none of these."""
        names = tuple(known)
        for name in [name for name in self.nodes if name not in names]:
            near = get_close_matches(name[:NAME_MAX], names, 1)
            hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(names)}"
            self.complain(name, f"unknown key; {hint}")

    def has(self, name: str) -> bool:
        """Whether the key is there and not null."""
        node = self.nodes.get(name)
        return node is not None and not (isinstance(node, yaml_lines.Scalar) and node.null)

    def complain(self, name: str, problem: str) -> None:
        """Note a mistake of that key, in the section's own line where the key is absent; of the section itself for no name."""
        here = self._here(name)
        if all(mistake.path != here for mistake in self.mistakes):
            self.mistakes.append(Mistake(here, problem, self.places.get(here, self.where)))

    def section(self, name: str, known: tuple[str, ...] | None) -> "Section":
        """The mapping of that key; one without keys where it is absent."""
        here = self._here(name)
        made = Section(here, self.file, self.places.get(here, self.where), {}, self.mistakes, self.places)
        return made.filled_by(self.nodes[name], known) if name in self.nodes else made

    def text(self, name: str) -> str:
        """The scalar; "" where it is absent."""
        if not self.has(name):
            return ""
        node = self.nodes[name]
        if isinstance(node, yaml_lines.Scalar):
            return node.text
        self.complain(name, f"expected a text, got {_got(node)}")
        return ""

    def texts(self, name: str) -> tuple[str, ...] | None:
        """The list of scalars; None where it is absent."""
        if not self.has(name):
            return None
        node = self.nodes[name]
        items = node.items if isinstance(node, yaml_lines.Sequence) else (node,)
        if not isinstance(node, yaml_lines.Sequence) or not all(isinstance(item, yaml_lines.Scalar) for item in items):
            self.complain(name, "expected a list of texts such as [a, b]")
            return ()
        return tuple(item.text for item in items if isinstance(item, yaml_lines.Scalar))

    def boolean(self, name: str, *, default: bool) -> bool:
        """True or false; the default where it is absent."""
        text = self.text(name)
        if text == "":
            return default
        if text.lower() not in BOOLEANS:
            self.complain(name, f"expected true or false, got {shown(text)}")
        return BOOLEANS.get(text.lower(), default)

    def whole(self, name: str) -> int:
        """A whole number from 0; 0 where it is absent."""
        text = self.text(name)
        if text and not re.fullmatch(r"[0-9]{1,9}", text):
            self.complain(name, f"expected a whole number from 0, got {shown(text)}")
            return 0
        return int(text or "0")

    def go_duration(self, name: str) -> float:
        """Seconds of a duration as Go writes it (`1s`, `1m30s`, `100ms`); 0 where it is absent."""
        text = self.text(name)
        if text in ("", "0"):
            return 0.0
        if not _GO_DURATION.fullmatch(text):
            self.complain(name, f"expected a duration such as 1s or 0, got {shown(text)}")
            return 0.0
        return sum(float(count) * SECONDS_PER_UNIT[unit] for count, unit in _PART.findall(text))

    def _here(self, name: str) -> str:
        short = escaped(name[:NAME_MAX]) + ("…" if len(name) > NAME_MAX else "")
        return f"{self.path}.{short}" if self.path and short else self.path or short or self.file


def _got(node: yaml_lines.Node) -> str:
    """What stands there instead; never the text itself, which may be a secret."""
    if isinstance(node, yaml_lines.Scalar):
        return "a text" if node.text else "nothing"
    return "a list" if isinstance(node, yaml_lines.Sequence) else "a mapping"
