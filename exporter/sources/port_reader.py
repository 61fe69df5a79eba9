"""Reads one port of one HCA: state, rate and counters at their cadences. Knows the port's files; knows no other port."""

from collections.abc import Callable, Sequence

from exporter.catalog.infiniband import DATA_RATE, LANE_RATE, PHYSICAL_STATE, RATE, STATE, WIDTH
from exporter.model.entity import Link
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.sources.counter_set import CounterSet
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FileSet
from exporter.sources.hca_layout import HcaLayout, PortLayout
from exporter.sources.hca_slots import counter_slots, hw_slots
from exporter.sources.port_text import ACTIVE, LINK_UP, LOGICAL_STATES, PHYSICAL_STATES, Rate, rate_of, state_of
from exporter.sources.sysfs import Files

STATE_FILES = ("state", "phys_state", "rate")


class PortReader:
    """One port. `read(cadence)` gives its Reading; every file that fails costs exactly its own key."""

    def __init__(self, files: Files, hca: HcaLayout, port: PortLayout, *, hw_counters: bool,
                 changed: Callable[[], object] = lambda: None) -> None:  # fmt: skip
        self.link = Link(hca.fabric_of(port), printable(hca.name), port.number)
        self.hw_names_left_out = 0
        self._coded = port.link_layer == "InfiniBand"
        self.texts = FileSet(files, port.folder, STATE_FILES, changed=changed)
        self._memo: dict[tuple[object, ...], dict[SeriesKey, Number]] = {}
        self.sets: dict[Cadence, list[CounterSet]] = {Cadence.FAST: [], Cadence.NORMAL: []}
        for cadence, sets in self.sets.items():
            for folder, names in (("counters", port.counters), ("counters_ext", port.counters_ext)):
                slots = counter_slots(folder, names or (), cadence)
                if slots:
                    sets.append(CounterSet(files, f"{port.folder}/{folder}", slots, changed))
        if hw_counters and port.hw_counters:
            slots, self.hw_names_left_out = hw_slots(port.hw_counters)
            self.sets[Cadence.NORMAL].append(CounterSet(files, f"{port.folder}/hw_counters", slots, changed))

    def read(self, cadence: Cadence, faults: FaultList, now_s: float) -> Reading:
        """What the port says at this cadence; an empty Reading if nothing could be read."""
        values: dict[SeriesKey, Number] = self._states(faults, now_s) if cadence is Cadence.FAST else {}
        for counters in self.sets.get(cadence, ()):
            counters.read_into(values, faults, now_s)
        return Reading(self.link, values)

    def close(self) -> None:
        """Give all handles back."""
        self.texts.close()
        for sets in self.sets.values():
            for counters in sets:
                counters.close()

    def _states(self, faults: FaultList, now_s: float) -> dict[SeriesKey, Number]:
        seen = self.texts.read(now_s)
        faults.add_failures(self.texts.folder, seen.failures)
        return self.states_of(seen.names, seen.raws, faults)

    def states_of(self, names: tuple[str, ...], raws: Sequence[bytes], faults: FaultList) -> dict[SeriesKey, Number]:
        """Values of the three text files. They seldom change: the last answer is kept, unless it had faults, which count in each pass."""
        key = (names, *raws)
        known = self._memo.get(key)
        if known is None:
            faults_before = len(faults.faults)
            known = self._understand(dict(zip(names, raws, strict=True)), faults)
            self._memo = {key: known} if len(faults.faults) == faults_before else {}
        return dict(known)

    def _understand(self, texts: dict[str, bytes], faults: FaultList) -> dict[SeriesKey, Number]:
        """Values of the three text files. What the rate implies is believed only on an ACTIVE, LinkUp port: a port that is down prints a
        default rate (`40 Gb/sec (4X QDR)` on RoCE, `10 Gb/sec (4X SDR)` on InfiniBand)."""
        values: dict[SeriesKey, Number] = {}
        for name, row, words in (("state", STATE, LOGICAL_STATES), ("phys_state", PHYSICAL_STATE, PHYSICAL_STATES)):
            number = state_of(texts[name], words) if name in texts else None
            if number is not None:
                values[row.key] = number
            elif name in texts:
                faults.add_text(f"{self.texts.folder}/{name}", Reason.PARSE, texts[name])
        rate = rate_of(texts["rate"]) if "rate" in texts else None
        if rate is None:
            if "rate" in texts:
                faults.add_text(f"{self.texts.folder}/rate", Reason.PARSE, texts["rate"])
            return values
        values[RATE.key] = rate.bytes_per_s
        if values.get(STATE.key) == ACTIVE and values.get(PHYSICAL_STATE.key) == LINK_UP and rate.bytes_per_s:
            values |= self._believed(rate)
        return values

    def _believed(self, rate: Rate) -> dict[SeriesKey, Number]:
        values: dict[SeriesKey, Number] = {DATA_RATE.key: rate.data_bytes_per_s(coded=self._coded)}
        if rate.width_lanes is not None and rate.lane_bytes_per_s is not None:
            values |= {WIDTH.key: rate.width_lanes, LANE_RATE.key: rate.lane_bytes_per_s}
        return values
