"""The reference of every series, written from the catalogue."""

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from exporter.catalog import CATALOGUE
from exporter.catalog.ethernet_events import ETHERNET_EVENTS, EthernetEvent
from exporter.catalog.ethtool_names import LEFT_OUT
from exporter.catalog.hw_events import HW_EVENTS_KNOWN, HwEvent
from exporter.catalog.xid import NVLINK_SXIDS, NVLINK_XIDS
from exporter.cli.exits import Exit
from exporter.model.metric import Metric, Unit

AREAS: Mapping[str, str] = {
    "fabric_nvlink_": "NVLink",
    "fabric_gpu_": "GPUs and their jobs",
    "fabric_c2c_": "Links between GPUs and Grace CPUs",
    "fabric_xid_": "Kernel log",
    "fabric_sxid_": "Kernel log",
    "fabric_kernel_log_": "Kernel log",
    "fabric_infiniband_": "InfiniBand and RoCE",
    "fabric_ethernet_": "Ethernet, and what it adds to RoCE",
    "fabric_pcie_": "PCIe links of GPUs, RDMA devices and NICs",
    "fabric_gpudirect_": "GPUDirect RDMA",
    "fabric_link_": "Links: what the rules say",
    "fabric_rail_": "Rails",
    "fabric_node_": "Node",
    "fabric_probe_": "Probes",
    "fabric_exporter_": "The exporter itself",
}
"""Public prefix → heading, in the order of the page; a row that fits none stands under `Other`."""
OTHER = "Other"

BORROWED: Mapping[str, str] = {
    "process_*": "CPU seconds, resident and virtual memory, open and allowed file handles, start time of the daemon's process.",
    "python_gc_*": "Collections, objects collected and uncollectable, by generation.",
    "python_info": "Version and implementation of Python; value is always 1.",
}
"""Series that prometheus_client's own collectors add to the page, unless exposition.exporter_metrics is false."""

XID_LISTS: Mapping[str, Mapping[int, str]] = {"Xids that speak of NVLink": NVLINK_XIDS, "SXids that speak of NVLink": NVLINK_SXIDS}
XID_WORDS = "These stand at 0 as soon as their GPU or NVSwitch is seen; any other number appears when it first comes."

Event: TypeAlias = HwEvent | EthernetEvent
HW_EVENTS_WORDS = """\
Values of the label `event` of `fabric_infiniband_hw_events_total` whose meaning is known; others are shown under the driver's own name."""
ETHERNET_EVENTS_WORDS = """\
Every value of the label `event` of `fabric_ethernet_events_total`. The first are the kernel's (`statistics/`), the others the driver's own
(`ethtool -S`); an interface has those that its driver has."""
EVENT_LISTS: Sequence[tuple[str, str, Mapping[str, Event]]] = (
    ("Known RDMA driver events", HW_EVENTS_WORDS, HW_EVENTS_KNOWN),
    ("Ethernet events", ETHERNET_EVENTS_WORDS, ETHERNET_EVENTS),
)
"""Title, what stands above the list, and events by name."""
LEFT_OUT_TITLE = "Ethernet statistics left out"
LEFT_OUT_WORDS = """\
What `ethtool -S` has and is not shown, as patterns of the whole name. A driver that does not stand
here is not asked for statistics at all; the files of its interfaces are read."""

NO_RAW = "computed by the exporter"
TEXT_WIDTH = 100

HEAD = """\
# Metrics

<!-- Written by `fabric-exporter metrics --markdown` from exporter/catalog/; do not edit. -->

Every series of this version. A tier holds all before it: aggregate, basic, standard (the default), full. A number that could not be
read is a missing series, never 0. Counters appear at their first reading, so that the first event is an increase.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--markdown."""
    parser.add_argument("--markdown", action="store_true", help="the page of the documentation instead of a list for the terminal")


def run(args: argparse.Namespace) -> int:
    """0 and the reference on stdout."""
    print(markdown() if args.markdown else plain(), end="")
    return Exit.OK


def markdown() -> str:
    """The reference as Markdown, ending in a newline."""
    parts = [HEAD, *(f"## {area}\n\n" + "\n".join(map(_entry, rows)) for area, rows in areas().items())]
    parts += [f"## {title}\n\n{words}\n\n{_table(('event', 'meaning', 'role in the rules'), _event_cells(events))}"
              for title, words, events in EVENT_LISTS]  # fmt: skip
    parts += [f"## {title}\n\n{XID_WORDS}\n\n{_table(('number', 'meaning'), ((str(n), words) for n, words in codes.items()))}"
              for title, codes in XID_LISTS.items()]  # fmt: skip
    parts += [f"## {LEFT_OUT_TITLE}\n\n{LEFT_OUT_WORDS}\n\n{_table(('driver', 'statistic', 'why'), _left_out_cells())}"]
    parts.append("## Process and Python\n\nFrom prometheus_client's collectors; `--web.disable-exporter-metrics` leaves them out.\n\n"
                 + _table(("series", "meaning"), ((f"`{name}`", words) for name, words in BORROWED.items())))  # fmt: skip
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, ending in a newline; a bar in a cell is written so that it stays in it."""
    lines = (heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows))
    return "".join(f"|{'|'.join(row)}|\n" if row[0] == "---" else f"| {' | '.join(row)} |\n" for row in lines)


def _event_cells(events: Mapping[str, Event]) -> Iterator[tuple[str, str, str]]:
    yield from ((f"`{name}`", event.help, event.role.value if event.role else "") for name, event in events.items())


def _left_out_cells() -> Iterator[tuple[str, str, str]]:
    yield from ((f"`{driver}`", f"`{pattern}`", why) for driver, patterns in LEFT_OUT.items() for pattern, why in patterns.items())


def plain() -> str:
    """The reference for a terminal: name, type and tier aligned, the help below."""
    return "\n".join(_plain_lines()) + "\n"


def areas() -> dict[str, list[Metric]]:
    """Rows by heading, both in the order of the page; no empty heading."""
    grouped: dict[str, list[Metric]] = {}
    for row in CATALOGUE.values():
        area = next((title for prefix, title in AREAS.items() if row.name.startswith(prefix)), OTHER)
        grouped.setdefault(area, []).append(row)
    return {area: grouped[area] for area in (*AREAS.values(), OTHER) if area in grouped}


def _entry(row: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in row.labels) or "none"
    facts = [f"type: {row.kind.exposed_type}", f"unit: {unit_words(row)}", f"labels: {labels}", f"tier: {row.tier.name.lower()}",
             f"found in: `{row.raw}`" if row.raw else f"found in: {NO_RAW}"]  # fmt: skip
    if row.absent:
        facts.append(f"no series: {row.absent}")
    return f"### `{row.name}`\n\n{row.help}\n\n" + "\n".join(f"- {fact}" for fact in facts) + "\n"


def unit_words(row: Metric) -> str:
    """The row's unit for a person."""
    words = {Unit.COUNT: "count", Unit.STATE: "number of a state", Unit.TIMESTAMP: "seconds since 1970 (Unix time)"}
    return words.get(row.unit, row.unit.value.replace("_", " "))


def _plain_lines() -> Iterator[str]:
    width = max(len(row.name) for row in CATALOGUE.values())
    for area, rows in areas().items():
        yield f"{area}\n"
        for row in rows:
            yield f"  {row.name:<{width}}  {row.kind.exposed_type:<7}  {row.tier.name.lower():<9}  {{{','.join(row.labels)}}}"
            yield textwrap.fill(row.help, TEXT_WIDTH, initial_indent="      ", subsequent_indent="      ")
        yield ""
    for title, _, events in EVENT_LISTS:
        yield f"{title} (label event)\n"
        event_width = max(map(len, events))
        yield from (f"  {name:<{event_width}}  {event.help}" for name, event in events.items())
        yield ""
    for title, codes in XID_LISTS.items():
        yield f"{title}\n"
        yield from (f"  {number:<6}  {words}" for number, words in codes.items())
        yield ""
    yield f"{LEFT_OUT_TITLE}\n"
    pattern_width = max(len(pattern) for patterns in LEFT_OUT.values() for pattern in patterns)
    yield from (f"  {driver:<10}  {pattern:<{pattern_width}}  {why}"
                for driver, patterns in LEFT_OUT.items() for pattern, why in patterns.items())  # fmt: skip
    yield "\nProcess and Python (prometheus_client)\n"
    borrowed_width = max(map(len, BORROWED))
    yield from (f"  {name:<{borrowed_width}}  {words}" for name, words in BORROWED.items())
