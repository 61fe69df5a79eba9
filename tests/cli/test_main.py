"""The command as a person meets it: help, mistakes in one line, exit statuses, no traceback."""

import errno
import re
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from exporter import __version__
from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.verbs import VERBS, Verb


def raising(error: BaseException) -> Callable[[object], int]:
    def run(args: object) -> int:
        raise error

    return run


def no_arguments(parser: object) -> None:
    """The verb takes none."""


def add_verb(monkeypatch: pytest.MonkeyPatch, run: Callable[[object], int]) -> None:
    """A further verb `trouble` in the table, whose module is given here instead of imported."""
    module = ModuleType("trouble")
    module.__dict__.update(add_arguments=no_arguments, run=run)
    monkeypatch.setitem(sys.modules, "trouble", module)
    monkeypatch.setitem(VERBS, "trouble", Verb("trouble", "for a test"))  # type: ignore[arg-type]


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_verb(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its one line, without importing any of them."""
    assert main([flag]) == Exit.OK

    out = capsys.readouterr().out
    assert all(name in out and verb.help in out for name, verb in VERBS.items())


def test_no_arguments_is_help_and_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that forgot the verb must not pass."""
    assert main([]) == Exit.USAGE
    assert capsys.readouterr().out.startswith("usage: fabric-exporter COMMAND")


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Name and version."""
    assert main(["--version"]) == Exit.OK
    assert capsys.readouterr().out == f"fabric-exporter {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_every_verb_answers_help_and_version(verb: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both everywhere; a % in a help text would end in a traceback here."""
    assert main([verb, flag]) == Exit.OK
    assert "fabric-exporter" in capsys.readouterr().out


@pytest.mark.parametrize(("argv", "line"), [
    (["scrap"], 'fabric-exporter: unknown command "scrap"; did you mean scrape?'),
    (["--log.level", "debug"], "fabric-exporter: a command comes first, as in fabric-exporter run --log.level; see fabric-exporter --help"),
    (["config", "show", "--log.levl=x"],
     "fabric-exporter config: unknown option --log.levl; did you mean --log.level? (fabric-exporter config --help)"),
    (["metrics", "extra"], "fabric-exporter metrics: unknown argument extra (fabric-exporter metrics --help)"),
    (["config"], "fabric-exporter config: the following arguments are required: check|show (fabric-exporter config --help)"),
])  # fmt: skip
def test_mistake_on_the_command_line_is_one_line(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was wrong and what was probably meant; exit 2."""
    assert main(argv) == Exit.USAGE
    assert capsys.readouterr().err == line + "\n"


def test_flags_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    """An abbreviation that works today is ambiguous after the next option."""
    assert main(["config", "show", "--orig"]) == Exit.USAGE
    assert "did you mean --origin?" in capsys.readouterr().err


def test_unexpected_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says whose fault it is and how to see more."""
    monkeypatch.delenv("FABRIC_DEBUG", raising=False)
    add_verb(monkeypatch, raising(ValueError("two\nlines")))

    assert main(["trouble"]) == Exit.BUG
    expected = "this is a bug in fabric-exporter (ValueError: two lines); run with FABRIC_DEBUG=1 for the traceback"
    assert capsys.readouterr().err == f"fabric-exporter {__version__}: {expected}\n"


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """For the report of the bug."""
    monkeypatch.setenv("FABRIC_DEBUG", "1")
    add_verb(monkeypatch, raising(ValueError("x")))

    assert main(["trouble"]) == Exit.BUG
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), Exit.INTERRUPTED), (BrokenPipeError(errno.EPIPE, "x"), Exit.PIPE),
                                               (SystemExit(0), Exit.OK)])  # fmt: skip
def test_ends_that_are_nobodys_fault_are_silent(
    error: BaseException, status: Exit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C and `| head` say nothing."""
    add_verb(monkeypatch, raising(error))

    assert main(["trouble"]) == status
    assert capsys.readouterr().err == ""


def test_full_disk_behind_the_output_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`> file` on a full disk is no bug of ours."""
    add_verb(monkeypatch, raising(OSError(errno.ENOSPC, "No space left on device")))

    assert main(["trouble"]) == Exit.OUTPUT
    assert capsys.readouterr().err == "fabric-exporter: standard output cannot be written: No space left on device\n"


def test_exit_statuses_are_those_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts rely on 0 to 5; the help spells them."""
    main(["--help"])

    documented = re.findall(r"\b([0-5]) (?=healthy|a finding|usage|configuration|no supported|partial)", capsys.readouterr().out)
    assert documented == [str(int(status)) for status in Exit if status < Exit.BUG]
