"""promtool on rule files and their unit tests: what it says, file by file."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.real.promtool import INSTALL
from tests.requires import need

_OUTCOME = re.compile(r"^Unit Testing: +(\S+)\n((?:(?!Unit Testing:).*\n?)*)", re.MULTILINE)


def check_rules(files: Sequence[Path]) -> tuple[int, str]:
    """Exit status and words of `promtool check rules` with every lint on and fatal. Skips the test where promtool is missing."""
    argv = [need("promtool", INSTALL), "check", "rules", "--lint=all", "--lint-fatal", *map(str, files)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def run_tests(files: Sequence[Path]) -> Mapping[str, str]:
    """File name → what promtool found wrong with it; empty if all of its tests passed. Raises ValueError if it said nothing of a file."""
    argv = [need("promtool", INSTALL), "test", "rules", *map(str, files)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=110, check=False)
    said = {Path(match[1]).name: match[2].strip() for match in _OUTCOME.finditer(done.stdout)}
    if unheard := [file.name for file in files if file.name not in said]:
        raise ValueError(f"promtool said nothing of {unheard}: {done.stdout}")
    return {name: "" if words == "SUCCESS" else words for name, words in said.items()}
