"""promtool: what Prometheus' own linter has to say about a page."""

import subprocess

from tests.requires import need

INSTALL = "apt-get install prometheus"


def lint_metrics(text: str) -> list[str]:
    """The lines `promtool check metrics` prints about a page in text format 0.0.4; empty if it has nothing to say.

    It has nothing to say about a series that stands twice within its family; a test of ours must look for that.
    Skips the test where promtool is not installed.
    """
    argv = [need("promtool", INSTALL), "check", "metrics"]
    done = subprocess.run(argv, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines if lines or done.returncode == 0 else [f"promtool ended with {done.returncode} and said nothing"]
