"""Compiles the stand-in libnvidia-ml.so.1 once per state of its sources, header and flags. Knows no scenario."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compiled import absent_of, forget_others
from tests.nvml_library.header import header_path
from tests.requires import need

SONAME = "libnvidia-ml.so.1"
SOURCES = Path(__file__).parent
CACHE = SOURCES / "__pycache__"
"""Beside Python's own: ignored by git, swept by `make clean`."""
FLAGS = (
    *("-std=gnu11", "-D_GNU_SOURCE", "-DNVML_NO_UNVERSIONED_FUNC_DEFS"),
    *("-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread", f"-Wl,-soname,{SONAME}"),
)

_EXPORTED = re.compile(r"^(?:nvmlReturn_t|const char \*)\s*(nvml\w+)\(|^(?:TEXT|NUMBER)\((nvml\w+),", re.MULTILINE)


def sources() -> list[Path]:
    """The C files."""
    return sorted(SOURCES.glob("*.c"))


def exported() -> frozenset[str]:
    """Names of the functions that the whole library has."""
    texts = (path.read_text(encoding="utf-8") for path in sources())
    return frozenset(match[1] or match[2] for text in texts for match in _EXPORTED.finditer(text))


def build(without: Iterable[str] = ()) -> Path:
    """The library, compiled if it is not yet; the functions of `without` are really absent, as in an older driver. ValueError for a
    function that it never had; the test skips without a compiler or nvml.h."""
    return _built(absent_of(without, exported()))


@cache
def _built(absent: tuple[str, ...]) -> Path:
    compiler = need("cc", "apt-get install gcc libc6-dev")
    target = CACHE / f"nvml-{_fingerprint(absent)}" / SONAME
    if target.exists():
        os.utime(target.parent)  # in use: not to be forgotten by whoever builds the next variant
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent) as aside:
            _compile(compiler, absent, Path(aside))
            os.replace(Path(aside) / SONAME, target)
        forget_others(CACHE, "nvml-*", keep=60)
    return target


def _fingerprint(absent: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((FLAGS, absent)).encode())
    for path in (*sources(), *sorted(SOURCES.glob("*.h")), header_path()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(compiler: str, absent: tuple[str, ...], folder: Path) -> None:
    """A linker's version script exports what begins with nvml, but for what is absent: an exact name goes before a pattern."""
    script = folder / "exports.map"
    script.write_text(f"{{ global: nvml*; local: {' '.join(f'{name};' for name in absent)} *; }};\n", encoding="utf-8")
    argv = [compiler, *FLAGS, f"-Wl,--version-script={script}", "-isystem", str(header_path().parent), "-o", str(folder / SONAME)]
    done = subprocess.run([*argv, *map(str, sources())], capture_output=True, text=True, timeout=100, check=False)
    if done.returncode:
        raise AssertionError(f"the fake NVML library does not compile:\n{done.stderr}")
