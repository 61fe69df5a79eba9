"""Kinds of fault that a scenario may ask for, and what each takes. Data; what they do is faults/'s."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Value(Enum):
    """What a key holds, in words for a person."""

    DURATION = "a duration such as 30s"
    STEP = "a duration with or without a sign, such as -1h"
    NUMBER = "a number that is not negative"
    COUNT = "a whole number from 1 on"
    RATIO = "a ratio from 0 to 1"
    FACTOR = "a number above 1"
    TEXT = "a text"


class Key(NamedTuple):
    """One key. `words`: a text must be one of these."""

    value: Value
    is_required: bool = True
    words: tuple[str, ...] = ()


class Aim(Enum):
    """What a fault is aimed at, and by which key."""

    LINK = "link"
    DEVICE = "device"
    SOURCE = "source"
    DRIVER = "driver"
    NODE = ""


class Kind(NamedTuple):
    """`fabrics`: those of the links it can be aimed at. `lasts`: it may end (`until`); `usual_s`: after so long if nobody says when."""

    help: str
    aim: Aim
    keys: Mapping[str, Key] = {}
    fabrics: frozenset[str] = frozenset()
    lasts: bool = True
    usual_s: float | None = None


_PORTS = frozenset({"infiniband", "roce"})
_ROCE = frozenset({"roce"})
_NVLINK = frozenset({"nvlink"})
_WIRES = _PORTS | _NVLINK | {"ethernet"}
STATES = ("down", "polling", "disabled", "init", "sleep", "traffic_disabled")
"""How a link is down; `down` is the usual way of its fabric, the next three are an RDMA port's, the last two an NVLink's."""
DOMAIN_WORDS = ("unhealthy", "in_progress", "not_started")
SEVERITIES = ("correctable", "nonfatal", "fatal")
"""Of errors that a PCIe function reports (AER)."""
SOURCES = ("infiniband", "pcie", "ethernet", "nvlink", "kernel_log", "jobs")
DRIVERS = ("mlx5_core", "nvidia")

KINDS: Mapping[str, Kind] = {
    "down": Kind("the link goes down", Aim.LINK, {"state": Key(Value.TEXT, is_required=False, words=STATES)}, _WIRES),
    "flap": Kind("the link goes down and up `count` times, once a `period`; half of each it is down, or for `down`", Aim.LINK,
                 {"period": Key(Value.DURATION), "count": Key(Value.COUNT), "down": Key(Value.DURATION, is_required=False)}, _WIRES,
                 lasts=False),
    "rate": Kind("the link trains at another rate: what the port prints, MB/s of an NVLink, or Mb/s of an interface", Aim.LINK,
                 {"to": Key(Value.TEXT)}, _WIRES),
    "width": Kind("the link trains with fewer lanes", Aim.LINK, {"to": Key(Value.COUNT)}, _PORTS),
    "counter_rate": Kind("a counter grows by so many a second more", Aim.LINK,
                         {"counter": Key(Value.TEXT), "per_second": Key(Value.NUMBER)}, _PORTS | _NVLINK),
    "counter_set": Kind("a counter jumps to a value and counts on from there", Aim.LINK,
                        {"counter": Key(Value.TEXT), "value": Key(Value.NUMBER)}, _PORTS | _NVLINK, lasts=False),
    "counter_reset": Kind("one counter, or all of the link, start at 0", Aim.LINK, {"counter": Key(Value.TEXT, is_required=False)},
                          _PORTS | _NVLINK, lasts=False),
    "saturate": Kind("a counter stands at its ceiling; afterwards it starts at 0", Aim.LINK, {"counter": Key(Value.TEXT)}, _PORTS),
    "stall": Kind("the port is held back for that share of time", Aim.LINK, {"ratio": Key(Value.RATIO)}, _PORTS),
    "slow": Kind("the same bytes take `factor` times as long", Aim.LINK, {"factor": Key(Value.FACTOR)}, _PORTS),
    "ecn": Kind("that share of received packets carries a congestion mark", Aim.LINK, {"ratio": Key(Value.RATIO)}, _ROCE),
    "pause": Kind("a priority is paused for that share of time", Aim.LINK,
                  {"ratio": Key(Value.RATIO), "direction": Key(Value.TEXT, is_required=False, words=("receive", "transmit"))}, _ROCE),
    "pcie": Kind("the PCIe link trains slower or narrower, at both of its ends", Aim.LINK,
                 {"speed": Key(Value.TEXT, is_required=False), "width": Key(Value.COUNT, is_required=False)}, frozenset({"pcie"})),
    "aer": Kind("the function at the link reports `count` errors more, so often (`times`), once `every`", Aim.LINK,
                {"severity": Key(Value.TEXT, words=SEVERITIES), "error": Key(Value.TEXT), "count": Key(Value.COUNT),
                 "times": Key(Value.COUNT, is_required=False), "every": Key(Value.DURATION, is_required=False)}, frozenset({"pcie"}),
                lasts=False),
    "unplug": Kind("the device is gone; when it returns its counters start at 0", Aim.DEVICE),
    "read_error": Kind("files of the port refuse to be read, or say something else", Aim.LINK,
                       {"file": Key(Value.TEXT, is_required=False), "errno": Key(Value.TEXT, is_required=False),
                        "text": Key(Value.TEXT, is_required=False)}, _PORTS),
    "hang": Kind("reads of a source, or of one device of it, do not come back", Aim.SOURCE,
                 {"device": Key(Value.TEXT, is_required=False)}),
    "nvml_error": Kind("NVML answers with an error: to every call, to those of one method, to those about one GPU", Aim.NODE,
                       {"code": Key(Value.TEXT), "call": Key(Value.TEXT, is_required=False), "device": Key(Value.TEXT, is_required=False)}),
    "xid": Kind("the NVIDIA driver reports an Xid, of a link if `port` is given", Aim.DEVICE,
                {"xid": Key(Value.COUNT), "port": Key(Value.NUMBER, is_required=False)}, lasts=False),
    "mig": Kind("the GPU is partitioned", Aim.DEVICE),
    "domain": Kind("the GPU says that its NVLink domain is not well, or that it has yet to join it", Aim.DEVICE,
                   {"says": Key(Value.TEXT, words=DOMAIN_WORDS)}),
    "reboot": Kind("the node is off until `until`, boots, and its links come up `links_after` later", Aim.NODE,
                   {"links_after": Key(Value.DURATION, is_required=False)}, usual_s=180.0),
    "driver_reload": Kind("all devices of the driver go, and come back at `until`; their links come up `links_after` later", Aim.DRIVER,
                          {"links_after": Key(Value.DURATION, is_required=False)}, usual_s=30.0),
    "maintenance": Kind("somebody says that the node is being worked on", Aim.NODE),
    "gdr_off": Kind("nvidia-peermem is unloaded: GPUs and NICs no longer reach each other without the CPU", Aim.NODE),
    "clock_jump": Kind("the wall clock is set forward or back", Aim.NODE, {"by": Key(Value.STEP)}, lasts=False),
    "exporter_restart": Kind("the exporter is killed, and started again at `until` with the same state directory", Aim.NODE, usual_s=0.0),
}  # fmt: skip
"""By name."""
NOT_YET: Mapping[str, str] = {"probe": "not supported yet: it comes with the probes"}
"""Kinds that later versions bring."""
