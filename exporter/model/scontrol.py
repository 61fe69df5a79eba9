"""What `scontrol show node` prints, as JSON or as Key=Value text: the state of one node, and the reason that somebody gave for it. Pure.

JSON has come since Slurm 23.02, where Slurm was built with it (skypilot-org/skypilot#10310, neilmunday/slurm-mail#128); text always. Knows
no meaning of a state: that is maintenance.py's.
"""

import json
import re
from typing import NamedTuple

from exporter.model.quoted import shown

REASON_MAX = 1000
"""Characters of a reason that are looked at; more than is ever shown of one."""

_BLOCK = re.compile(r"^(?=[ \t]*NodeName=)", re.MULTILINE)
_NAME = re.compile(r"NodeName=(\S+)")
_STATE = re.compile(r"(?:^|\s)State=(\S+)")
_REASON = re.compile(r"(?:^|\s)Reason=([^\n]*)")
_SIGNATURE = re.compile(r".*?\[[^\[\]\s]+@[^\[\]\s]+\]")
"""Who gave the reason, and when, ends it: with `scontrol -o` other keys follow on the line."""


class NodeState(NamedTuple):
    """Words of the state joined by `+` (IDLE+DRAIN); the reason is empty if nobody gave one."""

    state: str
    reason: str = ""


def node_state(raw: bytes, node: str) -> NodeState:
    """Of that node, among all that is printed. What names no node at all (a site's own command) speaks of it. Raises ValueError, in one
    line, for anything that does not say its state."""
    text = raw.decode("utf-8", "replace")
    return _in_json(text, node) if text.lstrip().startswith("{") else _in_text(text, node)


def _in_json(text: str, node: str) -> NodeState:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it begins like JSON and is none") from None
    found = document.get("nodes")
    nodes = [one for one in found if isinstance(one, dict) and one.get("name", node) == node] if isinstance(found, list) else []
    if not nodes:
        raise ValueError(f"it says nothing of a node {shown(node)}")
    words = [*_words(nodes[0].get("state")), *_words(nodes[0].get("state_flags"))]
    if not words:
        raise ValueError(f"it says no state of node {shown(node)}")
    reason = nodes[0].get("reason")
    return NodeState("+".join(words), reason[:REASON_MAX] if isinstance(reason, str) else "")


def _words(value: object) -> list[str]:
    """A list since 23.02; before, slurmrestd's form had one word in `state` and the others in `state_flags`."""
    listed = value if isinstance(value, list) else [value]
    return [word for word in listed if isinstance(word, str) and word]


def _in_text(text: str, node: str) -> NodeState:
    blocks = [block for block in _BLOCK.split(text) if block.strip()]
    named = [(match[1] if (match := _NAME.search(block)) else None, block) for block in blocks]
    block = next((block for name, block in named if name == node), None)
    if block is None and not any(name for name, _ in named):
        block = text
    state = _STATE.search(block) if block is not None else None
    if block is None or state is None:
        raise ValueError(f"it says no State= of node {shown(node)}, but {shown(text.strip())}")
    reason = _REASON.search(block)
    line = reason[1][:REASON_MAX].strip() if reason else ""
    signed = _SIGNATURE.match(line)
    return NodeState(state[1], signed[0] if signed else line)
