"""Kinds of option: how one scalar's text becomes a value and how the value is written. The schema decides the kind, never the YAML
resolver: `no`, `1:30` and `0123` mean what the option expects, not what YAML 1.1 guesses. Knows no option."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from exporter.config.duration import format_duration, parse_duration
from exporter.model.address import parse_address
from exporter.model.expected_links import expected_links
from exporter.model.expected_ports import expected_port
from exporter.model.link_capability import expected_link
from exporter.model.quoted import escaped, shown

TEXT_MAX = 4096
"""Longest text of an option: PATH_MAX of Linux."""
PATTERN_MAX = 256
"""Longest device pattern: names of devices have at most 63 characters."""

BYTES_PER_UNIT = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_RESOLVED = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""Words that other YAML readers take for something else than text."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an option holds. `parse` turns one scalar into a value, or raises ValueError saying what was expected; `show` is its YAML text.
    `many`: the option is a list of such scalars (a tuple in Python). `unit` is for the reference: what a bare value is counted in."""

    name: str
    parse: Callable[[str], object]
    show: Callable[[object], str] = str
    unit: str = ""
    many: bool = False

    def show_value(self, value: object) -> str:
        """YAML text of the whole value: a scalar, a flow list, or null for None."""
        if value is None:
            return "null"
        if isinstance(value, tuple):
            return "[" + ", ".join(self.show(item) for item in value) + "]"
        return self.show(value)


def list_of(kind: Kind) -> Kind:
    """The kind of a list of such scalars."""
    return replace(kind, name=f"list of {kind.name}s".replace("addresss", "addresses"), many=True)


def show_text(value: object) -> str:
    """A text as a YAML scalar: plain where no reader can take it for anything else, else in double quotes."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _RESOLVED else f'"{escaped(text)}"'


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError(f"expected a text, got {shown(text)}")
    if len(text) > TEXT_MAX:
        raise ValueError(f"a text has at most {TEXT_MAX} characters, got {shown(text)}")
    if any(ord(character) < ord(" ") or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"expected a text without control characters, got {shown(text)}")
    return text


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got {shown(text)}")
    return text == "true"


def _address(text: str) -> str:
    return str(parse_address(_text(text)))


def _pattern(text: str) -> str:
    if len(_text(text)) > PATTERN_MAX:
        raise ValueError(f"a pattern has at most {PATTERN_MAX} characters, got {shown(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "possible nested set" is a typing mistake, not a wish
            re.compile(text)
    except (re.error, Warning, RecursionError, OverflowError) as error:
        raise ValueError(f"expected a regular expression, got {shown(text)}: {error}") from None
    return text


def _expected_link(text: str) -> str:
    pattern, _ = expected_link(_text(text))
    _pattern(pattern)
    return text


def _expected_nvlinks(text: str) -> str:
    pattern, _ = expected_links(_text(text))
    _pattern(pattern)
    return text


def _expected_port(text: str) -> str:
    pattern, _ = expected_port(_text(text))
    _pattern(pattern)
    return text


def _url_path(text: str) -> str:
    if not re.fullmatch(r"(?:/[A-Za-z0-9._~-]+)+", text):
        raise ValueError(f"expected a path such as /metrics, got {shown(text)}")
    if text.startswith(("/-/", "/api/")):
        raise ValueError(f"{shown(text)} belongs to the exporter's own pages (/-/healthy, /-/ready, /api/…)")
    return text


TEXT = Kind("text", _text, show_text)
PATH = Kind("path", _text, show_text)
BOOLEAN = Kind("boolean", _boolean, lambda value: "true" if value else "false")
ADDRESS = Kind("address", _address, show_text)
PATTERN = Kind("pattern", _pattern, show_text)
EXPECTED_LINK = Kind("expected link", _expected_link, show_text)
EXPECTED_NVLINKS = Kind("expected NVLinks", _expected_nvlinks, show_text)
EXPECTED_PORT = Kind("expected port", _expected_port, show_text)
URL_PATH = Kind("URL path", _url_path, show_text)


def duration(least_s: float, most_s: float) -> Kind:
    """A duration within bounds, in seconds."""

    def parse(text: str) -> float:
        value_s = parse_duration(text)
        if not least_s <= value_s <= most_s:
            raise ValueError(f"expected {format_duration(least_s)} to {format_duration(most_s)}, got {text}")
        return value_s

    return Kind("duration", parse, lambda value: format_duration(float(str(value))), "duration")


def size(least_bytes: int, most_bytes: int) -> Kind:
    """A size within bounds, in bytes: a whole number of kB, MB, GB or TB (thousands, as disks are sold)."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,9})(kB|MB|GB|TB)", text)
        value = int(match[1]) * BYTES_PER_UNIT[match[2]] if match else -1
        if not match or not least_bytes <= value <= most_bytes:
            raise ValueError(f"expected a size from {_size_text(least_bytes)} to {_size_text(most_bytes)} such as 512MB, got {shown(text)}")
        return value

    return Kind("size", parse, _size_text, "size")


def _size_text(value: object) -> str:
    """The shortest text that `size` reads back to the same number."""
    unit, unit_bytes = next((unit, one) for unit, one in reversed(BYTES_PER_UNIT.items()) if int(str(value)) % one == 0)
    return f"{int(str(value)) // unit_bytes}{unit}"


def count(least: int, most: int, unit: str) -> Kind:
    """A whole number within bounds, counted in `unit`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}, got {shown(text)}")
        return int(text)

    return Kind("number", parse, str, unit)


def decimal(least: float, most: float) -> Kind:
    """A number within bounds."""

    def parse(text: str) -> float:
        try:
            value = float(text) if re.fullmatch(r"[0-9.]{1,20}(?:[eE][-+]?[0-9]{1,3})?", text) else float("nan")
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ValueError(f"expected a number from {least:g} to {most:g}, got {shown(text)}")
        return value

    return Kind("number", parse, lambda value: f"{float(str(value)):g}")


def choice(*words: str) -> Kind:
    """One of some words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected {', '.join(words[:-1])} or {words[-1]}, got {shown(text)}")
        return text

    return Kind(" | ".join(words), parse, show_text)
