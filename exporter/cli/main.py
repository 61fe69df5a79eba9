"""The `fabric-exporter` command: finds the verb, runs it, and turns whatever happens into one line and an exit status.

A person never sees a traceback, except with FABRIC_DEBUG=1.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from exporter import __version__
from exporter.cli.exits import Exit
from exporter.cli.verbs import PROG, VERBS, parse_verb
from exporter.config.mistake import ConfigError
from exporter.model.quoted import shown

DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a write to standard output can fail with; such an error names no file, unlike one from a file that a verb opens."""

HELP = """\
usage: fabric-exporter COMMAND [OPTION]…

Prometheus exporter for the GPU cluster fabric.

commands:
{verbs}

`fabric-exporter COMMAND --help` lists the options of one; `fabric-exporter --version` prints the version.
exit status: 0 healthy or done, 1 a finding, 2 usage, 3 configuration, 4 no supported hardware, 5 partial (something could not be read)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status (cli/exits.py). `argv` without the program's name, None for the process's own. Never raises."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # LANG=C must not turn a dash in a help text into an error
    status = _guarded(lambda: _dispatch(words))
    flushed = _guarded(_flush)
    return status if flushed == Exit.OK else flushed


def _dispatch(words: list[str]) -> int:
    if not words:
        print(_help(), end="")
        return Exit.USAGE
    first, *rest = words
    if first in ("--help", "-h"):
        print(_help(), end="")
        return Exit.OK
    if first == "--version":
        print(f"{PROG} {__version__}")
        return Exit.OK
    if first.startswith("-"):
        return _complain(f"{PROG}: a command comes first, as in {PROG} run {first}; see {PROG} --help", Exit.USAGE)
    if first not in VERBS:
        near = get_close_matches(first, VERBS, 1)
        hint = f"did you mean {near[0]}?" if near else f"commands: {', '.join(VERBS)}"
        return _complain(f"{PROG}: unknown command {shown(first)}; {hint}", Exit.USAGE)
    args, run = parse_verb(first, rest)
    return run(args)


def _guarded(work: Callable[[], int]) -> int:
    """The work's exit status, or that of what went wrong, said in one line."""
    try:
        return work()
    except SystemExit as stop:  # argparse's way to end after --help, --version or a mistake
        return stop.code if isinstance(stop.code, int) else Exit.OK
    except ConfigError as error:
        return _complain(str(error), Exit.CONFIGURATION)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return Exit.PIPE
    except OSError as error:
        return _unwritable(error) if error.errno in DISK_ERRNOS and error.filename is None else _bug(error)
    except Exception as error:  # noqa: BLE001  # the last boundary before the person: a bug is one line, whatever it is
        return _bug(error)


def _flush() -> int:
    """Write out what is buffered now, where its failure can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return Exit.OK


def _discard_output() -> None:
    """Point standard output at nothing, so that the interpreter's own flush at exit has nothing to complain about."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return


def _unwritable(error: OSError) -> int:
    _discard_output()
    return _complain(f"{PROG}: standard output cannot be written: {error.strerror}", Exit.OUTPUT)


def _bug(error: Exception) -> int:
    if os.environ.get("FABRIC_DEBUG") == "1":
        traceback.print_exception(error)
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return _complain(f"{PROG} {__version__}: this is a bug in {PROG} ({words}); run with FABRIC_DEBUG=1 for the traceback", Exit.BUG)


def _complain(line: str, status: Exit) -> int:
    print(line, file=sys.stderr)
    return status


def _help() -> str:
    width = max(map(len, VERBS))
    return HELP.format(verbs="\n".join(f"  {name:<{width}}  {verb.help}" for name, verb in VERBS.items()))
