"""A scenario's tree of keys and values, taken apart: mappings, lists, numbers, durations, words; each mistake with its place and line.

Knows YAML nodes and kinds of value; knows no key of a scenario.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite

from exporter.config import yaml_lines
from exporter.config.duration import MS_PER_S, MS_PER_UNIT, parse_duration
from exporter.config.mistake import Mistake
from exporter.config.yaml_lines import Scalar, Sequence
from exporter.model.quoted import shown
from exporter.simulator.fault_checks import near
from exporter.simulator.fault_kinds import Value

LISTED_MAX = 1000
"""Entries of one list."""
_DECIMAL = re.compile(r"([0-9]{1,9}\.[0-9]{1,6})(ms|s|m|h|d|w)")
Keys = Mapping[str, yaml_lines.Node]


class ScenarioTree:
    """Takes a tree apart and collects its `mistakes`; `name` is what they call the file."""

    def __init__(self, name: str) -> None:
        self.mistakes: list[Mistake] = []
        self._name = name

    def word(self, node: yaml_lines.Node, path: str, key: str, known: Iterable[str], later: Mapping[str, str] = {}) -> str | None:
        """One of these words at a key of the node; None, with a mistake, for none."""
        entry = _at(node, key)
        if entry is None:
            self.add(path, f"needs {key}", node)
            return None
        text = self.text(entry, f"{path}.{key}")
        if text in known:
            return text
        if text:
            why = later.get(text) or f"there is no {key} {shown(text)}{near(text, known)}"
            self.add(f"{path}.{key}", f"{text}: {why}" if text in later else why, entry)
        return None

    def keys(self, node: yaml_lines.Node, path: str, known: Iterable[str], required: Iterable[str]) -> Keys:
        """A mapping's entries by key; mistakes for strangers, for those given twice and for those that lack."""
        if not isinstance(node, yaml_lines.Mapping):
            self.add(path or self._name, f"expected a mapping with {', '.join(known)}", node)
            return {}
        found: dict[str, yaml_lines.Node] = {}
        for key, value in node.entries:
            word = key.text if isinstance(key, Scalar) else ""
            if word not in known:
                self.add(joined(path, word), f"unknown key{near(word, known)}", key)
            elif word in found:
                self.add(joined(path, word), "given twice", key)
            else:
                found[word] = value
        for word in required:
            if word not in found:
                self.add(path or self._name, f"needs {word}", node)
        return found

    def names(self, node: yaml_lines.Node) -> frozenset[str]:
        """The keys of a mapping, right or wrong; none of anything else."""
        entries = node.entries if isinstance(node, yaml_lines.Mapping) else ()
        return frozenset(key.text for key, _ in entries if isinstance(key, Scalar))

    def items(self, keys: Keys, key: str) -> list[tuple[yaml_lines.Node, str]]:
        """The items of a list and how mistakes call them."""
        node = keys.get(key)
        if node is None or (isinstance(node, Scalar) and node.null):
            return []
        if not isinstance(node, Sequence):
            self.add(key, "expected a list", node)
            return []
        if len(node.items) > LISTED_MAX:
            self.add(key, f"has more than {LISTED_MAX} entries", node)
        return [(item, f"{key}[{number}]") for number, item in enumerate(node.items[:LISTED_MAX])]

    def number(self, keys: Keys, key: str, path: str, value: Value) -> float | int | None:
        """The number at a key; None for no such key, and with a mistake for anything else."""
        text = self.text_at(keys, key, path)
        found = _number_of(text, value) if text else None
        if text and found is None:
            self.add(joined(path, key), f"expected {value.value}, got {shown(text)}", keys[key])
        return found

    def duration(self, keys: Keys, key: str, path: str) -> float | None:
        """Seconds; None for no such key, and with a mistake for anything else."""
        text = self.text_at(keys, key, path)
        if not text:
            return None
        try:
            return _seconds(text)
        except ValueError as error:
            self.add(joined(path, key), str(error), keys[key])
            return None

    def text_at(self, keys: Keys, key: str, path: str = "") -> str:
        """The text at a key; "" for no such key, and with a mistake for anything else."""
        return self.text(keys[key], joined(path, key)) if key in keys else ""

    def text(self, node: yaml_lines.Node, path: str) -> str:
        """The scalar's text; "" with a mistake for anything else."""
        if isinstance(node, Scalar) and node.text and not node.null:
            return node.text
        self.add(path, "expected a text", node)
        return ""

    def add(self, path: str, problem: str, node: yaml_lines.Node) -> None:
        """One more mistake, in the line of that node."""
        self.mistakes.append(Mistake(path, problem, f"{self._name}:{node.line}"))


def _at(node: yaml_lines.Node, key: str) -> yaml_lines.Node | None:
    if not isinstance(node, yaml_lines.Mapping):
        return None
    return next((value for name, value in node.entries if isinstance(name, Scalar) and name.text == key), None)


def joined(path: str, key: str) -> str:
    """How mistakes call a key of what they call `path`."""
    return f"{path}.{key}" if path else key


def _seconds(text: str) -> float:
    """A duration as the configuration has it, or a decimal number and one unit: `1.2s`. Raises ValueError."""
    match = _DECIMAL.fullmatch(text)
    return float(match[1]) * MS_PER_UNIT[match[2]] / MS_PER_S if match else parse_duration(text)


def _number_of(text: str, value: Value) -> float | int | None:
    """The number of that kind that a text says; None if it says none."""
    if value is Value.STEP:
        try:
            return (-1 if text.startswith("-") else 1) * _seconds(text.lstrip("+-"))
        except ValueError:
            return None
    try:
        number = float(text)
    except ValueError:
        return None
    whole = int(number) if isfinite(number) and number == int(number) else None
    if value is Value.COUNT:
        return whole if whole is not None and whole >= 1 else None
    low, high = {Value.RATIO: (0.0, 1.0), Value.FACTOR: (1.0, 1000.0)}.get(value, (0.0, 2.0**64))
    return (whole if whole is not None else number) if isfinite(number) and low <= number <= high else None
