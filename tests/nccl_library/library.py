"""Compiles the stand-in for libcuda.so.1 and libnccl.so.2 once per state of its sources and flags. Knows no knob."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compiled import absent_of, forget_others
from tests.requires import need

CUDA, NCCL = "libcuda.so.1", "libnccl.so.2"
SOURCES = Path(__file__).parent
CACHE = SOURCES / "__pycache__"
"""Beside Python's own: ignored by git, swept by `make clean`."""
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread")

_EXPORTED = re.compile(r"^(?:int|const char \*)\s*((?:cu[A-Z]|nccl[A-Z])\w+)\(", re.MULTILINE)


def exported() -> frozenset[str]:
    """Names of the functions that the whole library has."""
    return frozenset(name for path in SOURCES.glob("*.c") for name in _EXPORTED.findall(path.read_text(encoding="utf-8")))


def build(without: Iterable[str] = ()) -> Path:
    """The folder with both names of the one library, compiled if it is not yet: the second is a symbolic link, so that whoever loads both
    gets one state. The functions of `without` are really absent, as in an older release. ValueError for a function that it never had; the
    test skips without a compiler."""
    return _built(absent_of(without, exported()))


@cache
def _built(absent: tuple[str, ...]) -> Path:
    compiler = need("cc", "apt-get install gcc libc6-dev")
    target = CACHE / f"nccl-{_fingerprint(absent)}"
    if (target / CUDA).exists():
        os.utime(target)  # in use: not to be forgotten by whoever builds the next variant
        return target
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target) as aside:
        _compile(compiler, absent, Path(aside))
        os.replace(Path(aside) / NCCL, target / NCCL)
        os.symlink(NCCL, Path(aside) / CUDA)
        os.replace(Path(aside) / CUDA, target / CUDA)
    forget_others(CACHE, "nccl-*", keep=20)
    return target


def _fingerprint(absent: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((FLAGS, absent)).encode())
    for path in sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(compiler: str, absent: tuple[str, ...], folder: Path) -> None:
    """A linker's version script exports what begins with cu or nccl, but for what is absent: an exact name goes before a pattern."""
    script = folder / "exports.map"
    script.write_text(f"{{ global: cu*; nccl*; local: {' '.join(f'{name};' for name in absent)} *; }};\n", encoding="utf-8")
    argv = [compiler, *FLAGS, f"-Wl,-soname,{NCCL}", f"-Wl,--version-script={script}", "-o", str(folder / NCCL)]
    sources = sorted(map(str, SOURCES.glob("*.c")))
    done = subprocess.run([*argv, *sources], capture_output=True, text=True, timeout=100, check=False)
    if done.returncode:
        raise AssertionError(f"the fake libcuda and libnccl do not compile:\n{done.stderr}")
