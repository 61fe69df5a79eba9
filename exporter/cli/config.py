"""Check the configuration (file, variables, flags and the web configuration file together), or show each value and where it came from."""

import argparse

from exporter.cli.exits import Exit
from exporter.cli.options import add_options, loaded
from exporter.config.dump import dump


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`config check [FILE]` and `config show [FILE] [--origin]`, both with the shared flags."""
    actions = parser.add_subparsers(dest="action", metavar="check|show", required=True)
    check = actions.add_parser("check", help="say ok, or each mistake with its line", description="Say ok, or each mistake in one line.",
                               allow_abbrev=False)  # fmt: skip
    show = actions.add_parser("show", help="print every value as YAML", description="Print every value as YAML.", allow_abbrev=False)
    show.add_argument("--origin", action="store_true", help="say behind each value where it came from")
    for action in (check, show):
        action.add_argument("file", nargs="?", metavar="FILE", help="the file, instead of --config")
        add_options(action)


def run(args: argparse.Namespace) -> int:
    """0 and the answer on stdout. Raises ConfigError with all mistakes, which main prints with exit 3."""
    if args.file:
        args.config = args.file
    found = loaded(args)
    if args.action == "check" and found.config.web.config_file is not None:
        from exporter.cli.web_file import WebFile  # noqa: PLC0415  # TLS and passwords, which most daemons go without

        WebFile(found.config.web.config_file)
    if args.action == "check":
        print(f"{found.file}: ok" if found.file else "ok (no file: defaults, variables and flags)")
    else:
        print(dump(found.config, found.origins if args.origin else None), end="")
    return Exit.OK
