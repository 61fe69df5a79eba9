"""Write the rule files and runbook pages: `python -m dashboards.rules`. Files of alerts that are no more are removed."""

import sys
from pathlib import Path

from dashboards.rules.files import files

ROOT = Path(__file__).parents[2]


def write(root: Path = ROOT) -> None:
    """Write every file below that folder; each aside first and moved, so that a fault leaves the old one whole."""
    wanted = files()
    for name, text in wanted.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(path.name + ".new")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    for old in (root / "docs/runbooks").glob("*.md"):
        if f"docs/runbooks/{old.name}" not in wanted:
            old.unlink()


if __name__ == "__main__":
    write()
    sys.exit(0)
