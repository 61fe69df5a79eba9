"""Write what ships beside the exporter into a folder: Grafana boards, Prometheus rules, Grafana alerts. Files of the same name are
replaced, others are left alone.

Boards are imported in Grafana (Dashboards, New, Import) or provisioned from the folder; rule files (`*.rules.yaml`) go under rule_files in
prometheus.yml; Grafana alerts are provisioned from /etc/grafana/provisioning/alerting.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import exporter
from exporter.cli.exits import Exit
from exporter.config.mistake import Mistake, error_of

KINDS: Mapping[str, tuple[str, ...]] = {
    "dashboards": ("dashboards",),
    "prometheus-rules": ("prometheus", "kubernetes"),
    "grafana-alerts": ("grafana",),
}
"""What `--only` takes → the folders of it; the same rules are a file for Prometheus and a manifest for its operator."""
_PACKAGE = Path(exporter.__file__).parent
FOLDERS = (_PACKAGE / "generated", _PACKAGE.parent / "dashboards" / "generated")
"""Where the files are: within an installed wheel (pyproject.toml puts them there), else beside the package in a clone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`assets export --dir D [--only KIND]`."""
    actions = parser.add_subparsers(dest="action", metavar="export", required=True)
    export = actions.add_parser("export", help="write the files", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    export.add_argument("--dir", required=True, metavar="DIR", help="where to; made if it is not there")
    export.add_argument("--only", choices=tuple(KINDS), help="only these; default: all")


def run(args: argparse.Namespace) -> int:
    """Write them and print the path of each. Raises ConfigError for a folder that cannot be written, or if there is nothing to write."""
    tops = KINDS[args.only] if args.only is not None else None
    files = {path: source for path, source in shipped().items() if tops is None or path.parts[0] in tops}
    if not files:
        raise error_of((Mistake("--only", f"this version ships no {args.only}"),))
    for path, source in files.items():
        target = Path(args.dir) / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        except OSError as error:
            raise error_of((Mistake("--dir", f"cannot write {target}: {error.strerror}"),)) from error
        print(target)
    return Exit.OK


def shipped() -> Mapping[Path, Path]:
    """Path below the folder of its kind → file, in the order of their names. Raises ConfigError where the package came without them."""
    for folder in FOLDERS:
        tops = [folder / top for kinds in KINDS.values() for top in kinds]
        if files := sorted(path for top in tops for path in top.rglob("*") if path.is_file()):
            return {path.relative_to(folder): path for path in files}
    places = " and ".join(map(str, FOLDERS))
    raise error_of((Mistake("assets", f"this installation has no boards and rules (looked in {places}): install the project's wheel"),))
