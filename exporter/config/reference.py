"""docs/configuration.md, written from the schema: each option with its unit, default, reason, flag and variable. Pure."""

from exporter.config.dump import dump
from exporter.config.options import OPTIONS, OTHER_VARIABLES, Option
from exporter.config.schema import Config

HEAD = """\
# Configuration

<!-- Written by exporter/config/reference.py from exporter/config/schema.py; do not edit. -->

`fabric-exporter` runs without any configuration. What you want otherwise you give in a YAML file (`--config FILE`), in environment
variables or as flags; a flag beats a variable, a variable beats the file, the file beats the default.

- `fabric-exporter config check FILE` says `ok`, or each mistake with its line and the nearest known name, and exits with 3.
- `fabric-exporter config show --origin` prints every value and where it came from.

An unknown key is an error, never ignored. A key without a value leaves the default. Anchors, aliases and tags are refused.
Durations are whole numbers with a unit: `100ms`, `5s`, `1m30s`, `2h`, `7d`. In a variable, a list is separated by commas, and an empty
variable counts as unset. Patterns are Python regular expressions that must match the whole name.
"""


def reference_markdown() -> str:
    """The page as Markdown, ending in a newline."""
    parts = [HEAD, *(f"## `{option.path}`\n\n{option.doc}\n\n{_facts(option)}\n" for option in OPTIONS.values())]
    others = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in OTHER_VARIABLES.items())
    parts.append(f"## Other variables\n\n| variable | meaning |\n|---|---|\n{others}\n")
    parts.append(f"## All defaults as a file\n\n```yaml\n{dump(Config())}```\n")
    return "\n".join(parts)


def _facts(option: Option) -> str:
    unit = f" ({option.kind.unit})" if option.kind.unit not in ("", option.kind.name) else ""
    facts = [f"- kind: {option.kind.name}{unit}", f"- default: `{option.kind.show_value(option.default)}`. {option.reason}"]
    if option.spelling.flag:
        facts.append(f"- flag: `{option.spelling.flag}`{', repeatable' if option.kind.many else ''}")
    facts.append("- only as a flag" if option.spelling.flag_only else f"- variable: `{option.variable}`")
    return "\n".join(facts)
