"""What befalls GPUs, their NVLinks and NVML: states, rate, counters, partitions, Xids, errors instead of answers. Does it to FakeNvml."""

from collections.abc import Mapping

from exporter.model.gpu_fabric import STATE_COMPLETED, STATUS_WELL
from exporter.simulator.faults.script import Script, at_once, lasting
from exporter.simulator.gpu_models import CRC_ERRORS, RATE, RECOVERIES, REPLAYS, GpuModel
from exporter.simulator.node_links import gpu_number, matching, nvlink_place
from exporter.simulator.nvlink_counters import counter_of
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.scenario import PlannedFault
from exporter.simulator.simulated_gpus import INACTIVE, SLEEP, TRAFFIC_DISABLED
from exporter.simulator.stage import Stage

STATES = {"down": INACTIVE, "sleep": SLEEP, "traffic_disabled": TRAFFIC_DISABLED}
COUNTERS: Mapping[str, tuple[int, ...]] = {
    "replay": (REPLAYS,), "crc": (CRC_ERRORS,), "recovery": (RECOVERIES, 215), "recovery_successful": (213,), "recovery_failed": (214,),
    "malformed_packet": (206,), "buffer_overrun": (207,), "receive": (208,), "receive_remote": (209,), "receive_general": (210,),
    "local_link_integrity": (211,), "transmit_discard": (212,), "effective": (219,), "symbol": (221,), "blocks_repeated": (295,),
}  # fmt: skip
"""Counters of an NVLink by the name that a scenario has for them: fields, of which a GPU counts in one."""
CODES: Mapping[str, int] = {"uninitialized": 1, "not_supported": 3, "no_permission": 4, "driver_not_loaded": 9, "timeout": 10,
                            "gpu_is_lost": 15, "reset_required": 16, "version_mismatch": 18, "unknown": 999}  # fmt: skip
"""nvmlReturns by name; a number will do as well."""
CALLS = ("facts", "read", "ask", "ask_link", "peer_pci", "port_counters", "fabric", "platform", "firmware", "processes",
         "mig_uuids")  # fmt: skip
"""Methods that are about one GPU."""
NODE_CALLS = ("open", "driver_version", "gpu_count", "node_bandwidth_mode", "watch_xids", "xids")


_INSUFFICIENT_RESOURCES = 23
_SAYS: Mapping[str, Mapping[str, int]] = {
    "unhealthy": {"status": _INSUFFICIENT_RESOURCES},
    "in_progress": {"state": 2},
    "not_started": {"state": 1},
}
"""What a GPU may say of its NVLink domain (nvml.h, nvmlGpuFabricState_t): "completed" with a bad status is one that it cannot use."""


def counter_named(model: GpuModel, name: str) -> int:
    """The field in which a GPU of that model counts it. Raises KeyError if it does not."""
    generation = model.generation
    for field in COUNTERS[name]:
        if field in generation.link_fields or counter_of(field) in generation.error_calls:
            return field
    raise KeyError(name)


def code_named(text: str) -> int:
    """An nvmlReturn by name or number. Raises KeyError for neither."""
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 1000 else CODES[text]


def rate_of(text: str) -> int:
    """MB/s of `13281` or `13281 MB/s`. Raises ValueError for anything else."""
    number = text.removesuffix("MB/s").strip()
    if not (number.isascii() and number.isdigit()):
        raise ValueError(text)
    return int(number)


def places(stage: Stage, fault: PlannedFault) -> tuple[Place, ...]:
    """The wired NVLinks that the fault names."""
    found = [nvlink_place(stage.profile, link) for link in matching(stage.profile, fault.target)]
    return tuple(place for place in found if place is not None)


def _down(stage: Stage, fault: PlannedFault) -> None:
    for place in places(stage, fault):
        stage.put_link(fault.number, place, STATES.get(fault.text_of("state", "down"), INACTIVE))


def _up(stage: Stage, fault: PlannedFault) -> None:
    for place in places(stage, fault):
        stage.put_link(fault.number, place, None)


def _rate(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is not None:
        for place in places(stage, fault):
            stage.nvml.gpus.show(place.gpu, RATE, rate_of(fault.text_of("to")), place.link)


def _usual_rate(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is not None:
        for place in places(stage, fault):
            stage.nvml.gpus.show(place.gpu, RATE, None, place.link)


def _rising(stage: Stage, fault: PlannedFault) -> None:
    for place, counter in _counters(stage, fault):
        stage.add_errors(fault.number, place, counter, fault.number_of("per_second"))


def _calm(stage: Stage, fault: PlannedFault) -> None:
    for place, counter in _counters(stage, fault):
        stage.add_errors(fault.number, place, counter, None)


def _counters(stage: Stage, fault: PlannedFault) -> list[tuple[Place, int]]:
    gpus = stage.profile.gpus
    return [(place, counter_named(gpus[place.gpu].model, fault.text_of("counter"))) for place in places(stage, fault)]


def _set(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is not None:
        for place, counter in _counters(stage, fault):
            stage.nvml.gpus.set_counter(place.gpu, place.link, counter, int(fault.number_of("value")))


def _reset(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is None:
        return
    if fault.text_of("counter"):
        for place, counter in _counters(stage, fault):
            stage.nvml.gpus.set_counter(place.gpu, place.link, counter, 0)
    else:
        for place in places(stage, fault):
            stage.nvml.gpus.reset_link(place.gpu, place.link)


def _partition(stage: Stage, fault: PlannedFault, *, on: bool) -> None:
    if stage.nvml is not None:
        stage.nvml.gpus.set_partitioned(gpu_number(stage.profile, fault.target), on=on)


def _unjoined(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is not None:
        stage.nvml.gpus.set_fabric(gpu_number(stage.profile, fault.target), **_SAYS[fault.text_of("says")])


def _joined(stage: Stage, fault: PlannedFault) -> None:
    if stage.nvml is not None:
        stage.nvml.gpus.set_fabric(gpu_number(stage.profile, fault.target), state=STATE_COMPLETED, status=STATUS_WELL)


def _xid(stage: Stage, fault: PlannedFault) -> None:
    number, xid = gpu_number(stage.profile, fault.target), int(fault.number_of("xid"))
    gpu = stage.profile.gpus[number]
    rest = "pid='<unknown>', name=<unknown>"
    if "port" in fault.values:
        port = int(fault.number_of("port"))
        says_newer = gpu.model.generation.has_registers
        rest = f"NETIR_LINK_EVT Fatal XC0 i0 Link {port:02d}" if says_newer else f"{rest}, NVLink: fatal error detected on link {port}(0x0)"
    stage.log_line(f"NVRM: Xid (PCI:{gpu.pci.rpartition('.')[0]}): {xid}, {rest}")
    if stage.nvml is not None:
        stage.nvml.gpus.raise_xid(number, xid)


def _refuse(stage: Stage, fault: PlannedFault) -> None:
    _answer(stage, fault, code_named(fault.text_of("code")))


def _answer_again(stage: Stage, fault: PlannedFault) -> None:
    _answer(stage, fault, None)


def _answer(stage: Stage, fault: PlannedFault, code: int | None) -> None:
    if stage.nvml is None:
        return
    troubles, call, device = stage.nvml.troubles, fault.text_of("call"), fault.text_of("device")
    gpu = gpu_number(stage.profile, device) if device else None
    if not call and gpu is None:
        troubles.gone = code
    for one in (call,) if call else CALLS if gpu is not None else ():
        troubles.fail(one, code, gpu)


SCRIPTS: Mapping[str, Script] = {
    "down": lasting(_down, _up),
    "rate": lasting(_rate, _usual_rate),
    "counter_rate": lasting(_rising, _calm),
    "counter_set": at_once(_set),
    "counter_reset": at_once(_reset),
    "mig": lasting(lambda stage, fault: _partition(stage, fault, on=True), lambda stage, fault: _partition(stage, fault, on=False)),
    "domain": lasting(_unjoined, _joined),
    "xid": at_once(_xid),
    "nvml_error": lasting(_refuse, _answer_again),
}
