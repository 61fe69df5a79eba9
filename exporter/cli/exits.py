"""What the command's exit status means. Knows no verb."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit status. 0–5 are answers that scripts may rely on (interface.md); the rest say why there is none."""

    OK = 0
    """Healthy, or done."""
    FINDING = 1
    """The answer is bad news: not healthy."""
    USAGE = 2
    """The command line is wrong."""
    CONFIGURATION = 3
    """The configuration is wrong, or names what this machine refuses."""
    NO_HARDWARE = 4
    """No supported hardware found."""
    PARTIAL = 5
    """Something could not be read."""
    BUG = 70
    """An error of this program (EX_SOFTWARE of sysexits)."""
    OUTPUT = 74
    """Standard output could not be written, say for a full disk (EX_IOERR of sysexits)."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report SIGINT."""
    PIPE = 141
    """The reader of our output went away, as shells report SIGPIPE."""
