"""The NVLinks of one GPU: which ports it has, what state each is in, and the numbers of each. Reads through an Nvml session.

Knows the order of questions; what a field means is catalog/nvlink_fields.py's, what is expected somebody else's.
"""

from collections.abc import Mapping

from exporter.catalog.limits import NVLINKS_MAX
from exporter.catalog.nvlink import ACTIVE, ASLEEP, ERRORS, RECOVERIES, STATE
from exporter.catalog.nvlink_fields import (
    FAMILIES,
    FULL_REGISTERS,
    LEGACY_ERRORS,
    LINK_COUNT,
    PACKET_ERRORS,
    REGISTERS,
    STATE_FAMILY,
    UNSHIFTED_PORT,
    Family,
    Field,
)
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Cadence
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.sources.fault_list import FaultList
from exporter.sources.field_family import END_OF_GPU, WITHOUT, FamilyPass, FamilyReader, Refusal
from exporter.sources.link_readings import LinkReadings
from exporter.sources.nvml_session import (
    NO_PERMISSION,
    UNKNOWN_ERROR,
    WHOLE_GPU,
    LinkQuestion,
    Nvml,
    NvmlError,
    reason_of_code,
    words_of_code,
)

_CALLS: tuple[tuple[LinkQuestion, SeriesKey], ...] = (
    (LinkQuestion.REPLAY, (ERRORS.key, "replay")),
    (LinkQuestion.RECOVERY, (RECOVERIES.key, "any")),
    (LinkQuestion.CRC_FLIT, (ERRORS.key, "crc_flit")),
    (LinkQuestion.CRC_DATA, (ERRORS.key, "crc_data")),
    (LinkQuestion.ECC_DATA, (ERRORS.key, "ecc_data")),
)
_STATE_FIELD = STATE_FAMILY.fields[0]


class GpuLinks:
    """Of the GPU with that index and name, for as long as the session lasts. Every method may raise NvmlError if the GPU is gone."""

    def __init__(self, nvml: Nvml, index: int, name: str, *, full: bool) -> None:
        self.ports: tuple[int, ...] | None = None
        """Ports the GPU has, whether or not anything is wired to them; None until looked at."""
        self.active: frozenset[int] = frozenset()
        """Links that were active at the last look, those asleep included."""
        self.states: Mapping[int, int] = {}
        self._nvml = nvml
        self._index = index
        self._name = name
        self._families = [FamilyReader(nvml, index, family) for family in FAMILIES if full or not family.is_full]
        self._links = {port: Link(Fabric.NVLINK, name, str(port)) for port in range(NVLINKS_MAX)}
        self._readings = {cadence: LinkReadings(self._links) for cadence in Cadence}
        self._calls: tuple[tuple[LinkQuestion, SeriesKey], ...] | None = None
        self._registers: tuple[tuple[int, SeriesKey], ...] | None = None
        self._full = full

    def look(self) -> tuple[int, ...]:
        """The ports: as many as the driver counts, less those whose state it does not know. An odd answer in the middle ends nothing, and
        what it says a port is capable of does not count (a B200 claims 36: NVIDIA/TensorRT-LLM#19210)."""
        if self.ports is None:
            self.ports = tuple(port for port in range(self._port_count()) if self._has_port(port))
            self._links |= {port: Link(Fabric.NVLINK, self._name, str(port)) for port in self.ports}
        return self.ports

    def read(self, cadence: Cadence, faults: FaultList) -> list[Reading]:
        """A Reading for each link with numbers of that cadence; FAST looks at the states first. Numbers that did not come are Faults."""
        ports = self.look()
        passes = [self._read_states(ports)] if ports and cadence is Cadence.FAST else []
        if self.states:
            passes += self._read_numbers(cadence, ports, faults)
        for one in passes:
            self._blame(one, faults)
        return self._readings[cadence].of(passes)

    def _read_numbers(self, cadence: Cadence, ports: tuple[int, ...], faults: FaultList) -> list[FamilyPass]:
        """Everything but the states, of links whose states were told."""
        passes: list[FamilyPass] = []
        active = tuple(port for port in ports if self.states.get(port))
        for reader in self._families:
            if reader.family.cadence is cadence and reader.family is not STATE_FAMILY:
                reader.probe(ports, active)
                if reader.family is LEGACY_ERRORS and self._tells(PACKET_ERRORS):
                    continue
                one = reader.read(active if reader.family.spares_inactive else ports)
                passes += [one] if one is not None else []
        if cadence is Cadence.NORMAL:
            passes += self._read_calls(ports, active) + self._read_registers(active, faults)
        return passes

    def _read_states(self, ports: tuple[int, ...]) -> FamilyPass:
        """Each port's state by the field, which tells sleep and disabled traffic, or by the call where the driver lacks it. Raises
        NvmlError if all it says is that it does not know."""
        reader = self._families[0]
        reader.probe(ports, ())
        one = reader.read(ports) or self._states_by_call(ports)
        self.states = {port: int(state) for at, (port, state) in enumerate(zip(ports, one.numbers, strict=True)) if at not in one.refused}
        self.active = frozenset(port for port, state in self.states.items() if state in (ACTIVE, ASLEEP))
        if not self.states and all(refusal.code == UNKNOWN_ERROR for refusal in one.refused.values()):
            raise NvmlError("state of the NVLinks", UNKNOWN_ERROR)
        return one

    def _states_by_call(self, ports: tuple[int, ...]) -> FamilyPass:
        numbers, refused = self._asked_by_call([(port, LinkQuestion.STATE, _STATE_FIELD) for port in ports])
        return FamilyPass(ports, (STATE.key,), numbers, refused)

    def _tells(self, family: Family) -> bool:
        """Whether the GPU answered any field of it."""
        return any(reader.fields for reader in self._families if reader.family is family)

    def _read_calls(self, ports: tuple[int, ...], active: tuple[int, ...]) -> list[FamilyPass]:
        """Errors by the old call, where no field tells any: fields came with later drivers, the call with Pascal. Which kinds there are an
        active link says; as long as there is none, none is asked for."""
        if self._tells(LEGACY_ERRORS) or self._tells(PACKET_ERRORS):
            return []
        if self._calls is None and active:
            self._calls = tuple(call for call in _CALLS if self._knows(active[0], call[0]))
        if not self._calls:
            return []
        asked = [(port, question, Field(0, key)) for port in ports for question, key in self._calls]
        numbers, refused = self._asked_by_call(asked)
        return [FamilyPass(ports, tuple(key for _, key in self._calls), numbers, refused)]

    def _read_registers(self, active: tuple[int, ...], faults: FaultList) -> list[FamilyPass]:
        """The ports' own registers, in one call."""
        if self._registers is None and active:
            self._registers = self._known_registers(active[0], faults)
        if not self._registers or not active:
            return []
        wanted = [(number, _local_port(number, port)) for port in active for number, _ in self._registers]
        keys = tuple(key for _, key in self._registers)
        try:
            answers = self._nvml.port_counters(self._index, wanted)
        except NvmlError as error:
            if error.code in END_OF_GPU:
                raise
            faults.add(self._name, error.reason, f"port registers: {words_of_code(error.code)}")
            return []
        fields = [Field(number, key) for number, key in self._registers]
        refused = {at: Refusal(active[at // len(keys)], fields[at % len(keys)], code) for at, code in answers.refused.items()}
        return [FamilyPass(active, keys, answers.numbers, refused)]

    def _known_registers(self, port: int, faults: FaultList) -> tuple[tuple[int, SeriesKey], ...] | None:
        """Registers that the driver tells; none, and a Fault, where it tells them only to root; None, and a Fault, if it has to be asked
        again."""
        found: list[tuple[int, SeriesKey]] = []
        for number, key in (*REGISTERS, *(FULL_REGISTERS if self._full else ())):
            try:
                refused = self._nvml.port_counters(self._index, [(number, _local_port(number, port))]).refused
            except NvmlError as error:
                if error.code in END_OF_GPU:
                    raise
                if error.code not in WITHOUT:
                    faults.add(self._name, error.reason, f"port registers (transmit wait, link downs): {words_of_code(error.code)}")
                settled = error.code in WITHOUT or error.code == NO_PERMISSION
                return () if settled else None  # the call as a whole: no register would fare better
            if refused.get(0, 0) not in WITHOUT:
                found.append((number, key))
        return tuple(found)

    def _asked_by_call(self, asked: list[tuple[int, LinkQuestion, Field]]) -> tuple[list[Number], dict[int, Refusal]]:
        numbers: list[Number] = []
        refused: dict[int, Refusal] = {}
        for at, (port, question, field) in enumerate(asked):
            try:
                numbers.append(self._nvml.ask_link(self._index, port, question))
            except NvmlError as error:
                if error.code in END_OF_GPU:
                    raise
                numbers.append(0)
                refused[at] = Refusal(port, field, error.code)
        return numbers, refused

    def _port_count(self) -> int:
        try:
            answers = self._nvml.batch(self._index, [(LINK_COUNT, WHOLE_GPU)]).read()
        except NvmlError as error:
            if error.code in END_OF_GPU or error.code == UNKNOWN_ERROR:
                raise
            return NVLINKS_MAX
        return NVLINKS_MAX if answers.refused else min(int(answers.numbers[0]), 1024)

    def _has_port(self, port: int) -> bool:
        return self._knows(port, LinkQuestion.STATE) or self._families[0].answers(_STATE_FIELD, port)

    def _knows(self, port: int, question: LinkQuestion) -> bool:
        try:
            self._nvml.ask_link(self._index, port, question)
        except NvmlError as error:
            if error.code in END_OF_GPU:
                raise
            return error.code not in WITHOUT
        return True

    def _blame(self, one: FamilyPass, faults: FaultList) -> None:
        """A Fault for each number that did not come; that a dead link has no numbers is none."""
        for link, field, code in one.refused.values():
            if code in WITHOUT and self.states.get(link) == 0:
                continue
            what = f"field {field.number}" if field.number else str(field.key[1] if isinstance(field.key, tuple) else field.key)
            faults.add(f"{self._name}/{link}", reason_of_code(code), f"{what}: {words_of_code(code)}")


def _local_port(number: int, link: int) -> int:
    return link if number in UNSHIFTED_PORT else link + 1
