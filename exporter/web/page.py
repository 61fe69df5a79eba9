"""The status page as one self-contained HTML text: what is exported, where, and how each source is doing. Pure; every value escaped.

Knows HTML and the Scene's source statuses; asks for nothing: no script, no font, no image, no other host.
"""

from collections.abc import Iterable
from html import escape

from exporter.model.snapshot import Scene, SourceStatus
from exporter.web.routes import HEALTHY_PATH, READY_PATH

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --dim: #5b6575; --paper: #fbfbfd; --line: #dfe3ea;
  --good: #14734a; --bad: #b3261e; --mark: #8a5a00; --wash: #fff4d6 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --dim: #9aa4b5; --paper: #12151b; --line: #2b313c;
  --good: #5fd39a; --bad: #ff8a80; --mark: #ffd479; --wash: #33290f } }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } a { color: inherit }
.dim { color: var(--dim) } .up { color: var(--good) } .down { color: var(--bad); font-weight: 600 }
.badge { display: inline-block; padding: .1rem .6rem; border: 1px solid var(--mark); border-radius: 1rem;
  color: var(--mark); background: var(--wash); font-weight: 600 }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
td { font-variant-numeric: tabular-nums }
"""
_COLUMNS = ("Source", "State", "Devices", "Looked for", "Last success", "Faults")
_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"))
"""Seconds per unit, coarsest first."""


def landing(scene: Scene, version: str, simulated: bool, now_wall_s: float, telemetry_path: str) -> bytes:  # noqa: FBT001  # a fact of the node, shown as it is
    """The page as UTF-8 HTML. `now_wall_s` (Unix time) dates "last success"; a source that never succeeded says so."""
    badge = (
        '<p><span class="badge" role="status">SIMULATED</span> Every number here is invented; no hardware was read.</p>'
        if simulated
        else ""
    )
    links = [(telemetry_path, "metrics"), (HEALTHY_PATH, "healthy"), (READY_PATH, "ready")]
    items = "".join(f'<li><a href="{escape(path)}">{escape(path)}</a> <span class="dim">{escape(what)}</span></li>' for path, what in links)
    text = f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>fabric-exporter</title>
<style>{_STYLE}</style></head>
<body>
<header><h1>fabric-exporter <span class="dim">{escape(version)}</span></h1>
<p class="dim">The GPU cluster fabric of this node for Prometheus.</p>{badge}</header>
<main><ul>{items}</ul>
<h2>Sources</h2>
{_sources(scene.sources, now_wall_s)}
</main>
</body>
</html>
"""
    return text.encode(errors="replace")


def _sources(sources: Iterable[SourceStatus], now_wall_s: float) -> str:
    rows = "".join(_row(status, now_wall_s) for status in sources)
    if not rows:
        return "<p>No source has reported yet.</p>"
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


_STATES = {True: '<span class="up">up</span>', False: '<span class="down">down</span>', None: '<span class="dim">starting</span>'}


def _row(status: SourceStatus, now_wall_s: float) -> str:
    state = _STATES[status.up]
    if status.hung:
        state += f"; does not answer: {escape(', '.join(status.hung))}"
    last = status.last_success_wall_s
    cells = (
        escape(status.source),
        state,
        "–" if status.devices is None else str(status.devices),
        escape(status.looked_for or "–"),
        "never" if last is None else f"{_age(now_wall_s - last)} ago",
        escape(_faults(status)),
    )
    return f'<tr><th scope="row">{cells[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in cells[1:]) + "</tr>"


def _faults(status: SourceStatus) -> str:
    counted = [f"{reason.value} {count}" for reason, count in sorted(status.faults.items(), key=lambda item: item[0].value) if count]
    return ", ".join(counted) or "none"


def _age(age_s: float) -> str:
    """Seconds as a person says them, rounded down; a clock that was set back gives 0 s."""
    for size_s, unit in _STEPS:
        if age_s >= 2 * size_s:
            return f"{int(age_s // size_s)} {unit}"
    return f"{max(0, int(age_s))} s"
