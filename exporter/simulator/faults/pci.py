"""What befalls PCIe links, whole devices and single files: speed, width, a card that is gone, reads that are refused."""

import errno
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from exporter.simulator.faults.script import Script, Step, lasting
from exporter.simulator.layout import pci_folder, port_folder
from exporter.simulator.node_links import UPSTREAM, gpu_number, matching, pci_path
from exporter.simulator.profiles import Profile
from exporter.simulator.scenario import PlannedFault
from exporter.simulator.stage import Stage

SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) ?GT/s(?: PCIe)?")
AER_EVERY_S = 15.0
"""How far apart reports of a function come that reports several times, unless the scenario says."""
ALL_COUNTERS = "counters/*"
"""Files that `read_error` is about unless it names others."""


def ends_of(profile: Profile, device: str, port: str) -> tuple[tuple[str, ...], ...]:
    """The functions at both ends of a PCIe link, as paths from the root bus; one where the other end is no function (root complex).
    Down from the root complex ports face down and up in turn (sources/pci_branch.py)."""
    path = pci_path(profile, device)
    at = len(path) - 1 if port == UPSTREAM else path.index(port)
    other = at + 1 if at % 2 else at - 1
    ends = [place for place in (at, other) if 0 < place < len(path)]
    return tuple(path[: place + 1] for place in ends)


def _slower(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is None:
        return
    texts: dict[str, bytes] = {}
    speed = SPEED.fullmatch(fault.text_of("speed"))
    for link in matching(stage.profile, fault.target):
        for path in ends_of(stage.profile, link.device, link.port):
            if speed is not None:
                texts[f"{pci_folder(path)}/current_link_speed"] = f"{float(speed[1]):.1f} GT/s PCIe\n".encode()
            if "width" in fault.values:
                texts[f"{pci_folder(path)}/current_link_width"] = b"%d\n" % int(fault.number_of("width"))
    stage.files.hold(fault.number, texts)


def _release(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        stage.files.release(fault.number)


def _reported(fault: PlannedFault) -> list[Step]:
    times, every_s = int(fault.number_of("times", 1)), fault.number_of("every", AER_EVERY_S)
    return [Step(fault.at_s + number * every_s, lambda stage: _report(stage, fault)) for number in range(times)]


def _report(stage: Stage, fault: PlannedFault) -> None:
    """Each function that the links are named by counts more, in the line of the error and in the total."""
    if stage.files is None:
        return
    functions = {ends_of(stage.profile, link.device, link.port)[0] for link in matching(stage.profile, fault.target)}
    for function in sorted(functions):
        path = f"{pci_folder(function)}/aer_dev_{fault.text_of('severity')}"
        text = (stage.files.tree.content(path) or b"").decode()
        lines = [line.split() for line in text.splitlines()]
        counts = {name: int(count) + (int(fault.number_of("count")) if _is_meant(name, fault) else 0) for name, count in lines}
        stage.files.tree.rewrite(path, "".join(f"{name} {count}\n" for name, count in counts.items()).encode())


def _is_meant(name: str, fault: PlannedFault) -> bool:
    return name == fault.text_of("error") or name.startswith("TOTAL_ERR_")


def _unplug(stage: Stage, fault: PlannedFault) -> None:
    path = pci_path(stage.profile, fault.target)
    if stage.files is not None:
        stage.files.take_away(fault.number, pci_folder(path))
    gpu = _gpu(stage, fault)
    if gpu is not None:
        stage.log_line(f"NVRM: GPU at PCI:{path[-1].rpartition('.')[0]}: GPU has fallen off the bus.")
        if stage.nvml is not None:
            stage.nvml.gpus.absent.add(gpu)
            for place in [place for place in stage.profile.nvlinks if place.gpu == gpu]:
                stage.put_link(fault.number, place, 0)


def _plug(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        stage.files.bring_back(fault.number)
        if fault.target in stage.files.ports:
            stage.files.ports[fault.target].restart(stage.now_s)
    gpu = _gpu(stage, fault)
    if gpu is not None and stage.nvml is not None:
        stage.nvml.gpus.absent.discard(gpu)
        for place in [place for place in stage.profile.nvlinks if place.gpu == gpu]:
            stage.put_link(fault.number, place, None)
        stage.nvml.gpus.reset_counters(gpu)


def _gpu(stage: Stage, fault: PlannedFault) -> int | None:
    return gpu_number(stage.profile, fault.target) if fault.target.startswith("gpu") else None


def files_meant(stage: Stage, fault: PlannedFault) -> list[str]:
    """Paths of the files that a `read_error` is about."""
    if stage.files is None:
        return []
    hcas = {hca.name: hca for hca in stage.profile.hcas}
    folders = [port_folder(hcas[link.device]) for link in matching(stage.profile, fault.target)]
    pattern = fault.text_of("file", ALL_COUNTERS)
    return [path for folder in folders for path in stage.files.paths_below(folder) if fnmatchcase(path[len(folder) + 1 :], pattern)]


def _spoil(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is None:
        return
    paths = files_meant(stage, fault)
    if "text" in fault.values:
        stage.files.hold(fault.number, dict.fromkeys(paths, f"{fault.text_of('text')}\n".encode()))
    else:
        code = errno_named(fault.text_of("errno", "EIO"))
        for path in paths:
            stage.files.fail(path, code)


def _mend(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is None:
        return
    stage.files.release(fault.number)
    if "text" not in fault.values:
        for path in files_meant(stage, fault):
            stage.files.fail(path, None)


def errno_named(name: str) -> int:
    """The number of an errno such as EIO. Raises KeyError for none."""
    code = {text: number for number, text in errno.errorcode.items()}
    return code[name]


SCRIPTS: Mapping[str, Script] = {
    "pcie": lasting(_slower, _release),
    "aer": _reported,
    "unplug": lasting(_unplug, _plug),
    "read_error": lasting(_spoil, _mend),
}
