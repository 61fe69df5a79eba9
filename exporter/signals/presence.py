"""Whether a link that should be up is up. Knows what each fabric calls up; whether it should be is told.

A link that is not up and of which nobody knows whether it should be is unknown, never failed: unprovisioned ports and unbridged boards
look just so (NVIDIA/NVSentinel#1361, #1481). A device that is gone brings no pass: that is the engine's to notice.
"""

from collections.abc import Mapping

from exporter.model.health import Finding, Unknown, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

PORT_ACTIVE, PORT_LINK_UP = 4, 5
NVLINK_ACTIVE, NVLINK_ASLEEP, NVLINK_TRAFFIC_DISABLED = 1, 2, 3

_PORT_STATES: Mapping[Number, str] = {0: "no change", 1: "down", 2: "init (no subnet manager has set it up)", 3: "armed", 4: "active",
                                      5: "active deferred"}  # fmt: skip
_PHYSICAL_STATES: Mapping[Number, str] = {0: "no change", 1: "sleep", 2: "polling", 3: "disabled", 4: "training", 5: "link up",
                                          6: "error recovery", 7: "phy test"}  # fmt: skip
_UNTOLD = Outcome(findings=(Finding(Why.DOWN, holds=None),), unknown=Unknown.NO_EXPECTATION)
"""Nothing is raised, and what was raised while somebody knew stays: forgetting is no repair."""


def _port(state: State, asked: Pass) -> tuple[State, Outcome]:
    """A port of an RDMA device is up if it is active and its physical link up; one file that cannot be read leaves the other's word."""
    logical, physical = asked.now.value(Role.STATE), asked.now.value(Role.PHYSICAL_STATE)
    if logical == PORT_ACTIVE and (physical == PORT_LINK_UP or physical is None):
        return state, NOTHING
    words = f"state {_word(_PORT_STATES, logical)}"
    return state, _not_up(asked, words if physical is None else f"{words}, physical state {_word(_PHYSICAL_STATES, physical)}")


def _nvlink(state: State, asked: Pass) -> tuple[State, Outcome]:
    """An NVLink that sleeps is up. One whose traffic the driver has disabled is no use, unless nobody wants it."""
    number = asked.now.value(Role.STATE)
    if number in (NVLINK_ACTIVE, NVLINK_ASLEEP):
        return state, NOTHING
    if number != NVLINK_TRAFFIC_DISABLED:
        return state, _not_up(asked, "state inactive" if number == 0 else f"state {number}")
    if asked.expected.get(Role.STATE) == 0:
        return state, NOTHING
    return state, Outcome(findings=(Finding(Why.TRAFFIC_DISABLED, holds=True, evidence="active, but the driver has disabled its traffic"),))


def _interface(state: State, asked: Pass) -> tuple[State, Outcome]:
    """A NIC without RDMA is up if it has carrier; an interface that is switched off has none."""
    return state, NOTHING if asked.now.value(Role.CARRIER) == 1 else _not_up(asked, "no carrier")


def _not_up(asked: Pass, words: str) -> Outcome:
    expected = asked.expected.get(Role.STATE)
    if expected is None:
        return _UNTOLD
    return Outcome(findings=(Finding(Why.DOWN, holds=True, evidence=f"{words}; it should be up"),)) if expected else NOTHING


def _word(words: Mapping[Number, str], number: Number | None) -> str:
    return "unreadable" if number is None else words.get(number, str(number))


PORTS = Rule(name="presence", needs=frozenset({Role.STATE}), step=_port, reasons=(Why.DOWN,),
             fabrics=frozenset({"infiniband", "roce", "efa"}), hears=frozenset({Role.STATE, Role.PHYSICAL_STATE}))  # fmt: skip
NVLINKS = Rule(name="presence_nvlink", needs=frozenset({Role.STATE}), step=_nvlink, reasons=(Why.DOWN, Why.TRAFFIC_DISABLED),
               fabrics=frozenset({"nvlink"}), hears=frozenset({Role.STATE}))  # fmt: skip
INTERFACES = Rule(name="presence_ethernet", needs=frozenset({Role.CARRIER}), step=_interface, reasons=(Why.DOWN,),
                  fabrics=frozenset({"ethernet"}), hears=frozenset({Role.CARRIER}))  # fmt: skip
RULES = (PORTS, NVLINKS, INTERFACES)
