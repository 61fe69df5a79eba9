"""Compares what the driver tells us with what NVIDIA's own tool makes of the same driver: GPUs, links, counters, topology.

Knows which of the tool's words is which field. A counter that moves is asked for before and after: the tool's number must lie between.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from exporter.cli.nvlink_facts import counts_in
from exporter.model.node_topology import matrix_text
from exporter.model.snapshot import Reading
from exporter.runtime.open_files import raise_limit
from exporter.sources.node_places import NodePlaces
from exporter.sources.sysfs import RealFiles
from tests.device import nvidia_smi
from tests.device.findings import Report, Verdict
from tests.device.raw_driver import RawDriver
from tests.device.survey import Machine, active_of, ports_of
from tests.sources.imitated_topology import Matrix, matrix_of

BYTES_PER_KIB = 1024
RATE_FIELD = 164
THROUGHPUT: Mapping[str, tuple[tuple[int, int], ...]] = {"data tx": ((138, 1), (202, BYTES_PER_KIB)),
                                                         "data rx": ((139, 1), (204, BYTES_PER_KIB))}  # fmt: skip
"""The tool's name in KiB → fields and what of theirs makes a KiB; the first that the GPU answers."""
ERRORS: Mapping[str, tuple[tuple[int, int], ...]] = {
    name: ((field, 1),)
    for name, field in {
        "replay errors": 161, "recovery errors": 162, "crc errors": 163, "malformed packet errors": 206, "buffer overrun errors": 207,
        "rx errors": 208, "rx remote errors": 209, "rx general errors": 210, "local link integrity errors": 211, "tx discards": 212,
        "link recovery successful events": 213, "link recovery failed events": 214, "total link recovery events": 215,
        "effective errors": 219, "symbol errors": 221,
    }.items()
}  # fmt: skip

COUNTS = ((nvidia_smi.THROUGHPUT, "bytes of links", THROUGHPUT), (nvidia_smi.ERRORS, "error counters of links", ERRORS))
Meaning = Mapping[str, tuple[tuple[int, int], ...]]
Numbers = Mapping[tuple[int, int, int], int]
"""By GPU, link and field."""


def beside_tool(raw: RawDriver, machine: Machine, readings: list[Reading], report: Report) -> None:
    """All comparisons. `readings` are those of our NVLink source, SLOW ones included. What the tool printed is kept in the machine."""
    kept: dict[str, str] = machine.setdefault("nvidia_smi", {})

    def ask(arguments: tuple[str, ...], item: str, compare: Callable[[str], None]) -> None:
        command = " ".join(arguments)
        report.at(f"{nvidia_smi.TOOL} {command}")
        try:
            text = kept[command] = nvidia_smi.ask(arguments)
        except nvidia_smi.UnavailableError as error:
            report.add(Verdict.CANNOT, item, str(error))
            return
        compare(text)

    ask(nvidia_smi.LIST, "list of GPUs", lambda text: _compare_list(text, machine, report))
    ask(nvidia_smi.STATUS, "states and rates of links", lambda text: _compare_rates(text, machine, report))
    for arguments, item, meaning in COUNTS:
        before = numbers_now(raw, machine, meaning)
        ask(arguments, item, partial(_compare_counts, item, meaning, before, raw, machine, report))
    ask(nvidia_smi.TOPOLOGY, "topology", lambda text: _compare_topology(text, readings, report))


def numbers_now(raw: RawDriver, machine: Machine, meaning: Meaning) -> Numbers:
    """Every link's numbers of these fields as the driver tells them now, each alone; those that it refused before are missing."""
    found: dict[tuple[int, int, int], int] = {}
    for gpu, surveyed in enumerate(machine["gpus"]):
        for link in ports_of(surveyed):
            known = surveyed["scopes"].get(str(link), {})
            for field in [field for fields in meaning.values() for field, _ in fields if "value" in known.get(str(field), {})]:
                answer = raw.field(gpu, field, link)
                if answer.get("value") is not None:
                    found[gpu, link, field] = int(answer["value"])
    return found


def _compare_counts(item: str, meaning: Meaning, before: Numbers, raw: RawDriver, machine: Machine, report: Report, text: str) -> None:
    compare_counts(item, nvidia_smi.counts(text), meaning, (before, numbers_now(raw, machine, meaning)), report)


def compare_counts(item: str, shown: nvidia_smi.Counts, meaning: Meaning, ends: tuple[Numbers, Numbers], report: Report) -> None:
    """Each number that is shown must lie between the driver's before and after."""
    before, after = ends
    differences, compared, unknown = [], 0, set()
    for gpu, link, name, number in _listed(shown):
        found = next(((field, unit) for field, unit in meaning.get(name, ()) if (gpu, link, field) in before), None)
        if found is None:
            unknown.add(name)
            continue
        field, unit = found
        low, high = (numbers.get((gpu, link, field), 0) // unit for numbers in (before, after))
        compared += 1
        if not low <= number <= high:
            differences.append(f"GPU {gpu} link {link}: {name} {number}, field {field} went from {low} to {high}")
    if not compared:
        report.add(Verdict.CANNOT, item, f"nothing to compare; not understood or not in our fields: {sorted(unknown) or 'no line'}")
        return
    report.compare(item, differences, f"{compared} numbers lie between ours before and after")
    if unknown:
        report.add(Verdict.TOLD, f"{item}: names without a field of ours", ", ".join(sorted(unknown)))


def _listed(shown: nvidia_smi.Counts) -> Iterator[tuple[int, int, str, int]]:
    for gpu, links in shown.items():
        for link, numbers in links.items():
            yield from ((gpu, link, name, number) for name, number in numbers.items())


def _compare_list(text: str, machine: Machine, report: Report) -> None:
    theirs = [(gpu.number, gpu.name, gpu.uuid) for gpu in nvidia_smi.listed_gpus(text)]
    identities = [gpu["identity"] for gpu in machine["gpus"]]
    ours = [(index, one["name"].get("value"), one["uuid"].get("value")) for index, one in enumerate(identities)]
    differences = [f"the tool has {other}, the driver tells us {one}" for one, other in zip(ours, theirs, strict=False) if one != other]
    if len(ours) != len(theirs):
        differences.append(f"the tool lists {len(theirs)} GPUs, the driver counts {len(ours)}")
    report.compare("list of GPUs", differences, f"{len(ours)} GPUs with index, name and UUID")


def _compare_rates(text: str, machine: Machine, report: Report) -> None:
    """A GPU of which the tool shows no link at all has none that is active."""
    shown = nvidia_smi.rates(text)
    differences, compared = [], 0
    for index, gpu in enumerate(machine["gpus"]):
        theirs = {link: rate for link, rate in shown.get(index, {}).items() if rate is not None}
        ours = active_of(gpu)
        if set(theirs) != set(ours):
            differences.append(f"GPU {index}: active are {sorted(theirs)} for the tool, {list(ours)} by the state call")
        for link in set(theirs) & set(ours):
            rate = gpu["scopes"].get(str(link), {}).get(str(RATE_FIELD), {}).get("value")
            compared += rate is not None
            if rate is not None and not theirs[link].fits(int(rate)):
                differences.append(f"GPU {index} link {link}: {theirs[link].mb_per_s} MB/s for the tool, field {RATE_FIELD} says {rate}")
    report.compare("states and rates of links", differences, f"{compared} rates, and who is active on {len(machine['gpus'])} GPUs")


def _compare_topology(text: str, readings: list[Reading], report: Report) -> None:
    """Our matrix of this node, from /sys and the driver, beside the tool's."""
    look = NodePlaces(RealFiles("/sys", raise_limit())).look(0.0, counts_in(readings))
    if not look.topology.gpus:
        report.add(Verdict.CANNOT, "topology", "/sys shows no GPU here: a container may not see the host's PCI devices")
        return
    compare_matrices(matrix_of(matrix_text(look.topology)), matrix_of(text), report)


def compare_matrices(ours: Matrix, theirs: Matrix, report: Report) -> None:
    """The relation of each two devices that both know."""
    both = ours.cells.keys() & theirs.cells.keys()
    differences = [f"{pair[0]}–{pair[1]}: {theirs.cells[pair]} for the tool, ours {ours.cells[pair]}" for pair in sorted(both)
                   if ours.cells[pair] != theirs.cells[pair]]  # fmt: skip
    alone = sorted(set(ours.devices) ^ set(theirs.devices))
    if alone:
        report.add(Verdict.TOLD, "devices in one matrix only", ", ".join(alone))
    if both:
        report.compare("topology", differences, f"{len(both)} cells are the same")
    else:
        report.add(Verdict.CANNOT, "topology", "the two matrices have no device in common")
