"""Golden pages: each machine's exact /metrics. `python -m tests.golden` shows what differs, `--update` writes it (then read the diff)."""

import difflib
import sys

from tests.machine import MACHINES, machine, machine_names


def golden_page(name: str) -> str:
    """What the page of that machine is now, after 20 s of virtual time."""
    return machine(name).run(20).page


def main(argv: list[str]) -> int:
    """Compare or update; 1 if anything differs."""
    differs = False
    for name in machine_names():
        path = MACHINES / f"{name}.prom"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = golden_page(name)
        if before == after:
            continue
        differs = True
        if "--update" in argv:
            path.write_text(after, encoding="utf-8")
            print(f"{path.name}: written")
        else:
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            sys.stdout.writelines(difflib.unified_diff(old, new, f"{name}.prom", "now", n=0))
    return int(differs and "--update" not in argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
