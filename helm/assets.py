"""`python -m helm.assets`: writes values.schema.json, the chart's README and its copies of boards and rules; `make assets` runs it."""

import json
from collections.abc import Mapping
from pathlib import Path

from dashboards.shipped import files as boards
from helm.schema import schema_text
from helm.values_file import CHART, Value, read, values

RULES = Path(__file__).parents[1] / "dashboards" / "generated" / "kubernetes" / "fabric-prometheusrule.yaml"
"""Helm reads no file outside the chart, so the chart has a copy."""
HEAD = """\
# fabric-exporter

<!-- Written by `python -m helm.assets` from values.yaml; do not edit. -->

The exporter on every node of a cluster, with what finds and shows it. How to install, what it needs, and trouble by symptom:
[docs/deploy-kubernetes.md](../../docs/deploy-kubernetes.md).

    helm install fabric-exporter helm/fabric-exporter --namespace monitoring --create-namespace --set image.registry=REGISTRY

An unknown key is refused with its path, options of the exporter below `config` too. `null` takes a default away.

## Values

| value | default | |
|---|---|---|
"""


def files() -> Mapping[str, str]:
    """Path in the chart → content."""
    table = values(read())
    return {
        "values.schema.json": schema_text(table),
        "README.md": HEAD + "".join(_row(value) for value in table if not _is_inner(value)),
        "files/prometheusrule.yaml": RULES.read_text(encoding="utf-8"),
        **{f"files/dashboards/{name}": text for name, text in boards().items()},
    }


def write(folder: Path) -> None:
    """Write them all, and take away copies of boards that are no more."""
    made = files()
    for old in folder.glob("files/**/*.*"):
        if str(old.relative_to(folder)) not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _is_inner(value: Value) -> bool:
    """A map whose keys have rows of their own."""
    return isinstance(value.default, dict) and bool(value.default)


def _row(value: Value) -> str:
    default = json.dumps(value.default, ensure_ascii=False)
    return f"| `{'.'.join(value.path)}` | `{default}` | {value.description.replace('|', chr(92) + '|')} |\n"


if __name__ == "__main__":
    write(CHART)
