"""The chart as Helm renders it: by the `helm` program where the machine has it, else by the same code in PyPI's helm-python-sdk.

A refusal of Helm's is a Refused with its words. Objects come as YAML reads them, in Helm's order.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml

from helm.values_file import CHART
from tests.requires import lacking

Object: TypeAlias = dict[str, Any]
"""One Kubernetes object."""
NAMESPACE = "monitoring"
NOTES = "NOTES.txt"


class RefusedError(Exception):
    """Helm would not render it; the text is Helm's."""


class Release(NamedTuple):
    """What an installation would make: template file → text, and the objects in them."""

    files: Mapping[str, str]
    objects: tuple[Object, ...]

    @property
    def notes(self) -> str:
        """What Helm prints at the end; empty from the `helm` program, which renders none without a cluster."""
        return self.files.get(NOTES, "")

    def of(self, kind: str) -> tuple[Object, ...]:
        """All objects of that kind."""
        return tuple(one for one in self.objects if one["kind"] == kind)

    def one(self, kind: str) -> Object:
        """The object of that kind; there must be just one."""
        (found,) = self.of(kind)
        return found

    @property
    def pod(self) -> Object:
        """The pod's specification."""
        spec = self.one("DaemonSet")["spec"]["template"]["spec"]
        assert isinstance(spec, dict)
        return spec

    @property
    def container(self) -> Object:
        """The exporter's container."""
        (found,) = [container for container in self.pod["containers"] if container["name"] == "fabric-exporter"]
        assert isinstance(found, dict)
        return found


def release(values: Mapping[str, object] | None = None, name: str = "fabric-exporter", namespace: str = NAMESPACE, chart: Path = CHART,
            **how: bool) -> Release:  # fmt: skip
    """Render with these values. `how`: is_upgrade, is_install. Raises RefusedError."""
    files = _by_program(values or {}, name, namespace, chart, **how) if shutil.which("helm") else _by_library(values or {}, name, namespace,
                                                                                                              chart, **how)  # fmt: skip
    return Release(files, tuple(_objects(files)))


def lint(values: Mapping[str, object] | None = None, chart: Path = CHART) -> list[str]:
    """What `helm lint --strict` finds above mere information."""
    from helm_python import chart as library  # noqa: F401  the check for the library comes first

    report = _library().lint(str(chart), values=dict(values or {}), strict=True)
    return [message["error"] for message in report["messages"] if message["severity"] > 1] + list(report["errors"])


@cache
def _library() -> Any:
    try:
        from helm_python import chart as library
    except ImportError:
        lacking("neither helm nor its library is installed: pip install 'fabric-exporter[dev-full]'")
    return library


def _by_library(values: Mapping[str, object], name: str, namespace: str, chart: Path, **how: bool) -> dict[str, str]:
    library = _library()
    from helm_python.errors import HelmError

    try:
        with library.Chart.load(str(chart)) as loaded:
            rendered = loaded.render(values=dict(values), name=name, namespace=namespace, **how)
    except HelmError as error:
        raise RefusedError(str(error)) from None
    return {path.partition("/templates/")[2]: text for path, text in rendered.items()}


def _by_program(values: Mapping[str, object], name: str, namespace: str, chart: Path, **how: bool) -> dict[str, str]:
    argv = [
        "helm",
        "template",
        name,
        str(chart),
        f"--namespace={namespace}",
        "--values=-",
        *(["--is-upgrade"] if how.get("is_upgrade") else []),
    ]
    done = subprocess.run(argv, input=yaml.safe_dump(dict(values)), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)
    files: dict[str, str] = {}
    for document in done.stdout.split("\n---\n"):
        source = document.removeprefix("---\n").partition("# Source: ")[2].partition("\n")[0]
        key = source.partition("/templates/")[2]
        files[key] = f"{files[key]}\n---\n{document}" if key in files else document
    return files


def _objects(files: Mapping[str, str]) -> Iterator[Object]:
    for path, text in files.items():
        if path != NOTES:
            yield from (one for one in yaml.safe_load_all(text) if one is not None)
