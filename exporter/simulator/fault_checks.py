"""What is wrong with a fault that a person planned, for the node it is planned on: links that are not there, counters that nobody counts.

Pure; every complaint is the second half of a line that begins with where it stands. Knows no file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from fnmatch import fnmatchcase

from exporter.model.entity import Fabric, Link
from exporter.model.gpu_fabric import STATE_UNSUPPORTED
from exporter.model.quoted import shown
from exporter.simulator.fault_kinds import DRIVERS, KINDS, SOURCES, Aim
from exporter.simulator.faults import gpus, pci, ports
from exporter.simulator.layout import COUNTERS, hw_counters
from exporter.simulator.node_links import devices_of, gpu_number, links_of, matching, nearest, nvlink_place
from exporter.simulator.pci_layout import AER_NAMES
from exporter.simulator.port import Port
from exporter.simulator.profiles import Profile
from exporter.simulator.scenario import PlannedFault

TIMES_MAX = 100_000
"""Reports of one function, at most: each is a step of the scenario."""


def problem_of(profile: Profile, fault: PlannedFault) -> str | None:
    """Why this fault cannot be done to this node; None if it can."""
    return _aim_problem(profile, fault) or _OF_KIND.get(fault.kind, _none)(profile, fault)


def link_problem(profile: Profile, pattern: str) -> str | None:
    """Why a link's name or pattern means no link of the node; None if it means one."""
    return None if matching(profile, pattern) else f"no link of {profile.name} is called {shown(pattern)}{_hint(nearest(profile, pattern))}"


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for a word that looks like one of these, else what there is."""
    listed = sorted(known)
    found = get_close_matches(word[:64], listed, 1)
    return _hint(found[0]) if found else f"; known: {', '.join(listed)}"


def _hint(word: str) -> str:
    return f"; did you mean {word}?" if word else ""


def _aim_problem(profile: Profile, fault: PlannedFault) -> str | None:
    kind, target = KINDS[fault.kind], fault.target
    if kind.aim is Aim.LINK:
        return link_problem(profile, target) or _fabric_problem(profile, fault, matching(profile, target))
    known = {Aim.DEVICE: devices_of(profile), Aim.SOURCE: SOURCES, Aim.DRIVER: DRIVERS, Aim.NODE: (target,)}[kind.aim]
    return None if target in known else f"there is no {kind.aim.value} {shown(target)}{near(target, known)}"


def _fabric_problem(profile: Profile, fault: PlannedFault, links: Sequence[Link]) -> str | None:
    fabrics = KINDS[fault.kind].fabrics
    others = [link for link in links if link.fabric.value not in fabrics]
    if others:
        return f"{fault.kind} is for links of {', '.join(sorted(fabrics))}, and {others[0]} is none"
    nvlinks = [link for link in links if link.fabric is Fabric.NVLINK]
    if nvlinks and not any(nvlink_place(profile, link) for link in nvlinks):
        return f"{nvlinks[0]} leads nowhere: nothing is wired to that port"
    return None


def _none(_profile: Profile, _fault: PlannedFault) -> str | None:
    return None


def _counter(profile: Profile, fault: PlannedFault) -> str | None:
    name = fault.text_of("counter")
    if not name:
        return None
    for link in matching(profile, fault.target):
        try:
            if link.fabric is Fabric.NVLINK:
                gpus.counter_named(profile.gpus[gpu_number(profile, link.device)].model, name)
            else:
                ports.counter_named(_port(profile, link), name)
        except KeyError:
            known = _nvlink_counters(profile, link) if link.fabric is Fabric.NVLINK else (*COUNTERS, *hw_counters(_port(profile, link).hca))
            return f"{link} has no counter {shown(name)}{near(name, known)}"
    return None


def _nvlink_counters(profile: Profile, link: Link) -> tuple[str, ...]:
    """Names of the counters that the link's GPU has."""
    model, found = profile.gpus[gpu_number(profile, link.device)].model, []
    for name in gpus.COUNTERS:
        with suppress(KeyError):
            gpus.counter_named(model, name)
            found.append(name)
    return tuple(found)


def _saturate(profile: Profile, fault: PlannedFault) -> str | None:
    problem = _counter(profile, fault)
    if problem:
        return problem
    link = matching(profile, fault.target)[0]
    counter = ports.counter_named(_port(profile, link), fault.text_of("counter"))
    return None if ports.ceiling_of(counter) is not None else f"{counter} has no ceiling"


def _port(profile: Profile, link: Link) -> Port:
    return Port(next(hca for hca in profile.hcas if hca.name == link.device), (), 0)


def _rate(profile: Profile, fault: PlannedFault) -> str | None:
    text, fabrics = fault.text_of("to"), {link.fabric for link in matching(profile, fault.target)}
    try:
        if Fabric.NVLINK in fabrics:
            gpus.rate_of(text)
        if Fabric.ETHERNET in fabrics:
            ports.interface_speed(text)
    except ValueError:
        one, usual = ("an NVLink", "13281 MB/s") if Fabric.NVLINK in fabrics else ("an interface", "1000 Mb/s")
        return f"the rate of {one} is written as {usual}, not {shown(text)}"
    if fabrics <= {Fabric.NVLINK, Fabric.ETHERNET} or ports.RATE.fullmatch(text):
        return None
    return f"the rate of a port is written as 200 Gb/sec (4X HDR), not {shown(text)}"


def _domain(profile: Profile, fault: PlannedFault) -> str | None:
    problem = _gpu_problem(profile, fault.target)
    if problem:
        return problem
    fabric = profile.gpus[gpu_number(profile, fault.target)].model.fabric
    return None if fabric is not None and fabric.state != STATE_UNSUPPORTED else f"{fault.target} of {profile.name} is in no NVLink domain"


def _down(profile: Profile, fault: PlannedFault) -> str | None:
    state = fault.text_of("state", "down")
    for link in matching(profile, fault.target):
        known = gpus.STATES if link.fabric is Fabric.NVLINK else ports.STATES if link.fabric is not Fabric.ETHERNET else ()
        if state != "down" and state not in known:
            return f"a link of {link.fabric.value} cannot be {state}"
    return None


def _width(profile: Profile, fault: PlannedFault) -> str | None:
    for link in matching(profile, fault.target):
        built = ports.RATE.fullmatch(_port(profile, link).hca.rate)
        if built is not None and fault.number_of("to") > int(built[2]):
            return f"{link} has {built[2]} lanes"
    return None


def _flap(_profile: Profile, fault: PlannedFault) -> str | None:
    return None if fault.number_of("down", 0.0) < fault.number_of("period") else "down must be shorter than period"


def _pcie(_profile: Profile, fault: PlannedFault) -> str | None:
    if not {"speed", "width"} & fault.values.keys():
        return "needs speed, width or both"
    speed = fault.text_of("speed")
    return None if not speed or pci.SPEED.fullmatch(speed) else f"a PCIe speed is written as 16.0 GT/s, not {shown(speed)}"


def _aer(_profile: Profile, fault: PlannedFault) -> str | None:
    known, name = AER_NAMES[fault.text_of("severity")], fault.text_of("error")
    if fault.number_of("times", 1) > TIMES_MAX:
        return f"times is at most {TIMES_MAX}"
    return None if name in known else f"there is no {fault.text_of('severity')} error {shown(name)}{near(name, known)}"


def _read_error(profile: Profile, fault: PlannedFault) -> str | None:
    if ("errno" in fault.values) == ("text" in fault.values):
        return "needs either errno or text"
    name = fault.text_of("errno")
    try:
        if name:
            pci.errno_named(name)
    except KeyError:
        return f"there is no errno {shown(name)}; EIO, EINVAL, ENODEV and EACCES are common"
    pattern = fault.text_of("file", pci.ALL_COUNTERS)
    files = ("state", "phys_state", "rate", "link_layer", *(f"counters/{name}" for name in COUNTERS),
             *(f"hw_counters/{name}" for name in hw_counters(_port(profile, matching(profile, fault.target)[0]).hca)))  # fmt: skip
    return None if any(fnmatchcase(file, pattern) for file in files) else f"the port has no file {shown(pattern)}{near(pattern, files)}"


def _gpu(profile: Profile, fault: PlannedFault) -> str | None:
    return _gpu_problem(profile, fault.target)


def _gpu_problem(profile: Profile, device: str) -> str | None:
    try:
        gpu_number(profile, device)
    except KeyError:
        return f"{shown(device)} is no GPU of {profile.name}"
    return None


def _xid(profile: Profile, fault: PlannedFault) -> str | None:
    problem = _gpu_problem(profile, fault.target)
    if problem or "port" not in fault.values:
        return problem
    name = f"nvlink/{fault.target}/{int(fault.number_of('port'))}"
    return None if name in links_of(profile) else f"no link of {profile.name} is called {name}"


def _nvml_error(profile: Profile, fault: PlannedFault) -> str | None:
    code, call, device = fault.text_of("code"), fault.text_of("call"), fault.text_of("device")
    try:
        gpus.code_named(code)
    except KeyError:
        return f"there is no NVML error {shown(code)}{near(code, gpus.CODES)}"
    if call and call not in (*gpus.CALLS, *gpus.NODE_CALLS):
        return f"there is no call {shown(call)}{near(call, (*gpus.CALLS, *gpus.NODE_CALLS))}"
    return _gpu_problem(profile, device) if device else None


_OF_KIND: Mapping[str, Callable[[Profile, PlannedFault], str | None]] = {
    "down": _down, "flap": _flap, "rate": _rate, "width": _width, "counter_rate": _counter, "counter_set": _counter,
    "counter_reset": _counter, "saturate": _saturate, "pcie": _pcie, "aer": _aer, "read_error": _read_error, "xid": _xid, "mig": _gpu,
    "nvml_error": _nvml_error, "domain": _domain,
}  # fmt: skip
