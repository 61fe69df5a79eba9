"""Scenario files: strict YAML, every mistake in one line with its place, its line and the nearest known name.

Knows how a scenario is spelt; what a fault needs is simulator/fault_kinds.py's, what is wrong with it on a node fault_checks.py's.
"""

from collections.abc import Mapping
from itertools import pairwise

from exporter.catalog import signals
from exporter.cli.scenario_tree import Keys, ScenarioTree, joined
from exporter.config import yaml_lines
from exporter.config.kinds import EXPECTED_PORT
from exporter.config.mistake import ConfigError, Mistake, error_of
from exporter.model.health import Level, Why
from exporter.model.quoted import shown
from exporter.simulator.fault_checks import link_problem, near, problem_of
from exporter.simulator.fault_kinds import KINDS, NOT_YET, Aim, Key, Value
from exporter.simulator.profiles import PROFILES, Profile
from exporter.simulator.scenario import Expected, Never, PlannedFault, Scenario, Traffic
from exporter.simulator.traffic import Flow
from exporter.simulator.traffic_patterns import PATTERNS, RATIOS

TOP = (
    "node",
    "duration",
    "seed",
    "burst",
    "traffic",
    "faults",
    "expect",
    "silent",
    "title",
    "reference",
    "rules",
    "ports",
    "never",
    "says",
)
SIGNALS = {row.key.removeprefix("signal_"): row for row in signals.ROWS}
STATUSES = (*(level.word for level in Level), "unknown")
DURATION_MAX_S = 400 * 86_400.0


def read_scenario(path: str) -> Scenario:
    """The scenario in that file. Raises ConfigError with every mistake in it."""
    return scenario_of(yaml_lines.read_file(path), path)


def scenario_of(text: str, name: str) -> Scenario:
    """The scenario that a text says; `name` is what mistakes call it. Raises ConfigError."""
    root = yaml_lines.parse(text, name)
    if root is None:
        raise ConfigError(name, "is empty; a scenario has at least node and duration")
    reader = _Reader(name)
    scenario = reader.scenario(root)
    if reader.mistakes or scenario is None:
        raise error_of(tuple(reader.mistakes))
    return scenario


class _Reader:
    """Goes through one tree and collects its mistakes."""

    def __init__(self, name: str) -> None:
        self._tree = ScenarioTree(name)

    @property
    def mistakes(self) -> list[Mistake]:
        """Those found by now."""
        return self._tree.mistakes

    def scenario(self, root: yaml_lines.Node) -> Scenario | None:
        """The whole; None if it cannot be made, with a mistake for each reason."""
        keys = self._tree.keys(root, "", TOP, ("node", "duration"))
        profile = self._profile(keys)
        duration_s = self._tree.duration(keys, "duration", "") or 0.0
        seed = self._tree.number(keys, "seed", "", Value.COUNT) or 1.0
        if profile is None or not duration_s:
            return None
        if duration_s > DURATION_MAX_S:
            self._tree.add("duration", "is longer than 400d", keys["duration"])
        traffic = [self._traffic(*one, duration_s) for one in self._tree.items(keys, "traffic")]
        faults = [self._fault(*one, number, profile, duration_s) for number, one in enumerate(self._tree.items(keys, "faults"))]
        expect = [self._expected(*one, profile) for one in self._tree.items(keys, "expect")]
        silent = [self._link(item, where, profile) for item, where in self._tree.items(keys, "silent")]
        rules = [self._tree.text(item, where) for item, where in self._tree.items(keys, "rules")]
        ports = [self._port(*one) for one in self._tree.items(keys, "ports")]
        never = [self._never(*one, profile) for one in self._tree.items(keys, "never")]
        says = [self._tree.text(item, where) for item, where in self._tree.items(keys, "says")]
        return Scenario(
            node=profile.name,
            duration_s=duration_s,
            seed=int(seed),
            burst_hz=self._burst(keys),
            traffic=self._apart([part for part in traffic if part is not None], keys) or _usual_traffic(duration_s, keys),
            faults=tuple(fault for fault in faults if fault is not None),
            expect=tuple(one for one in expect if one is not None),
            silent=tuple(link for link in silent if link),
            title=self._tree.text_at(keys, "title"),
            reference=self._tree.text_at(keys, "reference"),
            rules=tuple(rule for rule in rules if rule),
            ports=tuple(port for port in ports if port),
            never=tuple(one for one in never if one is not None),
            says=tuple(words for words in says if words),
        )

    def _profile(self, keys: Keys) -> Profile | None:
        name = self._tree.text_at(keys, "node")
        if name in PROFILES or not name:
            return PROFILES.get(name)
        self._tree.add("node", f"no node profile is called {shown(name)}{near(name, PROFILES)}", keys["node"])
        return None

    def _burst(self, keys: Keys) -> float | None:
        text = self._tree.text_at(keys, "burst")
        if not text:
            return None
        number = text.removesuffix("Hz").strip()
        if text.endswith("Hz") and number.isascii() and number.isdigit() and 1 <= int(number) <= 100:
            return float(number)
        self._tree.add("burst", f"expected a rate such as 10Hz, up to 100Hz, got {shown(text)}", keys["burst"])
        return None

    def _traffic(self, node: yaml_lines.Node, path: str, duration_s: float) -> Traffic | None:
        name = self._tree.word(node, path, "pattern", PATTERNS)
        if name is None:
            return None
        pattern = PATTERNS[name]
        keys = self._tree.keys(node, path, ("from", "to", "pattern", *pattern.keys), ())
        from_s = self._tree.duration(keys, "from", path) or 0.0
        to_s = self._tree.duration(keys, "to", path) if "to" in keys else duration_s
        values = {key: self._pattern_value(keys, key, path, usual) for key, usual in pattern.keys.items()}
        if to_s is None:
            return None
        if not from_s < to_s:
            self._tree.add(path, "to must be later than from", node)
        return Traffic(from_s, to_s, self._flows(name, values, path, node))

    def _pattern_value(self, keys: Keys, key: str, path: str, usual: float) -> float:
        if key not in keys:
            return usual
        found = self._tree.number(keys, key, path, Value.RATIO) if key in RATIOS else self._tree.duration(keys, key, path)
        return usual if found is None else found

    def _flows(self, name: str, values: Mapping[str, float], path: str, node: yaml_lines.Node) -> tuple[Flow, ...]:
        try:
            return PATTERNS[name].flows(values)
        except ValueError as error:
            self._tree.add(path, str(error), node)
            return ()

    def _apart(self, parts: list[Traffic], keys: Keys) -> tuple[Traffic, ...]:
        """The parts in order; they may not overlap, for a link carries one traffic at a time."""
        ordered = tuple(sorted(parts, key=lambda part: part.from_s))
        if any(one.to_s > other.from_s for one, other in pairwise(ordered)):
            self._tree.add("traffic", "parts overlap; let each begin where the one before ends", keys["traffic"])
        return ordered

    def _fault(self, node: yaml_lines.Node, path: str, number: int, profile: Profile, duration_s: float) -> PlannedFault | None:
        name = self._tree.word(node, path, "kind", KINDS, NOT_YET)
        if name is None:
            return None
        kind = KINDS[name]
        aim = (kind.aim.value,) if kind.aim is not Aim.NODE else ()
        required = ("at", *aim, *(key for key, about in kind.keys.items() if about.is_required))
        before = len(self.mistakes)
        keys = self._tree.keys(node, path, ("at", *(("until",) if kind.lasts else ()), "kind", *aim, *kind.keys), required)
        at_s, until_s = self._tree.duration(keys, "at", path), self._tree.duration(keys, "until", path)
        values = {key: value for key, about in kind.keys.items() if (value := self._value(keys, key, path, about)) is not None}
        target = self._tree.text_at(keys, aim[0], path) if aim else ""
        if len(self.mistakes) > before or at_s is None:
            return None
        if until_s is None and kind.usual_s is not None:
            until_s = at_s + kind.usual_s
        fault = PlannedFault(number, name, at_s, until_s, target, values)
        problem = problem_of(profile, fault) or _time_problem(fault, duration_s, kind.usual_s is not None)
        if problem:
            self._tree.add(path, problem, node)
        return fault

    def _expected(self, node: yaml_lines.Node, path: str, profile: Profile) -> Expected | None:
        is_signal = "signal" in self._tree.names(node)
        known = ("signal", "at_least") if is_signal else ("status", "reason")
        keys = self._tree.keys(node, path, ("link", *known, "within", "at"), ("link", known[0], "within"))
        link = self._link(keys["link"], f"{path}.link", profile) if "link" in keys else ""
        if is_signal:
            return self._signal(keys, path, link)
        status = self._tree.word(node, path, "status", dict.fromkeys(STATUSES)) if "status" in keys else None
        reason = self._tree.word(node, path, "reason", dict.fromkeys(why.value for why in Why)) if "reason" in keys else ""
        within_s = self._tree.duration(keys, "within", path)
        if not link or status is None or reason is None or within_s is None:
            return None
        return Expected(link, status, within_s, reason, self._tree.duration(keys, "at", path))

    def _signal(self, keys: Keys, path: str, link: str) -> Expected | None:
        """One that a signal be so much: its row's key and own labels, apart by blanks; merely there unless `at_least` says more."""
        signal = self._signal_key(keys, path)
        within_s, at_s = self._tree.duration(keys, "within", path), self._tree.duration(keys, "at", path)
        at_least = self._tree.number(keys, "at_least", path, Value.NUMBER)
        if not link or not signal or within_s is None:
            return None
        return Expected(link, "", within_s, at_s=at_s, signal=signal, at_least=at_least or 0.0)

    def _signal_key(self, keys: Keys, path: str) -> tuple[str, ...]:
        """The row's key and the values of its own labels; () with a mistake for anything else."""
        words = tuple(self._tree.text_at(keys, "signal", path).split())
        row = SIGNALS.get(words[0]) if words else None
        if words and row is None:
            self._tree.add(f"{path}.signal", f"there is no signal {shown(words[0])}{near(words[0], SIGNALS)}", keys["signal"])
        elif row is not None and len(words) != len(row.own_labels) + 1:
            self._tree.add(f"{path}.signal", f"is written as {' '.join((words[0], *map(str.upper, row.own_labels)))}", keys["signal"])
        return (row.key, *words[1:]) if row is not None else ()

    def _never(self, node: yaml_lines.Node, path: str, profile: Profile) -> Never | None:
        keys = self._tree.keys(node, path, ("link", "signal"), ("link", "signal"))
        link = self._link(keys["link"], f"{path}.link", profile) if "link" in keys else ""
        signal = self._signal_key(keys, path) if "signal" in keys else ()
        return Never(link, signal) if link and signal else None

    def _port(self, node: yaml_lines.Node, path: str) -> str:
        """An entry of `expect.ports`; "" with a mistake for none."""
        text = self._tree.text(node, path)
        try:
            return str(EXPECTED_PORT.parse(text)) if text else ""
        except ValueError as error:
            self._tree.add(path, str(error), node)
            return ""

    def _link(self, node: yaml_lines.Node, path: str, profile: Profile) -> str:
        """A link's name or pattern; "" with a mistake for one that means nothing."""
        text = self._tree.text(node, path)
        problem = link_problem(profile, text) if text else None
        if problem:
            self._tree.add(path, problem, node)
        return "" if problem else text

    def _value(self, keys: Keys, key: str, path: str, about: Key) -> float | int | str | None:
        if key not in keys:
            return None
        if about.value is Value.DURATION:
            return self._tree.duration(keys, key, path)
        if about.value is not Value.TEXT:
            return self._tree.number(keys, key, path, about.value)
        text = self._tree.text_at(keys, key, path)
        if about.words and text and text not in about.words:
            self._tree.add(joined(path, key), f"{shown(text)} is none of {', '.join(about.words)}", keys[key])
        return text or None


def _time_problem(fault: PlannedFault, duration_s: float, may_be_at_once: bool) -> str | None:  # noqa: FBT001  # private, one caller
    if fault.at_s > duration_s:
        return "at is after the end of the scenario"
    if fault.until_s is not None and (fault.until_s < fault.at_s or (fault.until_s == fault.at_s and not may_be_at_once)):
        return "until must be later than at"
    return None


def _usual_traffic(duration_s: float, keys: Keys) -> tuple[Traffic, ...]:
    """A training job, where the scenario does not say."""
    if "traffic" in keys:
        return ()
    pattern = PATTERNS["training"]
    return (Traffic(0.0, duration_s, pattern.flows(pattern.keys)),)
