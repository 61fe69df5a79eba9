"""Which code a result was made by: a digest of everything that decides what becomes of a node-day. Remarks and docstrings do not count.

Knows files; knows no rule.
"""

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECIDES = ("catalog", "config", "model", "runtime", "signals", "simulator", "sources")
"""Folders of the package; what serves, prints and draws decides nothing."""
ALSO = ("cli/compose.py", "cli/gpus.py", "cli/health.py", "cli/memory.py", "cli/virtual_daemon.py", "cli/virtual_run.py")
DAYS = ("day.py", "hours.py", "noise.py", "playing.py", "upkeep.py")
"""Of this folder: what makes the days and counts."""


@lru_cache(maxsize=1)
def digest() -> str:
    """Twelve hexadecimal digits of the code as it lies on disk when a process first asks."""
    package = ROOT / "exporter"
    files = [file for folder in DECIDES for file in (package / folder).rglob("*.py")]
    files += [*(package / name for name in ALSO), *(Path(__file__).with_name(name) for name in DAYS)]
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(ROOT)}\n{bare(file.read_text(encoding='utf-8'))}\n".encode())
    return found.hexdigest()[:12]


def bare(text: str) -> str:
    """What a module does, without remarks, docstrings and layout. Raises SyntaxError."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_remark(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_remark(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
