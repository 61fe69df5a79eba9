"""What holds for every rule of congestion, pauses, marks and retries, whatever it is shown."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.catalog import signals
from exporter.catalog.ethernet import EVENTS, PAUSE_SECONDS, PCI_STALLED
from exporter.catalog.infiniband import DATA_RATE, HW_EVENTS, RECEIVED, SATURATED, TRANSMIT_WAIT, TRANSMITTED, WIDTH
from exporter.model.metric import Kind
from exporter.model.snapshot import Number, SeriesKey, metric_key
from exporter.signals import congestion, congestion_class, pause, retries, roce
from exporter.signals.observation import Observation
from exporter.signals.rule import Rule
from tests.signals.passes import a_pass, read
from tests.signals.replay import asked_twice

RULES = (congestion.RULE, congestion_class.RULE, *pause.RULES, *roce.RULES, *retries.RULES)
ROWS = {row.key: row for row in signals.ROWS}
KEYS: tuple[SeriesKey, ...] = (
    TRANSMIT_WAIT.key, TRANSMITTED.key, RECEIVED.key, "ib_packets_received", "ib_packets_transmitted", "ib_legacy_data_transmitted",
    *[(HW_EVENTS.key, name) for name in ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored", "packet_seq_err",
                                         "local_ack_timeout_err", "req_transport_retries_exceeded")],
    *[(PAUSE_SECONDS.key, direction, priority) for direction in ("receive", "transmit") for priority in ("3", "global")],
    (PCI_STALLED.key, "receive"), (EVENTS.key, "rx_out_of_buffer"), (EVENTS.key, "tx_pause_storm_error_events"),
)  # fmt: skip
FACTS: dict[SeriesKey, st.SearchStrategy[Number]] = {
    DATA_RATE.key: st.sampled_from((0, 1, 12.5e9, 50e9, 1e300)), WIDTH.key: st.sampled_from((0, 1, 4)),
    (SATURATED.key, "port_xmit_wait"): st.just(1), (SATURATED.key, "port_xmit_data"): st.just(1),
}  # fmt: skip
numbers = st.integers(0, 2**64 - 1) | st.floats(0, 1e18) | st.integers(0, 100)
observed = st.tuples(
    st.sampled_from((0.0, -20.0, 1e-9, 1.0, 5.0, 15.0, 300.0, 5000.0)),
    st.fixed_dictionaries({}, optional={**dict.fromkeys(KEYS, numbers), **FACTS}),
)
ticks = st.sampled_from((None, 8, 128))


def _observations(passes: list[tuple[float, dict[SeriesKey, Number]]]) -> list[Observation]:
    now_s, made = 1000.0, []
    for elapsed_s, values in passes:
        now_s += elapsed_s
        made.append(read(values, now_s))
    return made


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(passes=st.lists(observed, max_size=12), tick_bytes=ticks)
@settings(max_examples=60)
def test_a_rule_never_raises_and_says_the_same_again(rule: Rule, passes: list[tuple[float, dict[SeriesKey, Number]]],
                                                     tick_bytes: int | None) -> None:  # fmt: skip
    """For any passes, in any order of times: signals are finite, ratios 0 to 1, counts never fall, findings are of its own reasons; each
    pass is asked twice."""
    state = None
    before: Observation | None = None
    counts: dict[SeriesKey, Number] = {}
    for now in _observations(passes):
        state, outcome = asked_twice(rule, state, a_pass(now, before, tick_bytes=tick_bytes))

        for key, number in outcome.signals.items():
            row = ROWS[metric_key(key)]
            assert len(key if isinstance(key, tuple) else (key,)) == 1 + len([name for name in row.labels if name not in signals.LINK])
            assert math.isfinite(number)
            assert number >= counts.get(key, 0) if row.kind is Kind.COUNTER else 0 <= number <= 1
            if row.kind is Kind.COUNTER:
                counts[key] = number
        assert {finding.why for finding in outcome.findings} <= set(rule.reasons)
        assert all(bool(finding.evidence) == bool(finding.holds) for finding in outcome.findings)
        assert all("\n" not in finding.evidence for finding in outcome.findings)
        before = now


def test_rules_have_names_of_their_own() -> None:
    """A rule is left out by its name."""
    assert len({rule.name for rule in RULES}) == len(RULES)
