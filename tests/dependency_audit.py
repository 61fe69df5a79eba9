"""`make audit`: known vulnerabilities of the packages that ship, by pip-audit and PyPI's advisory database.

What ships is the closure of the package's own requirements and of every extra but the developers'. A vulnerability there fails; one in a
developer's tool is only told. Where the database cannot be reached nothing fails, and the last line says that nothing was looked up.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, metadata, requires
from typing import Any, NamedTuple

PACKAGE = "fabric-exporter"
DEVELOPERS = frozenset({"dev", "dev-full"})


class Audit(NamedTuple):
    """What came out: lines for a person, and whether a package that ships is vulnerable."""

    lines: tuple[str, ...]
    has_failed: bool


def main() -> int:
    """0, or 1 if a package that ships is vulnerable or pip-audit could not be run."""
    argv = [sys.executable, "-m", "pip_audit", "--local", "--format=json", "--progress-spinner=off"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    if not done.stdout.strip():
        print(f"nothing was audited: {(done.stderr.strip().splitlines() or ['pip-audit said nothing'])[-1][:200]}")
        return 0 if "ConnectionError" in done.stderr or "ServiceError" in done.stderr else 1
    audit = judge(json.loads(done.stdout)["dependencies"], shipped())
    print("\n".join(audit.lines))
    return int(audit.has_failed)


def judge(dependencies: Iterable[Mapping[str, Any]], ships: frozenset[str]) -> Audit:
    """By pip-audit's own JSON: each dependency has a name and `vulns`, or a `skip_reason`."""
    lines: list[str] = []
    looked_up, has_failed = 0, False
    for one in dependencies:
        name = normal(one["name"])
        looked_up += name in ships and "vulns" in one
        for vulnerability in one.get("vulns", ()):
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
            where = "ships" if name in ships else "a developer's tool"
            lines.append(f"{name} {one['version']} ({where}): {vulnerability['id']}, fixed in {fixed}")
            has_failed = has_failed or name in ships
    summary = (
        f"{looked_up} of {len(ships)} packages that ship were looked up"
        if looked_up
        else "nothing was audited: no package is in the database"
    )
    return Audit((*lines, summary), has_failed)


def shipped() -> frozenset[str]:
    """Names of the packages that a user can get: by the requirements of this package and of what they require, as far as installed."""
    extras = [extra for extra in metadata(PACKAGE).get_all("Provides-Extra") or () if extra not in DEVELOPERS]
    found: set[str] = set()
    waiting = [name for name, extra in _requirements(PACKAGE) if extra is None or extra in extras]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [below for below, extra in _requirements(name) if extra is None]
    return frozenset(found)


def normal(name: str) -> str:
    """As PEP 503 compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(name: str) -> list[tuple[str, str | None]]:
    """Each required package and the extra that asks for it; none of a package that is not installed."""
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []
    pairs = [(re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)) for line in lines]
    return [(normal(named[0]), extra[1] if extra else None) for named, extra in pairs if named]


if __name__ == "__main__":
    sys.exit(main())
