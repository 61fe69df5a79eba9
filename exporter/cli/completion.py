"""Completion script for bash, zsh or fish, generated from the parsers of all verbs.

bash: source <(fabric-exporter completion bash)      zsh: source <(fabric-exporter completion zsh)
fish: fabric-exporter completion fish | source
"""

import argparse
from collections.abc import Mapping

from exporter.cli.exits import Exit
from exporter.cli.verbs import PROG, VERBS, children, options_of, parser_of

BASH = """\
_fabric_exporter() {{
    local words
    case "$COMP_CWORD ${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}} " in
        "1 "*) words="{verbs}" ;;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _fabric_exporter {prog}
"""
ZSH_HEAD = "autoload -Uz bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> int:
    """0 and the script on stdout."""
    words = words_of_verbs()
    scripts = {"bash": bash, "zsh": lambda found: ZSH_HEAD + bash(found), "fish": fish}
    print(scripts[args.shell](words), end="")
    return Exit.OK


def words_of_verbs() -> Mapping[str, tuple[str, ...]]:
    """What may follow each verb, and each verb with its own sub-command (`config show`). Imports every verb."""
    words: dict[str, tuple[str, ...]] = {}
    for name in VERBS:
        parser, _ = parser_of(name)
        below = children(parser)
        words.update({f"{name} {action}": options_of(child) for action, child in below.items()})
        words[name] = (*below, *_choices(parser), *options_of(parser))
    return words


def bash(words: Mapping[str, tuple[str, ...]]) -> str:
    """A bash function; zsh runs it through bashcompinit. Longer prefixes stand first in `words`."""
    cases = "\n".join(f'        *" {prefix} "*) words="{" ".join(follow)}" ;;' for prefix, follow in words.items())
    return BASH.format(cases=cases, verbs=" ".join((*VERBS, "--help", "--version")), prog=PROG)


def fish(words: Mapping[str, tuple[str, ...]]) -> str:
    """Complete lines of fish's own kind."""
    lines = [f"complete -c {PROG} -n __fish_use_subcommand -f -a {name} -d '{verb.help}'" for name, verb in VERBS.items()]
    for prefix, follow in words.items():
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in prefix.split())
        lines += [f"complete -c {PROG} -n '{seen}' " + (f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}") for word in follow]
    return "\n".join(lines) + "\n"


def _choices(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """Words that a positional argument may be."""
    return tuple(word for action in parser._actions  # noqa: SLF001  # argparse has no public way to walk a parser
                 if not action.option_strings and action.choices and not children(parser) for word in action.choices)  # fmt: skip
