"""What befalls RDMA ports and plain interfaces: state, rate, width, counters, load. Each is a Change of a Port (simulator/port.py)."""

import re
from collections.abc import Callable, Mapping

from exporter.catalog.infiniband import CLAMPS
from exporter.model.entity import Fabric
from exporter.simulator.counter_book import Ramps as Counters
from exporter.simulator.faults.script import Script, at_once, lasting
from exporter.simulator.node_links import matching
from exporter.simulator.port import ETHTOOL, Change, Port
from exporter.simulator.scenario import PlannedFault
from exporter.simulator.stage import Stage

STATES = {"polling": ("1: DOWN", "2: Polling"), "disabled": ("1: DOWN", "3: Disabled"), "init": ("2: INIT", "5: LinkUp")}
_USUAL_STATE = {"InfiniBand": "polling", "Ethernet": "disabled"}
"""How a port is down whose cable was pulled."""
RATE = re.compile(r"([0-9]{1,5}(?:\.5)?) Gb/sec \(([0-9]{1,2})X( [A-Z]+[0-9]*)?\)")
_SPEED = re.compile(r"([0-9]{1,7}) ?Mb/s")
_TICK_BYTES = 8
"""Of the stall counter of ConnectX from 5 on (NVIDIA ibdiagnet manual)."""
_LOSSLESS = "prio3"
_PAUSE_S = 1e-5
_SIDES = {"receive": "rx", "transmit": "tx"}


def _down(fault: PlannedFault, port: Port) -> Change:
    name = fault.text_of("state", "down")
    return Change(state=STATES[_USUAL_STATE[port.hca.link_layer] if name == "down" else name])


def _width(fault: PlannedFault, port: Port) -> Change:
    lanes = int(fault.number_of("to"))
    found = RATE.fullmatch(port.hca.rate)
    assert found is not None  # noqa: S101  # a profile's rate
    return Change(rate=f"{float(found[1]) * lanes / int(found[2]):g} Gb/sec ({lanes}X{found[3] or ''})")


def _rising(fault: PlannedFault, port: Port) -> Change:
    return Change(ramps=Counters(per_second={counter_named(port, fault.text_of("counter")): fault.number_of("per_second")}))


def _pinned(fault: PlannedFault, port: Port) -> Change:
    name = counter_named(port, fault.text_of("counter"))
    return Change(ramps=Counters(pinned={name: ceiling_of(name) or 0}))


def _stall(fault: PlannedFault, port: Port) -> Change:
    ticks_per_s = fault.number_of("ratio") * port.line_bytes_per_s / _TICK_BYTES
    return Change(ramps=Counters(per_second={"counters/port_xmit_wait": ticks_per_s}))


def _marked(fault: PlannedFault, _port: Port) -> Change:
    ratio = fault.number_of("ratio")
    folder = "hw_counters/"
    return Change(ramps=Counters(per_packet={
        f"{folder}np_ecn_marked_roce_packets": ratio, f"{folder}np_cnp_sent": ratio / 2, f"{folder}rp_cnp_handled": ratio / 2,
    }))  # fmt: skip


def _paused(fault: PlannedFault, _port: Port) -> Change:
    ratio, side = fault.number_of("ratio"), _SIDES[fault.text_of("direction", "receive")]
    frames = ratio / _PAUSE_S
    rates = {f"{ETHTOOL}{side}_{_LOSSLESS}_pause_duration": ratio * 1e6, f"{ETHTOOL}{side}_{_LOSSLESS}_pause": 2 * frames}
    if side == "rx":
        rates[f"{ETHTOOL}rx_{_LOSSLESS}_pause_transition"] = frames
    return Change(ramps=Counters(per_second=rates))


CHANGES: Mapping[str, Callable[[PlannedFault, Port], Change]] = {
    "down": _down,
    "rate": lambda fault, _port: Change(rate=fault.text_of("to")),
    "width": _width,
    "counter_rate": _rising,
    "saturate": _pinned,
    "stall": _stall,
    "slow": lambda fault, _port: Change(slowness=fault.number_of("factor")),
    "ecn": _marked,
    "pause": _paused,
}
"""What lasts, by kind."""


def counter_named(port: Port, name: str) -> str:
    """A counter of the port by its file's or statistic's name, with or without the folder. Raises KeyError unless one is meant."""
    found = [known for known in port.names if name in (known, known.rpartition("/")[2])]
    if len(found) != 1:
        raise KeyError(name)
    return found[0]


def interface_speed(text: str) -> int:
    """Mb/s of `1000 Mb/s`. Raises ValueError for anything else."""
    found = _SPEED.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found[1])


def ceiling_of(counter: str) -> int | None:
    """Where it stops counting; None if it does not."""
    return CLAMPS.get(counter.removeprefix("counters/"))


def begin(stage: Stage, fault: PlannedFault) -> None:
    """Let it befall every port that the fault names."""
    links = matching(stage.profile, fault.target)
    for port in stage.ports(links).values():
        port.begin(fault.number, CHANGES[fault.kind](fault, port), stage.now_s)
    for device in [link.device for link in links if link.fabric is Fabric.ETHERNET]:
        if fault.kind == "down":
            _carrier(stage, fault, device, is_up=False)
        elif fault.kind == "rate" and stage.files is not None:
            speed = b"%d\n" % interface_speed(fault.text_of("to"))
            stage.files.hold((fault.number, device), {f"{_interface(stage, device)}/speed": speed})


def end(stage: Stage, fault: PlannedFault) -> None:
    """It is over."""
    links = matching(stage.profile, fault.target)
    for port in stage.ports(links).values():
        port.end(fault.number, stage.now_s)
    for device in [link.device for link in links if link.fabric is Fabric.ETHERNET]:
        if fault.kind == "down":
            _carrier(stage, fault, device, is_up=True)
        elif fault.kind == "rate" and stage.files is not None:
            stage.files.release((fault.number, device))


def _carrier(stage: Stage, fault: PlannedFault, device: str, *, is_up: bool) -> None:
    """An interface without an RDMA device loses its carrier or finds it again."""
    files = stage.files
    if files is None:
        return
    folder = _interface(stage, device)
    if is_up:
        files.release((fault.number, device))
    else:
        files.hold((fault.number, device), {f"{folder}/{name}": text for name, text in
                                            (("operstate", b"down\n"), ("carrier", b"0\n"), ("speed", b"-1\n"))})  # fmt: skip
    for name in ("carrier_changes", "carrier_up_count" if is_up else "carrier_down_count"):
        files.tree.rewrite(f"{folder}/{name}", b"%d\n" % (int(files.tree.content(f"{folder}/{name}") or 0) + 1))


def _interface(stage: Stage, device: str) -> str:
    """Where the files of an interface lie."""
    return next(nic.netdev(0).folder for nic in stage.profile.nics if nic.name == device)


def _set(stage: Stage, fault: PlannedFault) -> None:
    for port in stage.ports(matching(stage.profile, fault.target)).values():
        port.put(counter_named(port, fault.text_of("counter")), int(fault.number_of("value")), stage.now_s)


def _reset(stage: Stage, fault: PlannedFault) -> None:
    for port in stage.ports(matching(stage.profile, fault.target)).values():
        name = fault.text_of("counter")
        for counter in [counter_named(port, name)] if name else sorted(port.names):
            port.put(counter, 0, stage.now_s)


SCRIPTS: Mapping[str, Script] = {
    **dict.fromkeys(CHANGES, lasting(begin, end)),
    "counter_set": at_once(_set),
    "counter_reset": at_once(_reset),
}
