"""A configuration as YAML that loads to an equal one, with comments where asked: where each value came from. Pure."""

from collections.abc import Iterator, Mapping

from exporter.config.options import OPTIONS
from exporter.config.schema import Config
from exporter.model.quoted import escaped

INDENT = "  "


def dump(config: Config, comments: Mapping[str, str] | None = None) -> str:
    """YAML text of every option, in the order of the schema; `comments` by option path stand behind their value.

    Options that only a flag can give cannot stand in a file: given, they appear as a comment line; else not at all.
    """
    return "\n".join(_lines(config, comments or {})) + "\n"


def _lines(config: Config, comments: Mapping[str, str]) -> Iterator[str]:
    seen: set[tuple[str, ...]] = set()
    for path, option in OPTIONS.items():
        value = option.value(config)
        comment = f"  # {escaped(comments[path])}" if path in comments else ""
        if option.spelling.flag_only:
            if value is not None:
                yield f"# {option.spelling.flag} {option.kind.show_value(value)}{comment}"
            continue
        *sections, name = path.split(".")
        for depth in range(1, len(sections) + 1):
            if tuple(sections[:depth]) not in seen:
                seen.add(tuple(sections[:depth]))
                yield f"{INDENT * (depth - 1)}{sections[depth - 1]}:"
        yield f"{INDENT * len(sections)}{name}: {option.kind.show_value(value)}{comment}"
