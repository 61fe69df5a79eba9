"""State and reason of a Slurm node, by what scontrol prints."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.scontrol import NodeState, node_state

TEXT = """\
NodeName=gpu-1 Arch=x86_64 CoresPerSocket=56
   CPUAlloc=0 CPUEfctv=224 CPUTot=224 CPULoad=0.31
   AvailableFeatures=(null)
   Gres=gpu:h100:8
   NodeAddr=gpu-1 NodeHostName=gpu-1 Version=23.11.10
   OS=Linux 5.15.0-1053 #61-Ubuntu SMP Tue Mar 1
   RealMemory=2000000 AllocMem=0 FreeMem=1990000 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A NextState=IDLE
   BootTime=2026-03-01T08:00:00 SlurmdStartTime=2026-03-01T08:01:00
   Reason=swap optics, a=b [root@2026-03-01T09:00:00]

"""
"""Laid out as Slurm 23.11 does [B]."""


def as_json(*nodes: dict[str, object]) -> bytes:
    """As `--json` prints it, less what nobody looks at."""
    return json.dumps({"nodes": nodes, "meta": {"slurm": {"release": "23.11.10"}}, "errors": [], "warnings": []}).encode()


def test_text_tells_state_and_reason() -> None:
    """The reason with who gave it and when."""
    assert node_state(TEXT.encode(), "gpu-1") == NodeState("IDLE+DRAIN", "swap optics, a=b [root@2026-03-01T09:00:00]")


def test_a_node_without_a_reason_has_none() -> None:
    """The line is left out."""
    assert node_state(b"NodeName=gpu-1 Arch=x86_64\n   State=IDLE ThreadsPerCore=2\n", "gpu-1") == NodeState("IDLE")


def test_one_line_for_a_node_ends_the_reason_at_its_signature() -> None:
    """`scontrol -o`; other keys follow."""
    raw = b"NodeName=a State=MIXED+DRAIN Partitions=p Reason=swap [root@2026-03-01T09:00:00] Comment=x\nNodeName=b State=IDLE\n"

    assert node_state(raw, "a") == NodeState("MIXED+DRAIN", "swap [root@2026-03-01T09:00:00]")
    assert node_state(raw, "b") == NodeState("IDLE")


def test_a_site_s_own_command_need_not_name_the_node() -> None:
    """Two keys are enough."""
    assert node_state(b"State=MAINT Reason=window\n", "gpu-1") == NodeState("MAINT", "window")
    assert node_state(b'{"nodes": [{"state": ["DRAIN"]}]}', "gpu-1") == NodeState("DRAIN")


@pytest.mark.parametrize(
    ("node", "state"),
    [
        ({"name": "gpu-1", "state": ["IDLE", "DRAIN"], "reason": "swap optics"}, NodeState("IDLE+DRAIN", "swap optics")),
        ({"name": "gpu-1", "state": ["IDLE"], "reason": ""}, NodeState("IDLE")),
        ({"name": "gpu-1", "state": "idle", "state_flags": ["DRAIN"], "reason": "x"}, NodeState("idle+DRAIN", "x")),
        ({"name": "gpu-1", "state": ["ALLOCATED", "MAINTENANCE", "RESERVED"]}, NodeState("ALLOCATED+MAINTENANCE+RESERVED")),
    ],
)
def test_json_tells_the_same(node: dict[str, object], state: NodeState) -> None:
    """As lists of words, and in the older form; other nodes beside it do not matter."""
    other = {"name": "gpu-2", "state": ["DOWN"], "reason": "dead"}

    assert node_state(as_json(node), "gpu-1") == node_state(as_json(other, node), "gpu-1") == state


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\n", b"slurm_load_node error: Unable to contact slurm controller", b"NodeName=gpu-2 State=IDLE", b"NodeName=gpu-1 Arch=x",
        b"{", b"{}", b'{"nodes": {}}', b'{"nodes": []}', b'{"nodes": [7]}', b'{"nodes": [{"name": "gpu-2", "state": ["IDLE"]}]}',
        b'{"nodes": [{"name": "gpu-1"}]}', b'{"nodes": [{"name": "gpu-1", "state": 7}]}', b'{"nodes": ' + b"[" * 100_000,
        b"\xff\x00\xfe", b"NextState=IDLE",
    ],
)  # fmt: skip
def test_what_does_not_say_the_state_is_refused_in_one_line(raw: bytes) -> None:
    """It claims nothing, and least of all that nobody works on the node."""
    with pytest.raises(ValueError, match=r"^it (says|begins)") as caught:
        node_state(raw, "gpu-1")

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_flood_of_brackets_takes_no_time() -> None:
    """The reason is looked at in part."""
    assert node_state(b"State=DRAIN Reason=" + b"[a@" * 1_000_000, "x").state == "DRAIN"


@given(st.binary(max_size=300))
def test_junk_is_refused_or_read(raw: bytes) -> None:
    """Nothing but ValueError comes out."""
    try:
        found = node_state(raw, "gpu-1")
    except ValueError:
        return
    assert found.state
