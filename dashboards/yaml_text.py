"""YAML as a person would write it: long texts as blocks, keys in the given order, a head that says where the file comes from."""

from collections.abc import Iterable
from typing import Any

import yaml

WIDTH = 1_000_000
"""No line is folded: an expression stays one string to grep for."""


class _Dumper(yaml.SafeDumper):
    """PyYAML's, with texts of several lines as blocks and lists indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's own
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(document: Any, head: Iterable[str]) -> str:
    """The document with `head` as comment lines above it. Same document, same bytes."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    return comment + yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
