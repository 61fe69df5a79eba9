"""What the tests' own programs take on their command lines."""

import argparse
from collections.abc import Callable


def counted(most: int) -> Callable[[str], int]:
    """Reads a whole number from 1 to `most`. Raises ArgumentTypeError for anything else."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
            raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
        return int(text)

    return read
