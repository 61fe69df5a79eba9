"""The flags' help says what each flag does."""

import argparse

import pytest

from exporter.cli.options import add_options
from exporter.config.options import OPTIONS

SWITCHES = sorted(option.spelling.flag for option in OPTIONS.values() if option.spelling.value)


@pytest.mark.parametrize("flag", SWITCHES)
def test_a_flag_without_a_value_says_what_it_does_and_not_the_contrary(flag: str) -> None:
    """A flag that switches on is told by the option's own words, one that switches off by their negation."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    (words,) = [action.help for action in parser._actions if flag in action.option_strings]
    (option,) = [option for option in OPTIONS.values() if option.spelling.flag == flag]

    assert words is not None
    assert words.startswith("Do not ") is (option.spelling.value == "false")
    assert words.removeprefix("Do not ")[1:20] == option.doc[1:20]
