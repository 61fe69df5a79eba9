"""Whether an RDMA port speaks the link layer that somebody configured for it: InfiniBand where Ethernet is meant does no work.

A ninth port that can do both and came up as InfiniBand made "1 of 9 not active" of a healthy node (dsx-ai-factory/infra-controller#3624).
Only a configured expectation is evidence: ports for storage speak Ethernet beside InfiniBand rails on purpose, so sisters prove nothing. A
link's fabric says which layer it has. Of EFA nobody knows one, and an interface without an RDMA device has no choice.
"""

from collections.abc import Mapping

from exporter.model.entity import Fabric
from exporter.model.expected_ports import LinkLayer
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

_LAYERS: Mapping[Fabric, LinkLayer] = {Fabric.INFINIBAND: LinkLayer.INFINIBAND, Fabric.ROCE: LinkLayer.ETHERNET}


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Up or down is the same: a port that is down shows its link layer as well. Without an expectation it is clear, and so is what was
    raised before somebody took the line out of the configuration."""
    now, expected = _LAYERS.get(asked.link.fabric), asked.expected.get(Role.LINK_LAYER)
    if now is None or expected is None or expected == now:
        return state, NOTHING
    wanted = next((layer for layer in LinkLayer if layer == expected), None)
    if wanted is None:
        return state, NOTHING
    evidence = f"its link layer is {now.title}; {wanted.title} is configured"
    return state, Outcome(findings=(Finding(Why.WRONG_LINK_LAYER, holds=True, evidence=evidence),))


RULE = Rule(name="link_layer", needs=frozenset({Role.STATE}), step=_step, reasons=(Why.WRONG_LINK_LAYER,),
            fabrics=frozenset(fabric.value for fabric in _LAYERS), hears=frozenset())  # fmt: skip
