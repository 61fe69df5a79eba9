"""Everything the driver answers, asked once, one thing at a time, as a machine that can be saved. Knows the order of questions.

A machine is a dict for JSON: `system`, and `gpus`, each with `identity`, `fields` (about the GPU), `sums` (scope 0xFFFFFFFF), `scopes`
(fields by scope, which is the link), `links` (calls about a link), `ports` (registers by local port), `fabric`, `platform`, `firmware`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from exporter.catalog.nvlink_fields import C2C_COUNT, LINK_COUNT
from exporter.sources.nvml import Pynvml
from exporter.sources.nvml_session import NvmlError
from tests.device.findings import Report
from tests.device.raw_driver import (
    C2C_FIELDS,
    EVERY_LINK,
    FABRICS,
    GPU_FIELDS,
    LINK_FIELDS,
    LINKS_MAX,
    PORT_COUNTERS,
    Answer,
    RawDriver,
    code_of,
    local_port,
)

Machine = dict[str, Any]
"""See the module."""
C2C_LINKS_MAX = 32
NO_PERMISSION, NOT_SUPPORTED, FUNCTION_NOT_FOUND = 4, 3, 13


def survey(raw: RawDriver, ours: Pynvml, machine: Machine, report: Report) -> None:
    """Fill the machine, so that what is there by then can be saved if a call does not come back."""
    report.at("the versions")
    machine["system"] = raw.system()
    gpus: list[dict[str, Any]] = machine.setdefault("gpus", [])
    for gpu in range(len(raw.handles)):
        found: dict[str, Any] = {}
        gpus.append(found)
        for part, ask in _parts(raw, ours, gpu):
            report.at(f"GPU {gpu}: {part}")
            found[part] = ask(found)


def ports_of(gpu: Mapping[str, Any]) -> tuple[int, ...]:
    """The links that the GPU counts; those whose state the call knows, where it does not count them."""
    count = gpu.get("fields", {}).get(str(LINK_COUNT), {})
    if "value" in count:
        return tuple(range(min(int(count["value"]), LINKS_MAX)))
    return tuple(int(link) for link, answers in gpu.get("links", {}).items() if "value" in answers["state"])


def active_of(gpu: Mapping[str, Any]) -> tuple[int, ...]:
    """Links that the state call says are enabled."""
    return tuple(link for link in ports_of(gpu) if gpu["links"][str(link)]["state"].get("value") == 1)


def _parts(raw: RawDriver, ours: Pynvml, gpu: int) -> list[tuple[str, Callable[[dict[str, Any]], Any]]]:
    """What is asked of a GPU, in order; each part may look at those before it."""
    return [
        ("identity", lambda _: raw.identity(gpu)),
        ("fields", lambda _: {str(number): raw.field(gpu, number, 0) for number in GPU_FIELDS}),
        ("links", lambda _: {str(link): raw.link(gpu, link) for link in range(LINKS_MAX)}),
        ("scopes", lambda found: _scopes(raw, gpu, found)),
        ("sums", lambda _: {str(number): raw.field(gpu, number, EVERY_LINK) for number in LINK_FIELDS}),
        ("ports", lambda found: _ports(raw, gpu, found)),
        ("fabric", lambda _: {version: raw.fabric(gpu, version) for version in FABRICS}),
        ("bw_mode", lambda _: raw.bandwidth_mode(gpu)),
        ("platform", lambda _: _asked(lambda: ours.platform(gpu)._asdict())),
        ("firmware", lambda _: _asked(lambda: [list(part) for part in ours.firmware(gpu)])),
    ]


def _scopes(raw: RawDriver, gpu: int, found: dict[str, Any]) -> dict[str, dict[str, Answer]]:
    """Each field of each link, and of each link to the CPU; of scope 0 where there is neither, to see how they are refused."""
    chips = min(int(found["fields"].get(str(C2C_COUNT), {}).get("value") or 0), C2C_LINKS_MAX)
    scopes: dict[str, dict[str, Answer]] = {}
    for scopes_of_kind, numbers in ((ports_of(found), LINK_FIELDS), (tuple(range(chips)), C2C_FIELDS)):
        for scope in scopes_of_kind or (0,):
            scopes.setdefault(str(scope), {}).update({str(number): raw.field(gpu, number, scope) for number in numbers})
    return scopes


def _ports(raw: RawDriver, gpu: int, found: dict[str, Any]) -> dict[str, dict[str, Answer]]:
    """Each register of each active link's port; one answer alone where the call is refused as such."""
    ports: dict[str, dict[str, Answer]] = {}
    for link in active_of(found):
        for number in PORT_COUNTERS:
            port = local_port(number, link)
            answer = raw.port_counter(gpu, number, port)
            ports.setdefault(str(port), {})[str(number)] = answer
            if answer.get("whole") and code_of(answer) in (NO_PERMISSION, NOT_SUPPORTED, FUNCTION_NOT_FOUND):
                return ports
    return ports


def _asked(call: Callable[[], Any]) -> Answer:
    """An answer by way of our own session."""
    try:
        return {"value": call()}
    except NvmlError as error:
        return {"ret": error.code}
