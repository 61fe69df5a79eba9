"""The table of verbs, and the parser of one. A verb's module is imported only when it is used, so that `healthcheck` starts quickly."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

from exporter import __version__
from exporter.cli.exits import Exit

PROG = "fabric-exporter"


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: the module that does it, and one line of help."""

    module: str
    help: str


VERBS: Mapping[str, Verb] = {
    "run": Verb("exporter.cli.run", "the daemon: read the hardware, serve /metrics"),
    "scrape": Verb("exporter.cli.scrape", "read the hardware twice and print what /metrics would show"),
    "check": Verb("exporter.cli.check", "health of this node now, for a person, a Slurm prolog or an init container"),
    "probe": Verb("exporter.cli.probe", "run one short, gated NCCL probe on this node's idle GPUs, or say why not"),
    "topology": Verb("exporter.cli.topology", "how GPUs and NICs are joined, and which NIC serves which GPU"),
    "simulate": Verb("exporter.cli.simulate", "play a scenario on a simulated node in virtual time and judge what is said of its links"),
    "recordings": Verb("exporter.cli.recordings", "what the flight recorder kept: list it, export it, play it through health again"),
    "config": Verb("exporter.cli.config", "check the configuration, or show each value and where it came from"),
    "metrics": Verb("exporter.cli.metrics", "the reference of every series"),
    "assets": Verb("exporter.cli.assets", "write the boards, rules and alerts that ship with the exporter into a folder"),
    "release": Verb("exporter.cli.release", "ask the running daemon to let go of the GPUs"),
    "resume": Verb("exporter.cli.resume", "ask the running daemon to take the GPUs back"),
    "reload": Verb("exporter.cli.reload", "ask the running daemon to read its configuration again"),
    "maintenance": Verb("exporter.cli.maintenance", "tell the running daemon that somebody works on this node, or does not any more"),
    "healthcheck": Verb("exporter.cli.healthcheck", "ask the running daemon whether it is healthy"),
    "completion": Verb("exporter.cli.completion", "completion script for bash, zsh or fish"),
}


class OneLineParser(argparse.ArgumentParser):
    """argparse, but a mistake is one line instead of a usage block; argparse offers no other seam for that than `error`."""

    def error(self, message: str) -> NoReturn:
        """One line on stderr, exit 2."""
        self.exit(Exit.USAGE, f"{self.prog}: {message} ({self.prog} --help)\n")


def parser_of(name: str) -> tuple[OneLineParser, Callable[[argparse.Namespace], int]]:
    """The verb's parser and what runs it. Imports the verb's module. Raises KeyError for no verb."""
    verb = VERBS[name]
    module = import_module(verb.module)
    parser = OneLineParser(prog=f"{PROG} {name}", description=module.__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--version", action="version", version=f"{PROG} {__version__}")
    module.add_arguments(parser)
    return parser, module.run


def parse_verb(name: str, argv: list[str]) -> tuple[argparse.Namespace, Callable[[argparse.Namespace], int]]:
    """The verb's arguments and what runs it. SystemExit for --help, --version (0) and mistakes (2), each in one line."""
    parser, run = parser_of(name)
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        word = unknown[0].partition("=")[0]
        near = get_close_matches(word, {option for leaf in leaves(parser) for option in options_of(leaf)}, 1)
        kind = "option" if word.startswith("-") else "argument"
        parser.error(f"unknown {kind} {word}" + (f"; did you mean {near[0]}?" if near else ""))
    return args, run


def children(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Parsers of a parser's own sub-commands by name; empty if it has none."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no public way to walk a parser
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and all below it."""
    yield parser
    for child in children(parser).values():
        yield from leaves(child)


def options_of(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """The long options a parser knows, sorted."""
    return tuple(sorted(text for action in parser._actions for text in action.option_strings if text.startswith("--")))  # noqa: SLF001
