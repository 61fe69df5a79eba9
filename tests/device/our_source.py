"""Our own NVLink source over the same driver: how long a whole pass takes, what it cannot read, and whether its numbers are the driver's.

A number that moves is asked for alone before (the survey) and after: ours must lie between. Knows our catalogue of fields.
"""

import time
from collections.abc import Iterator, Sequence
from statistics import median

from exporter.catalog.nvlink_fields import FAMILIES, Field
from exporter.model.bit_error_ratio import bit_error_ratio
from exporter.model.entity import Link
from exporter.model.fault import Fault
from exporter.model.metric import Cadence
from exporter.model.snapshot import Number, Reading, SeriesKey, Snapshot
from exporter.sources.gpu_reader import GpuReader
from exporter.sources.nvlink import NvlinkSource
from exporter.sources.nvml import Pynvml
from tests.device.findings import Report, Verdict, few
from tests.device.raw_driver import RawDriver
from tests.device.survey import Machine, active_of, ports_of

PASSES = {Cadence.FAST: 20, Cadence.NORMAL: 10, Cadence.SLOW: 3}
PASSES_MAX_S = 20.0
"""Of one cadence: on a driver that is slow fewer passes must do."""
FIELDS = {field.number: (field, family) for family in FAMILIES for field in family.fields}


def our_source(ours: Pynvml, raw: RawDriver, machine: Machine, report: Report) -> list[Reading]:
    """Time it and compare it. Returns the Readings of the last pass of each cadence."""
    report.at("a scan by our source")
    source = NvlinkSource(ours, bool, full=True)
    began_s = time.perf_counter()
    scan = source.scan(0.0, began_s)
    first_s = time.perf_counter() - began_s
    report.add(Verdict.TOLD, "a first scan of all GPUs, every question asked", _ms(first_s))
    readings = list(scan.snapshot.readings)
    faults = list(scan.snapshot.faults)
    for cadence, passes in PASSES.items():
        report.at(f"{cadence.value} passes of our source")
        last = _timed(scan.readers, cadence, passes, report)
        readings += [reading for snapshot in last for reading in snapshot.readings]
        faults += [fault for snapshot in last for fault in snapshot.faults]
    _complain(faults, report)
    report.at("the driver's numbers again, to compare with ours")
    names = {reader.index: reader.subject for reader in scan.readers}
    compare(machine, raw, names, readings, report)
    return readings


def _timed(readers: Sequence[GpuReader], cadence: Cadence, passes: int, report: Report) -> list[Snapshot]:
    """Whole passes over all GPUs; the Snapshots of the last one."""
    snapshots: list[Snapshot] = []
    walls_s: list[float] = []
    until_s = time.perf_counter() + PASSES_MAX_S
    for _ in range(passes + 1):
        began_s = time.perf_counter()
        snapshots = [reader.read(cadence, 0.0, began_s) for reader in readers]
        walls_s.append(time.perf_counter() - began_s)
        if time.perf_counter() > until_s:
            break
    later = walls_s[1:] or walls_s
    numbers = sum(len(reading.values) for snapshot in snapshots for reading in snapshot.readings)
    detail = f"median {_ms(median(later))} of {len(later)}, longest {_ms(max(later))}, first {_ms(walls_s[0])}, {numbers} numbers"
    report.add(Verdict.TOLD, f"a {cadence.value} pass over {len(readers)} GPUs", detail)
    return snapshots


def _complain(faults: list[Fault], report: Report) -> None:
    if faults:
        listed = dict.fromkeys(f"{fault.subject} {fault.reason.value}: {fault.detail}" for fault in faults)
        report.add(Verdict.CANNOT, "our source reads all that it asks for", few(listed))
    else:
        report.add(Verdict.PASS, "our source reads all that it asks for", "no fault")


def compare(machine: Machine, raw: RawDriver, names: dict[int, str], readings: list[Reading], report: Report) -> None:
    """Every number of ours that comes straight from a field, beside the field asked alone; and which links are there."""
    ours: dict[tuple[str, int], dict[SeriesKey, Number]] = {}
    for entity, values in readings:
        if isinstance(entity, Link) and entity.fabric.value == "nvlink":
            ours.setdefault((entity.device, int(entity.port)), {}).update(values)
    differences: list[str] = []
    compared = 0
    for gpu, name in names.items():
        surveyed = machine["gpus"][gpu]
        mine = sorted(port for device, port in ours if device == name)
        if mine != sorted(ports_of(surveyed)):
            differences.append(f"GPU {gpu}: our source has links {mine}, the driver {list(ports_of(surveyed))}")
        for port in mine:
            for field, low in _answered(surveyed["scopes"].get(str(port), {})):
                number = ours[name, port].get(field.key)
                if number is None:
                    continue
                high = raw.field(gpu, field.number, port).get("value")
                compared += 1
                if high is not None and not _between(field, low, number, high):
                    differences.append(f"GPU {gpu} link {port}: {field.key} {number}, field {field.number} went from {low} to {high}")
    report.compare("our numbers are those of the fields", differences, f"{compared} numbers of {len(names)} GPUs")


def _answered(answers: dict[str, dict[str, Number]]) -> Iterator[tuple[Field, Number]]:
    """Each field that goes to a series of ours and what it said: where several go to one, the first that is answered."""
    taken = set()
    for number, (field, _) in FIELDS.items():
        answer = answers.get(str(number), {})
        if field.key not in taken and answer.get("value") is not None:
            taken.add(field.key)
            yield field, answer["value"]


def _between(field: Field, low: Number, ours: Number, high: Number) -> bool:
    """Whether ours may be what the field said at some time between; a number that went down in between may be anything."""
    if field.is_ratio:
        return low != high or ours == bit_error_ratio(int(low))
    return high < low or low * field.scale <= ours <= high * field.scale


def odd_questions(raw: RawDriver, machine: Machine, report: Report) -> None:
    """What is not documented: an inactive link in a call with others, all links at once, the link behind the last one."""
    report.at("what is not documented")
    for gpu, surveyed in enumerate(machine["gpus"]):
        ports, active = ports_of(surveyed), active_of(surveyed)
        inactive = [port for port in ports if port not in active]
        for field in (138, 202, 165):
            known = [port for port in active if "value" in surveyed["scopes"][str(port)].get(str(field), {})]
            if inactive and known:
                answers = raw.fields(gpu, [(field, known[0]), (field, inactive[0])])
                codes = [answer.get("ret", 0) for answer in answers]
                how = "fails the whole call" if answers[0].get("whole") else "costs only its own value"
                item = f"GPU {gpu}: inactive link {inactive[0]} beside active link {known[0]}, field {field}"
                report.add(Verdict.TOLD, item, f"{how}, codes {codes}")
        if ports:
            behind = len(ports)
            state = surveyed["links"].get(str(behind), {}).get("state", {})
            field_says = raw.field(gpu, 165, behind)
            report.add(Verdict.TOLD, f"GPU {gpu}: link {behind}, behind the last", f"call {_short(state)}, field 165 {_short(field_says)}")
        _sums(gpu, surveyed, report)


def _sums(gpu: int, surveyed: Machine, report: Report) -> None:
    """What scope 0xFFFFFFFF said for each field, beside the sum over the links, which were asked at other times."""
    said = []
    for number, answer in surveyed["sums"].items():
        links = [one.get(number, {}).get("value") for one in surveyed["scopes"].values()]
        values = [value for value in links if value is not None]
        if answer.get("value") is not None:
            said.append(f"field {number} {answer['value']} (links: {sum(values)})")
    refused = sorted({int(answer["ret"]) for answer in surveyed["sums"].values() if "ret" in answer})
    report.add(Verdict.TOLD, f"GPU {gpu}: all links at once (0xFFFFFFFF)", few(said, 12) or f"nothing; codes {refused}")


def _short(answer: dict[str, object]) -> str:
    return f"value {answer['value']}" if "value" in answer else f"code {answer.get('ret')}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
