"""The driver's wording: every family of lines is understood, and nothing else is."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.xid import Event, FellOff, Severity, SxidEvent, XidEvent
from exporter.sources.xid_lines import event_of, event_of_line
from tests.requires import need_data

NAMELESS = "pid='<unknown>', name=<unknown>"
LINES = {
    f"NVRM: Xid (PCI:0000:D8:00): 74, {NAMELESS}, NVLink: fatal error detected on link 6(0x0, 0x400, 0x0, 0x0, 0x0, 0x0, 0x0)": XidEvent(
        "0000:d8:00.0", 74, "6"
    ),
    "NVRM: Xid (PCI:0000:b1:00): 71, NVLink: fatal error detected on link 11": XidEvent("0000:b1:00.0", 71, "11"),
    "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x00450001 0x0 0x0 0x0 0x0 0x0)": XidEvent(
        "0018:01:00.0", 149, "8", "NETIR_LINK_EVT", Severity.FATAL
    ),
    "NVRM: Xid (PCI:0008:01:00.0): 145, pid=4711, name=ray::Worker, RLW_RXPIPE Nonfatal XC1 i0 Link 17 (0x0409 0x8)": XidEvent(
        "0008:01:00.0", 145, "17", "RLW_RXPIPE", Severity.NONFATAL
    ),
    "NVRM: Xid (PCI:0009:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000f0006": XidEvent("0009:01:00.0", 149, "", "NETIR", Severity.FATAL),
    "NVRM: Xid (PCI:0000:04:00): 146, TLW_RX/TLW_RX_PIPE0 Fatal XC0 i0 Link 00 (0x0a 0x4)": XidEvent(
        "0000:04:00.0", 146, "0", "TLW_RX/TLW_RX_PIPE0", Severity.FATAL
    ),
    "NVRM: Xid (0000:03:00): 13, Channel 00000002": XidEvent("0000:03:00.0", 13),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 31, pid=99, name=python3, Ch 00000008": XidEvent("0000:01:00.0", 31),
    "NVRM: Xid (PCI:10000:e1:00): 79, GPU has fallen off the bus.": XidEvent("10000:e1:00.0", 79),
    "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": XidEvent(
        "0009:01:00.0", 154
    ),
    "nvidia-nvswitch3: SXid (PCI:0000:C5:00.0): 20034, Fatal, Link 29 LTSSM Fault Up": SxidEvent(
        "0000:c5:00.0", 20034, "29", Severity.FATAL
    ),
    "nvidia-nvswitch0: SXid (0008:00:00.0): 12028, Non-fatal, Link 03 egress non-posted PRIV error (First)": SxidEvent(
        "0008:00:00.0", 12028, "3", Severity.NONFATAL
    ),
    "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 19055, Correctable, Link 40 RX HDR RAM ECC limit": SxidEvent(
        "0000:06:00.0", 19055, "40", Severity.CORRECTABLE
    ),
    "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 26003, Fatal, Failed to post command to SOE. Data {0x1, 0x2}": SxidEvent(
        "0000:06:00.0", 26003, "", Severity.FATAL
    ),
    "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 10004, NVSWITCH Temperature 91C | TSENSE WARN Threshold 90C": SxidEvent(
        "0000:06:00.0", 10004
    ),
    "NVRM: GPU 0000:91:00.0: GPU has fallen off the bus.": FellOff("0000:91:00.0"),
    "NVRM: GPU at 0000:91:00.0 has fallen off the bus.": FellOff("0000:91:00.0"),
    "NVRM: GPU 18:00.0: GPU has fallen off the bus.": FellOff("0000:18:00.0"),
    "NVRM: The NVIDIA GPU 0000:18:00.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\n"
    "NVRM: fallen off the bus and is not responding to commands.": FellOff("0000:18:00.0"),
    "NVRM: fallen off the bus and is not responding to commands.": FellOff(""),
}
OTHERS = [
    "",
    "NVRM: Xid",
    "NVRM: Xid error: abc",
    "NVRM: Xid (invalid): 79, no address",
    "NVRM: Xid PCI:0000:01:00: 43, pid=1, no brackets",
    "NVRM: Xid (PCI:0000:01:00): none, no number",
    "NVRM: Xid (PCI:0000:01:00): ٧٩, no digits that a driver prints",
    "NVRM: Xid (PCI:0000:01:00): 1234567890, no number of an Xid",
    "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance 37 Sub-engine instance 00",
    "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x10000000, 0x10000000}",
    "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): abc, Fatal error",
    "nvidia-nvswitch0: SXid (invalid): 20034, Fatal, Link 30",
    "NVRM: The NVIDIA GPU 0000:18:00.0",
    "NVRM: The NVIDIA GPU 0000:18:00.0 (PCI ID: 10de:1db1)\nNVRM: installed in this system is not supported by this driver",
    "NVRM: GPU at PCI:0000:91:00: GPU-00000000-1111-2222-3333-444444444444",
    "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
    "my app has fallen off the bus stop",
]
PREFIXES = [
    "3,1844,226001122,-;",
    "4,1844,226001122,c,caller=T99;",
    "[ 7001.100000] ",
    "[Fri Oct 14 14:56:49 2022] ",
    "[...] ",
    "<3>[ 7001.100000] ",
    "kern  :err   : 2025-01-21T04:41:44,283302+00:00 ",
    "2025-01-21T04:41:44.283302+00:00 node-a kernel: ",
    "Aug 17 00:00:24 node-a kernel: [ 7001.100000] ",
    "node-a kernel: ",
]


@pytest.mark.parametrize("line", LINES)
def test_every_family_of_lines_is_understood(line: str) -> None:
    """Number, address as sysfs writes it, link without leading zeros."""
    assert event_of(line) == LINES[line]


@pytest.mark.parametrize("line", OTHERS)
def test_a_line_that_reports_nothing_is_passed_over(line: str) -> None:
    """Details of another event, other drivers, and what is cut or mistyped."""
    assert event_of(line) is None
    assert event_of_line(f"[ 12.5] {line}") is None


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes_of_other_logs_are_taken_off_where_a_file_is_read(prefix: str) -> None:
    """In a file of dmesg, syslog or a journal."""
    line = next(iter(LINES))

    assert event_of_line(prefix + line) == LINES[line]


@pytest.mark.parametrize("prefix", ["usb 3-2: Product: ", "[ 12.5] ", " ", "EXT4-fs (", "audit: comm="])
def test_a_kernel_line_that_only_repeats_a_users_text_is_not_the_drivers(prefix: str) -> None:
    """A USB stick may call itself an Xid: only how a record begins is the driver's own."""
    assert [event_of(prefix + line) for line in LINES] == [None] * len(LINES)


@pytest.mark.parametrize("name", ["link 9(", "NVLink: link 9", "XC0 i0 Link 9", "X, Link 09 (0x0"])
def test_a_process_cannot_name_a_link(name: str) -> None:
    """Its name, of at most 15 characters, stands in the line of an Xid that it causes."""
    assert event_of(f"NVRM: Xid (PCI:0000:01:00): 31, pid=99, name={name}, Ch 00000008") == XidEvent("0000:01:00.0", 31)


@given(st.text(), st.sampled_from(sorted(LINES)), st.integers(0, 60))
def test_no_text_makes_it_raise(text: str, line: str, cut: int) -> None:
    """Alone, behind the start of a real line, or in its middle."""
    for one in (text, line[:cut] + text, line[:cut] + text + line[cut:]):
        for event in (event_of(one), event_of_line(one)):
            assert event is None or re.fullmatch(r"|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", event.pci)


REAL = {
    "pcie-limited-and-sxid.log": (2, 1, 0), "sxid-forms.log": (0, 5, 0), "xid-dcgm-kmsg.log": (4, 0, 0), "xid-gcm.log": (2, 0, 0),
    "xid-mixed-forms.log": (16, 0, 3), "xid-nvlink5-every-unit.log": (35, 0, 0), "xid-nvlink5-gb200.log": (19, 0, 0),
    "xid119-gsp-timeout.log": (5, 0, 0), "xid13-and-oom-iso.log": (17, 0, 0), "xid79-with-sxid20034.log": (1, 4, 1),
    "xid74-hopper.log": (3, 2, 0),
}  # fmt: skip
"""Xids, SXids and GPUs off the bus by file, counted with grep; every other file has none."""


def _real_files() -> list[Path]:
    return [path for folder in ("kernel-log", "rewritten/kernel-log") for path in sorted((need_data() / folder).iterdir())]


def test_real_logs_hold_as_many_events_as_grep_finds() -> None:
    """Every line of every captured log; those that are known to be harmless hold none."""
    found = {path.name: tuple(_of_kind(path, kind) for kind in (XidEvent, SxidEvent, FellOff)) for path in _real_files()}

    assert {name: counts for name, counts in found.items() if any(counts)} == REAL


def _of_kind(path: Path, kind: type[Event]) -> int:
    return sum(isinstance(event_of_line(line), kind) for line in path.read_text(encoding="utf-8").splitlines())


def test_numbers_and_links_of_real_lines_are_those_that_stand_there() -> None:
    """Read by a plainer rule: the first number behind the brackets, and the last thing called link."""
    wrong = []
    for path in _real_files():
        for line in path.read_text(encoding="utf-8").splitlines():
            event = event_of_line(line)
            if event is None or isinstance(event, FellOff):
                continue
            number = int(re.findall(r"\): ([0-9]+)", line)[0])
            links = re.findall(r"\b[Ll]ink 0*(-?[0-9]+)", line)
            seen = event.xid if isinstance(event, XidEvent) else event.sxid, event.port
            if seen != (number, links[-1].replace("-1", "") if links else ""):
                wrong.append(line)

    assert wrong == []
