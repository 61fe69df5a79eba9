"""The completion scripts name every verb and every flag, and a real shell accepts them."""

import subprocess

import pytest

from exporter.cli.completion import bash, fish, words_of_verbs
from exporter.cli.main import main
from exporter.cli.verbs import VERBS
from tests.requires import need

COMPLETE = 'COMP_WORDS=({words}); COMP_CWORD={index}; _fabric_exporter; echo "${{COMPREPLY[@]}}"'


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_names_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One script a shell."""
    assert main(["completion", shell]) == 0

    out = capsys.readouterr().out
    assert [verb for verb in VERBS if verb not in out] == []


def test_scripts_know_the_flags_of_a_sub_command() -> None:
    """`config show --origin`."""
    words = words_of_verbs()

    assert "--origin" in words["config show"]
    assert "-l origin" in fish(words)


@pytest.mark.parametrize(("words", "index", "expected"), [
    ("fabric-exporter hea", 1, "healthcheck"), ("fabric-exporter healthcheck --time", 2, "--timeout"),
    ("fabric-exporter config sh", 2, "show"), ("fabric-exporter config show --ori", 3, "--origin"),
    ("fabric-exporter completion z", 2, "zsh"),
])  # fmt: skip
def test_bash_completes(words: str, index: int, expected: str) -> None:
    """In a real bash."""
    shell = need("bash", "apt-get install bash")
    script = bash(words_of_verbs()) + COMPLETE.format(words=words, index=index)

    done = subprocess.run([shell, "--norc", "-c", script], capture_output=True, text=True, check=True, timeout=30)

    assert done.stdout.strip() == expected
