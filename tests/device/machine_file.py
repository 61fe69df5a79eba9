"""A surveyed machine as a file without a trace of whose it is, and as statements from which the fake driver answers again.

Knows which answers name a thing of somebody's (UUIDs, serial numbers, clusters); PCI addresses and product names stay. Knows no driver.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.device.raw_driver import Answer
from tests.device.survey import Machine, ports_of
from tests.nvml_library.scenario import Amount, Ret, Type, Value

FORMAT = 1
TYPES: tuple[Type, ...] = ("double", "uint", "ulong", "ull", "sll", "int", "ushort")
"""nvmlValueType_t."""
ZERO_UUID = "0" * 32
FIRMWARE_NUMBERS = {"MSE": 1, "NETIR": 2, "NETIR_UPHY": 3, "NETIR_CLN": 4, "NETIR_DLN": 5}
FIRST_PID = 1001
_OF_THE_NODE = frozenset({"fabric.reject"})
_UUID = re.compile(r"\b(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Names:
    """Neutral stand-ins of the same form; the same for the same name."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def uuid(self, text: str) -> str:
        """Of a GPU or a MIG instance."""
        kind, _, rest = text.partition("-")
        return self._of(text, kind, lambda n: f"{kind}-{n:08d}-0000-0000-0000-{n:012d}" if rest else text)

    def serial(self, text: str) -> str:
        """Digits for digits and letters."""
        return self._of(text, "serial", lambda n: f"{n:0{len(text)}d}"[: len(text)] if text else text)

    def cluster(self, digits: str) -> str:
        """32 hexadecimal digits; those of no cluster stay."""
        return digits if digits == ZERO_UUID else self._of(digits, "cluster", lambda n: f"{n:032x}")

    def text(self, printed: str) -> str:
        """What a tool printed, each UUID in it replaced."""
        return _UUID.sub(lambda match: self.uuid(match[0]), printed)

    def _of(self, name: str, kind: str, make: Any) -> str:
        if name not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[name] = make(self._counts[kind])
        return self._known[name]


def neutral(machine: Machine) -> Machine:
    """A copy with neutral names."""
    copy: Machine = json.loads(json.dumps(machine))
    names = Names()
    for gpu in copy.get("gpus", ()):
        identity, platform = gpu.get("identity", {}), gpu.get("platform", {})
        _replace(identity.get("uuid"), names.uuid)
        _replace(identity.get("serial"), names.serial)
        for answer in gpu.get("fabric", {}).values():
            if "value" in answer:
                answer["value"]["cluster_uuid"] = names.cluster(answer["value"]["cluster_uuid"])
        if "value" in platform:
            platform["value"]["chassis_serial"] = names.serial(platform["value"]["chassis_serial"])
    copy["nvidia_smi"] = {command: names.text(text) for command, text in copy.get("nvidia_smi", {}).items()}
    return copy


def save(machine: Machine, path: Path) -> None:
    """Write it, with neutral names. Raises OSError."""
    path.write_text(json.dumps({"format": FORMAT, **neutral(machine)}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load(path: Path) -> Machine:
    """Read what `save` wrote. Raises OSError; ValueError for a file of another format."""
    machine: Machine = json.loads(path.read_text(encoding="utf-8"))
    if machine.get("format") != FORMAT:
        raise ValueError(f"{path} is no machine of format {FORMAT}")
    return machine


def statements(machine: Machine) -> dict[str, Value]:
    """What makes tests/nvml_library answer like that machine at the time of the survey. Its counters stand still."""
    system = machine["system"]
    found: dict[str, Value] = {"gpus": len(machine["gpus"])}
    found.update({word: _plain(system[word]) for word in ("driver", "nvml", "cuda", "bw_mode")})
    for index, gpu in enumerate(machine["gpus"]):
        found.update({key if key in _OF_THE_NODE else f"g{index}.{key}": value for key, value in _of_gpu(gpu)})
    return found


def _replace(answer: Answer | None, rename: Any) -> None:
    if answer is not None and "value" in answer:
        answer["value"] = rename(answer["value"])


def _of_gpu(gpu: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    identity = gpu["identity"]
    yield from ((word, _plain(answer)) for word, answer in identity.items() if word != "processes")
    yield "proc", [f"{FIRST_PID + number} na" for number in range(identity["processes"].get("value") or 0)]
    ports = ports_of(gpu)
    if ports:
        yield "links", len(ports)
    yield from ((f"f{number}", _typed(answer)) for number, answer in gpu["fields"].items())
    yield from ((f"all.f{number}", _typed(answer)) for number, answer in gpu["sums"].items())
    for scope, answers in gpu["scopes"].items():
        silent = int(scope) not in ports  # there, what no statement mentions is NotSupported anyway
        yield from ((f"l{scope}.f{number}", _typed(answer)) for number, answer in answers.items() if not (silent and "ret" in answer))
    for link in ports:
        yield from ((f"l{link}.{word}", _plain(answer)) for word, answer in gpu["links"][str(link)].items())
    yield from _of_ports(gpu["ports"])
    yield "bw_mode", _plain(gpu["bw_mode"])
    yield from _of_domain(gpu)


def _of_ports(ports: Mapping[str, Mapping[str, Answer]]) -> Iterator[tuple[str, Value]]:
    """The registers, or the code by which the driver refuses to tell any."""
    refusals = [answer["ret"] for answers in ports.values() for answer in answers.values() if answer.get("whole")]
    if refusals:
        yield "call.nvmlDeviceReadPRMCounters_v1.ret", refusals[0]
        return
    yield "prm", int(bool(ports))
    for port, answers in ports.items():
        yield from ((f"port{port}.prm{number}", _typed(answer)) for number, answer in answers.items())


def _of_domain(gpu: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Fabric, rack and firmware. The fake takes the newest version that the machine knew for all of them."""
    known = [answer["value"] for answer in gpu["fabric"].values() if "value" in answer]
    merged = {word: value for facts in reversed(known) for word, value in facts.items()}
    rejected = [version.removeprefix("v") for version, answer in gpu["fabric"].items() if "ret" in answer]
    if known and rejected:
        yield "fabric.reject", " ".join(rejected)
    for word, value in merged.items():
        yield f"fabric.{word}", [f"{kind} {number}" for kind, number in value] if word == "clique_entry" else value
    if "value" in gpu["platform"]:
        words = {"chassis_serial": "chassis_serial", "slot": "slot", "tray": "tray", "host_id": "host", "module_id": "module",
                 "peer_type": "peer_type"}  # fmt: skip
        yield from ((f"platform.{words[word]}", value) for word, value in gpu["platform"]["value"].items())
    if "value" in gpu["firmware"]:
        yield "nvle", 0
        listed = ((FIRMWARE_NUMBERS[part], version.split(".")) for part, version in gpu["firmware"]["value"])
        yield "firmware", [f"{number} {' '.join(parts)}" for number, parts in listed]


def _plain(answer: Answer) -> Value:
    """Of a call that states no type."""
    value: Value = answer["value"] if "value" in answer else Ret(int(answer["ret"]))
    return value


def _typed(answer: Answer) -> Value:
    """Of a field or register."""
    if answer.get("value") is None:
        return Ret(int(answer.get("ret", 3)))
    return Amount(TYPES[answer["type"]], answer["value"])
