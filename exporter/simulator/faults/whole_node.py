"""What befalls a node as a whole, its drivers, its clock and the exporter on it."""

from collections.abc import Mapping

from exporter.model.gpu_fabric import STATE_COMPLETED
from exporter.simulator.faults.ports import STATES
from exporter.simulator.faults.script import Script, Step, at_once, lasting
from exporter.simulator.layout import pci_folder
from exporter.simulator.port import Change
from exporter.simulator.procfs import MODULES, PEER_MEMORY, modules_of, modules_text
from exporter.simulator.scenario import PlannedFault
from exporter.simulator.simulated_gpus import INACTIVE
from exporter.simulator.stage import Stage
from exporter.sources.nvml_session import DRIVER_NOT_LOADED

LINKS_AFTER_S = 60.0
"""How long links take to come up after a boot or a driver's load, unless the scenario says."""
_IN_PROGRESS = 2
"""nvmlGpuFabricState_t."""
_MLX5, _NVIDIA = "mlx5_core", "nvidia"


def _hang(stage: Stage, fault: PlannedFault) -> None:
    stage.around.hanging[fault.number] = (fault.target, fault.text_of("device"))


def _answer(stage: Stage, fault: PlannedFault) -> None:
    stage.around.hanging.pop(fault.number, None)


def _jump(stage: Stage, fault: PlannedFault) -> None:
    stage.around.clock_off_s += fault.number_of("by")


def _peer_memory_off(stage: Stage, _fault: PlannedFault) -> None:
    if stage.proc is not None:
        stage.proc.rewrite(MODULES, modules_text(tuple(name for name in modules_of(stage.profile) if name != PEER_MEMORY)))


def _peer_memory_on(stage: Stage, _fault: PlannedFault) -> None:
    if stage.proc is not None:
        stage.proc.rewrite(MODULES, modules_text(modules_of(stage.profile)))


def _kill(stage: Stage, fault: PlannedFault) -> None:
    stage.around.exporter_away.add(fault.number)


def _start(stage: Stage, fault: PlannedFault) -> None:
    stage.around.exporter_away.discard(fault.number)
    stage.around.exporter_starts += 1


def _restart(fault: PlannedFault) -> list[Step]:
    if fault.until_s is None or fault.until_s <= fault.at_s:
        return [Step(fault.at_s, lambda stage: _start(stage, fault))]
    return lasting(_kill, _start)(fault)


def _reboot(fault: PlannedFault) -> list[Step]:
    on_s = fault.until_s if fault.until_s is not None else fault.at_s
    return [
        Step(fault.at_s, lambda stage: _turn_off(stage, fault)),
        Step(on_s, lambda stage: _boot(stage, fault)),
        Step(on_s + fault.number_of("links_after", LINKS_AFTER_S), lambda stage: _links_up(stage, fault)),
    ]


def _turn_off(stage: Stage, fault: PlannedFault) -> None:
    stage.around.exporter_away.add(fault.number)
    _ports_are(stage, fault, "polling")
    _unload_nvidia(stage, fault)


def _boot(stage: Stage, fault: PlannedFault) -> None:
    stage.boot()
    if stage.files is not None:
        stage.files.restart(stage.now_s)
    _ports_are(stage, fault, "init")
    _load_nvidia(stage)
    stage.around.exporter_away.discard(fault.number)
    stage.around.exporter_starts += 1


def _reload(fault: PlannedFault) -> list[Step]:
    back_s = fault.until_s if fault.until_s is not None else fault.at_s
    unload, load = {_MLX5: (_unload_mlx5, _load_mlx5), _NVIDIA: (_unload_gpus, _load_gpus)}[fault.target]
    return [
        Step(fault.at_s, lambda stage: unload(stage, fault)),
        Step(back_s, lambda stage: load(stage, fault)),
        Step(back_s + fault.number_of("links_after", LINKS_AFTER_S), lambda stage: _links_up(stage, fault)),
    ]


def _unload_mlx5(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        folders = [pci_folder(hca.pci_path) for hca in stage.profile.hcas]
        made = [f"{folder}/{kind}" for folder in folders for kind in ("infiniband", "net")]
        stage.files.take_away(fault.number, *made, f"bus/pci/drivers/{_MLX5}")


def _load_mlx5(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        stage.files.bring_back(fault.number)
        for port in stage.files.ports.values():
            port.restart(stage.now_s)
    _ports_are(stage, fault, "init")


def _unload_gpus(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        stage.files.take_away(fault.number, f"bus/pci/drivers/{_NVIDIA}")
    _unload_nvidia(stage, fault)


def _load_gpus(stage: Stage, fault: PlannedFault) -> None:
    if stage.files is not None:
        stage.files.bring_back(fault.number)
    stage.log_line(f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {stage.profile.driver_version}")
    _load_nvidia(stage)


def _unload_nvidia(stage: Stage, fault: PlannedFault) -> None:
    """No driver answers, and no link carries anything."""
    if stage.nvml is None:
        return
    stage.nvml.troubles.gone = DRIVER_NOT_LOADED
    for place in stage.profile.nvlinks:
        stage.put_link(fault.number, place, INACTIVE)
    for gpu in stage.nvml.gpus.fabric:
        _fabric_is(stage, gpu, _IN_PROGRESS)


def _load_nvidia(stage: Stage) -> None:
    """The driver answers; links are not up yet, and every counter starts at 0."""
    if stage.nvml is None:
        return
    stage.nvml.troubles.gone = None
    for gpu in range(len(stage.profile.gpus)):
        stage.nvml.gpus.reset_counters(gpu)


def _links_up(stage: Stage, fault: PlannedFault) -> None:
    """What was down for the sake of this fault is up again."""
    if stage.files is not None:
        for port in stage.files.ports.values():
            port.end(fault.number, stage.now_s)
    if stage.nvml is not None:
        for place in stage.profile.nvlinks:
            stage.put_link(fault.number, place, None)
        for gpu in stage.nvml.gpus.fabric:
            _fabric_is(stage, gpu, STATE_COMPLETED)


def _fabric_is(stage: Stage, gpu: int, state: int) -> None:
    """A GPU that joins a domain is on its way there, or has joined it."""
    if stage.nvml is not None and stage.nvml.gpus.fabric[gpu].state in (_IN_PROGRESS, STATE_COMPLETED):
        stage.nvml.gpus.set_fabric(gpu, state=state)


def _ports_are(stage: Stage, fault: PlannedFault, state: str) -> None:
    if stage.files is not None:
        for port in stage.files.ports.values():
            port.begin(fault.number, Change(state=STATES[state]), stage.now_s)


SCRIPTS: Mapping[str, Script] = {
    "hang": lasting(_hang, _answer),
    "clock_jump": at_once(_jump),
    "gdr_off": lasting(_peer_memory_off, _peer_memory_on),
    "maintenance": lasting(lambda stage, fault: stage.around.maintenance.add(fault.number),
                           lambda stage, fault: stage.around.maintenance.discard(fault.number)),
    "exporter_restart": _restart,
    "reboot": _reboot,
    "driver_reload": _reload,
}  # fmt: skip
