"""Reads one GPU through NVML: its NVLinks, its place in an NVLink domain, its chip-to-chip links, who it is. A DeviceReader.

Knows which question belongs to which cadence. A question that the GPU does not answer costs only its own series; a GPU that is gone costs
its own pass.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from exporter.catalog import gpu as rows
from exporter.catalog.nvlink import (
    ASLEEP,
    PEER_TYPES,
    PRESENCE,
    PRESENCE_DOWN,
    PRESENCE_MIG,
    PRESENCE_UNKNOWN,
    PRESENCE_UNWIRED,
    TRAFFIC_DISABLED,
    VERSIONS,
)
from exporter.catalog.nvlink import INFO as LINK_INFO
from exporter.catalog.nvlink_fields import C2C_COUNT, CHIP_TO_CHIP, CONNECTED_COUNT, PEER_LINK, RECOVERY_ACTION, VERSION
from exporter.model.entity import Device, Fabric, Link
from exporter.model.expected_links import Expectation, is_expected
from exporter.model.expected_links import GpuLinks as LinksNow
from exporter.model.gpu_fabric import STATE_UNSUPPORTED, health_fields, is_healthy
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.fault_list import FaultList
from exporter.sources.field_family import WITHOUT, FamilyReader
from exporter.sources.gpu_links import GpuLinks
from exporter.sources.gpu_questions import Questions
from exporter.sources.link_readings import LinkReadings
from exporter.sources.nvml_session import (
    DeviceQuestion,
    FabricFacts,
    GpuFacts,
    LinkQuestion,
    Nvml,
    NvmlError,
    PlatformFacts,
    reason_of_code,
    words_of_code,
)

SOURCE = "nvlink"
NO_PEER = "ffffffff:ff:ff.0"
"""PCI address of a far end that is no PCI device of this node: the switches of an NVL72 rack (NVIDIA/k8s-test-infra)."""
_C2C_LINK_MAX = 32


class GpuReader:
    """`subject` is the GPU's slot name. `on_pass` is told after each pass, by UUID, which error ended it, None if none did. Not
    thread-safe."""

    cadences = (Cadence.FAST, Cadence.NORMAL, Cadence.SLOW)

    def __init__(self, nvml: Nvml, index: int, name: str, facts: GpuFacts, *, full: bool,
                 on_pass: Callable[[str, NvmlError | None], None]) -> None:  # fmt: skip
        self.subject = name
        self.index = index
        self.facts = facts
        self.links = GpuLinks(nvml, index, name, full=full)
        self.peers: Mapping[int, tuple[str, str]] = {}
        """Where each active link leads: kind and PCI address."""
        self.expectation = Expectation("unknown")
        self.mig_on_node = False
        """True while any GPU of the node is partitioned: NVML then reports links as down that are not (NVIDIA bug 200682374)."""
        self._nvml = nvml
        self._device = Device(name)
        self._questions = Questions(name)
        self._c2c = FamilyReader(nvml, index, CHIP_TO_CHIP)
        self._c2c_links: tuple[int, ...] | None = None
        self._c2c_readings = LinkReadings({link: Link(Fabric.C2C, name, str(link)) for link in range(_C2C_LINK_MAX)})
        self._fabric: FabricFacts | None = None
        self._on_pass = on_pass
        self._feeds = {cadence: Feed(SOURCE, name, cadence) for cadence in Cadence}

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass. Never raises for the driver's trouble."""
        faults = FaultList(SOURCE)
        readings: tuple[Reading, ...] = ()
        ended_by: NvmlError | None = None
        try:
            if cadence is Cadence.FAST:
                readings = self._fast(faults)
            elif cadence is Cadence.NORMAL:
                readings = self._normal(faults)
            else:
                readings = self._slow(faults)
        except NvmlError as error:
            faults.add(self.subject, error.reason, str(error))
            ended_by = error
        self._on_pass(self.facts.uuid, ended_by)
        return Snapshot(self._feeds[cadence], wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """The session is the source's."""

    def get_to_know(self) -> None:
        """Look at states and far ends, so that the scan which found the GPU can say what to expect of it. Its trouble shows in the reads
        that follow."""
        unheard = FaultList(SOURCE)
        with suppress(NvmlError):
            self.links.read(Cadence.FAST, unheard)
            self._far_ends(unheard)

    def now(self) -> LinksNow:
        """The links as they were at the last look."""
        facts = self.facts
        return LinksNow(self.subject, facts.uuid, facts.name, facts.pci, self.links.ports or (), self.links.active, self.peers)

    def mig_mode(self, faults: FaultList) -> int | None:
        """1 while the GPU is partitioned; None if it cannot be. Raises NvmlError if the GPU is gone."""
        return self._questions.ask("MIG mode", lambda: self._nvml.ask(self.index, DeviceQuestion.MIG_MODE), faults)

    def device_ids(self, faults: FaultList) -> tuple[str, ...]:
        """What others call it and its parts: its UUID, its device file (`nvidia3`), the UUIDs of its MIG devices. Raises NvmlError if the
        GPU is gone."""
        ask, nvml = self._questions.ask, self._nvml
        minor = ask("minor number", lambda: nvml.ask(self.index, DeviceQuestion.MINOR_NUMBER), faults)
        files = (f"nvidia{minor}",) if minor is not None else ()
        parts = (ask("MIG devices", lambda: nvml.mig_uuids(self.index), faults) or ()) if self.mig_mode(faults) else ()
        return (self.facts.uuid, *files, *parts)

    def _fast(self, faults: FaultList) -> tuple[Reading, ...]:
        readings = self.links.read(Cadence.FAST, faults)
        ports, states = self.links.ports or (), self.links.states
        if ports and len(states) == len(ports):
            readings.append(Reading(self._device, {rows.LINKS_ACTIVE.key: len(self.links.active)}))
        readings += [
            Reading(Link(Fabric.NVLINK, self.subject, str(port)), {PRESENCE.key: self._presence(port, state)})
            for port, state in states.items()
            if state != 1
        ]
        return tuple(readings)

    def _presence(self, port: int, state: int) -> int:
        """What a link that is not active is. A state that this program does not know says nothing."""
        if state:
            return state if state in (ASLEEP, TRAFFIC_DISABLED) else PRESENCE_UNKNOWN
        if self.mig_on_node:
            return PRESENCE_MIG
        expected = self.expectation.expected
        wanted = is_expected(port, self.now(), expected) if expected is not None else None
        return {True: PRESENCE_DOWN, False: PRESENCE_UNWIRED, None: PRESENCE_UNKNOWN}[wanted]

    def _normal(self, faults: FaultList) -> tuple[Reading, ...]:
        readings = self.links.read(Cadence.NORMAL, faults)
        values: dict[SeriesKey, Number] = {}
        action = self._questions.fields(self._nvml, self.index, (RECOVERY_ACTION,), faults)
        if RECOVERY_ACTION in action:
            values[rows.RECOVERY_ACTION.key] = action[RECOVERY_ACTION]
        mig = self.mig_mode(faults)
        if mig is not None:
            values[rows.MIG_ENABLED.key] = int(mig != 0)
        values |= self._domain(faults)
        readings += [Reading(self._device, values)] if values else []
        return (*readings, *self._chip_to_chip(faults))

    def _domain(self, faults: FaultList) -> dict[SeriesKey, Number]:
        """State and health of its place in an NVLink domain; nothing for a GPU without one."""
        facts = self._fabric = self._questions.ask("fabric state", lambda: self._nvml.fabric(self.index), faults)
        if facts is None or facts.state == STATE_UNSUPPORTED:
            return {}
        values: dict[SeriesKey, Number] = {rows.FABRIC_STATE.key: facts.state}
        healthy = is_healthy(facts.state, facts.status, facts.cluster_uuid, facts.health_mask, facts.summary)
        if healthy is not None:
            values |= {rows.FABRIC_STATUS.key: facts.status, rows.FABRIC_HEALTHY.key: int(healthy)}
        values |= {(rows.FABRIC_HEALTH.key, name): value for name, value in health_fields(facts.health_mask or 0).items()}
        if facts.summary:
            values[rows.FABRIC_HEALTH.key, "summary"] = facts.summary
        return values

    def _chip_to_chip(self, faults: FaultList) -> list[Reading]:
        """Links to the Grace CPU, on a superchip: counted once, then all of them in one call."""
        if self._c2c_links is None:
            count = self._questions.fields(self._nvml, self.index, (C2C_COUNT,), faults).get(C2C_COUNT)
            if count is None:
                return []
            self._c2c_links = tuple(range(min(count, _C2C_LINK_MAX)))
        self._c2c.probe(self._c2c_links, self._c2c_links)
        one = self._c2c.read(self._c2c_links)
        if one is None:
            return []
        for link, field, code in one.refused.values():
            if code not in WITHOUT:  # a link that is not up has no bandwidth, and that is no fault
                faults.add(f"{self.subject}/c2c/{link}", reason_of_code(code), f"field {field.number}: {words_of_code(code)}")
        return self._c2c_readings.of([one])

    def _slow(self, faults: FaultList) -> tuple[Reading, ...]:
        facts, nvml, index = self.facts, self._nvml, self.index
        domain = self._fabric if self._fabric is not None and self._fabric.state != STATE_UNSUPPORTED else None
        identity: SeriesKey = (rows.INFO.key, facts.uuid, facts.pci, printable(facts.name), _text(facts.module_id),
                               domain.cluster_uuid if domain else "", _text(domain.clique_id if domain else None))  # fmt: skip
        values: dict[SeriesKey, Number] = {identity: 1}
        platform = self._questions.ask("platform", lambda: nvml.platform(index), faults)
        if platform is not None:
            values[_platform_key(platform)] = 1
        for part, version in self._questions.ask("NVLink firmware", lambda: nvml.firmware(index), faults) or ():
            values[rows.FIRMWARE_INFO.key, part, printable(version)] = 1
        mode = self._questions.ask("NVLink bandwidth mode", lambda: nvml.ask(index, DeviceQuestion.BANDWIDTH_MODE), faults)
        if mode is not None:
            values[rows.BANDWIDTH_MODE.key] = mode
        connected = self._questions.fields(nvml, index, (CONNECTED_COUNT,), faults)
        if CONNECTED_COUNT in connected:
            values[rows.LINKS_CONNECTED.key] = connected[CONNECTED_COUNT]
        return (Reading(self._device, values), *self._far_ends(faults))

    def _far_ends(self, faults: FaultList) -> list[Reading]:
        """The info series of each active link, and where it leads for whoever expects something of it."""
        peers: dict[int, tuple[str, str]] = {}
        readings: list[Reading] = []
        for port in sorted(self.links.active):
            kind, pci, peer_port, version = self._far_end(port, faults)
            peers[port] = (kind, pci)
            link = Link(Fabric.NVLINK, self.subject, str(port))
            readings.append(Reading(link, {(LINK_INFO.key, kind, pci, peer_port, version): 1}))
        self.peers = peers
        return readings

    def _far_end(self, port: int, faults: FaultList) -> tuple[str, str, str, str]:
        """Kind, PCI address, port and version; "" for what the driver does not say. What one link lacks, another may have."""
        nvml, index, questions = self._nvml, self.index, Questions(f"{self.subject}/{port}")
        ask = questions.ask
        kind = ask("far end's kind", lambda: nvml.ask_link(index, port, LinkQuestion.REMOTE_TYPE), faults)
        pci = ask("far end's address", lambda: nvml.peer_pci(index, port), faults) or ""
        fields = questions.fields(nvml, index, (PEER_LINK, VERSION), faults, scope=port)
        version = fields.get(VERSION)
        if version is None:
            version = ask("version", lambda: nvml.ask_link(index, port, LinkQuestion.VERSION), faults)
        shown = "" if pci == NO_PEER else printable(pci)
        return PEER_TYPES.get(_number(kind), ""), shown, _text(fields.get(PEER_LINK)), VERSIONS.get(_number(version), "")


def _platform_key(platform: PlatformFacts) -> SeriesKey:
    return (rows.PLATFORM_INFO.key, printable(platform.chassis_serial), str(platform.slot), str(platform.tray), str(platform.host_id),
            str(platform.peer_type))  # fmt: skip


def _number(answer: int | None) -> int:
    """-1, which no enumeration of NVML has, for no answer."""
    return -1 if answer is None else answer


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
