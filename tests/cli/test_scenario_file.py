"""Scenario files: what each key becomes, and each mistake in one line with its place, its line and the nearest name."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.cli.scenario_file import read_scenario, scenario_of
from exporter.config.mistake import ConfigError
from exporter.simulator.fault_kinds import KINDS
from exporter.simulator.hcas import Use
from exporter.simulator.scenario import Expected, Never, PlannedFault, flows_of

HEAD = "node: hgx-h100\nduration: 2h\n"
FULL = """\
title: a rail at half speed
reference: NVIDIA/NVSentinel#1701
rules: [downgrade, nvlink_errors]
node: hgx-h100                  # a remark
duration: 2h
seed: 7
burst: 10Hz
traffic:
  - {from: 0s, to: 1h, pattern: training, step: 8s, communication: 1.2s, checkpoint_every: 30m, checkpoint: 60s}
  - {from: 1h, pattern: steady, load: 0.5}
faults:
  - {at: 30m, until: 50m, kind: rate, link: "infiniband/mlx5_3/1", to: "200 Gb/sec (4X HDR)"}
  - {at: 70m, kind: counter_rate, link: "nvlink/gpu5/7", counter: crc, per_second: 120}
  - {at: 80m, kind: clock_jump, by: -1h}
  - {at: 90m, kind: reboot}
expect:
  - {link: "infiniband/mlx5_3/1", status: degraded, reason: speed_downgrade, within: 60s}
  - {link: "infiniband/mlx5_3/1", status: ok, at: 50m, within: 15m}
silent: ["nvlink/gpu0/*"]
"""


def test_a_signal_may_be_forbidden_and_ports_configured() -> None:
    """Labels of a forbidden signal may be patterns; ports are as `expect.ports` has them."""
    text = HEAD + 'never: [{link: "roce/*", signal: "congestion_class *"}]\nports: [mlx5_8=ethernet, "mlx5_[0-7]=400Gb/s,x4"]\n'
    found = scenario_of(text, "s.yaml")

    assert found.never == (Never("roce/*", ("signal_congestion_class", "*")),)
    assert found.ports == ("mlx5_8=ethernet", "mlx5_[0-7]=400Gb/s,x4")


def test_every_key_is_read() -> None:
    """The format of interface.md, with the keys that a catalogue of scenarios needs."""
    found = scenario_of(FULL, "s.yaml")

    assert (found.node, found.duration_s, found.seed, found.burst_hz) == ("hgx-h100", 7200.0, 7, 10.0)
    assert (found.title, found.reference, found.rules) == ("a rail at half speed", "NVIDIA/NVSentinel#1701", ("downgrade", "nvlink_errors"))
    assert found.faults == (
        PlannedFault(0, "rate", 1800.0, 3000.0, "infiniband/mlx5_3/1", {"to": "200 Gb/sec (4X HDR)"}),
        PlannedFault(1, "counter_rate", 4200.0, None, "nvlink/gpu5/7", {"counter": "crc", "per_second": 120}),
        PlannedFault(2, "clock_jump", 4800.0, None, "", {"by": -3600.0}),
        PlannedFault(3, "reboot", 5400.0, 5580.0),
    )
    assert found.expect == (
        Expected("infiniband/mlx5_3/1", "degraded", 60.0, "speed_downgrade"),
        Expected("infiniband/mlx5_3/1", "ok", 900.0, "", 3000.0),
    )
    assert found.silent == ("nvlink/gpu0/*",)


def test_a_signal_may_be_expected_instead_of_a_status() -> None:
    """By its row's name without `signal_` and its own labels; merely that it is there unless `at_least` says more."""
    text = HEAD + "expect:\n" + "".join(
        f"  - {{link: roce/mlx5_8/1, signal: {signal}, within: 1m}}\n" for signal in ("utilization_ratio transmit, at_least: 0.5", "flaps")
    )  # fmt: skip

    assert scenario_of(text, "s.yaml").expect == (
        Expected("roce/mlx5_8/1", "", 60.0, signal=("signal_utilization_ratio", "transmit"), at_least=0.5),
        Expected("roce/mlx5_8/1", "", 60.0, signal=("signal_flaps",)),
    )


@pytest.mark.parametrize(
    ("node", "fault", "complaint"),
    [
        ("a100-pcie-unbridged", "kind: domain, device: gpu0, says: unhealthy", "gpu0 of a100-pcie-unbridged is in no NVLink domain"),
        ("h100-pcie", "kind: domain, device: gpu0, says: unhealthy", "gpu0 of h100-pcie is in no NVLink domain"),
        ("roce-h200", "kind: rate, link: ethernet/eno1/1, to: 1 Gb/s",
         'the rate of an interface is written as 1000 Mb/s, not "1 Gb/s"'),
    ],
)  # fmt: skip
def test_a_fault_must_suit_the_node(node: str, fault: str, complaint: str) -> None:
    """Cards without switches join no domain; an interface says its speed in Mb/s."""
    assert _complaint(f"node: {node}\nduration: 1h\nfaults:\n  - {{at: 1m, {fault}}}\n") == f"faults[0]: {complaint} (s.yaml:4)"


def test_traffic_follows_its_parts() -> None:
    """What is carried first was carried before; what is carried last goes on."""
    found = scenario_of(FULL, "s.yaml")
    flows = flows_of(found, 3600.0)
    gradients = next(flow for flow in flows if flow.name == "gradients out")
    steady = next(flow for flow in flows if flow.name.startswith("steady compute out"))

    assert (gradients.begins_s, gradients.ends_s, gradients.bursts.period_s, gradients.bursts.busy_s) == (0.0, 7200.0, 8.0, 1.2)
    assert (steady.begins_s, steady.ends_s, steady.use, steady.bursts.load) == (7200.0, math.inf, Use.COMPUTE, 0.5)


def test_a_scenario_that_says_nothing_of_traffic_trains() -> None:
    """And one that says none carries none."""
    assert scenario_of(HEAD, "s.yaml").traffic[0].flows
    assert scenario_of(HEAD + "traffic: [{pattern: none}]\n", "s.yaml").traffic[0].flows == ()


def _complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        scenario_of(text, "s.yaml")
    return str(caught.value)


def _of_fault(fault: str) -> str:
    return _complaint(f"{HEAD}faults:\n  - {{{fault}}}\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "s.yaml: is empty; a scenario has at least node and duration"),
        ("node: hgx-h100\n", "s.yaml: needs duration (s.yaml:1)"),
        ("node: hgx-h10\nduration: 2h\n", 'node: no node profile is called "hgx-h10"; did you mean hgx-h100? (s.yaml:1)'),
        ("node: hgx-h100\nduration: 2\n", 'duration: expected a duration such as 5s, got "2" (s.yaml:2)'),
        (HEAD + "durations: 1h\n", "durations: unknown key; did you mean duration? (s.yaml:3)"),
        (HEAD + "seed: 1.5\n", 'seed: expected a whole number from 1 on, got "1.5" (s.yaml:3)'),
        (HEAD + "seed: 1\nseed: 2\n", "seed: given twice (s.yaml:4)"),
        (HEAD + "burst: 10\n", 'burst: expected a rate such as 10Hz, up to 100Hz, got "10" (s.yaml:3)'),
        (HEAD + "faults: down\n", "faults: expected a list (s.yaml:3)"),
        (HEAD + "faults: [down]\n", "faults[0]: needs kind (s.yaml:3)"),
        (HEAD + "silent: [nvlink/gpu9/1]\n",
         'silent[0]: no link of hgx-h100 is called "nvlink/gpu9/1"; did you mean nvlink/gpu7/1? (s.yaml:3)'),
        (HEAD + "traffic: [{pattern: trainig}]\n", 'traffic[0].pattern: there is no pattern "trainig"; did you mean training? (s.yaml:3)'),
        (HEAD + "traffic: [{pattern: idle, step: 8s}]\n",
         "traffic[0].step: unknown key; known: from, pattern, to (s.yaml:3)"),
        (HEAD + "traffic: [{from: 2h, to: 1h, pattern: idle}]\n", "traffic[0]: to must be later than from (s.yaml:3)"),
        (HEAD + "traffic: [{pattern: training, communication: 9s}]\n",
         "traffic[0]: a burst of 9 s from -1.9 s on does not fit into 8 s (s.yaml:3)"),
        (HEAD + "traffic:\n  - {to: 1h, pattern: idle}\n  - {from: 30m, pattern: idle}\n",
         "traffic: parts overlap; let each begin where the one before ends (s.yaml:4)"),
        (HEAD + "expect: [{link: roce/mlx5_8/1, status: bad, within: 1s}]\n",
         'expect[0].status: there is no status "bad"; known: degraded, failed, ok, suspect, unknown (s.yaml:3)'),
        (HEAD + "expect: [{link: roce/mlx5_8/1, status: failed, reason: downn, within: 1s}]\n",
         'expect[0].reason: there is no reason "downn"; did you mean down? (s.yaml:3)'),
        (HEAD + "expect: [{link: roce/mlx5_8/1, status: failed}]\n", "expect[0]: needs within (s.yaml:3)"),
        (HEAD + "expect: [{link: roce/mlx5_8/1, within: 1m}]\n", "expect[0]: needs status (s.yaml:3)"),
        (HEAD + "expect: [{link: roce/mlx5_8/1, signal: utilisation_ratio transmit, within: 1m}]\n",
         'expect[0].signal: there is no signal "utilisation_ratio"; did you mean utilization_ratio? (s.yaml:3)'),
        (HEAD + "expect: [{link: roce/mlx5_8/1, signal: utilization_ratio, within: 1m}]\n",
         "expect[0].signal: is written as utilization_ratio DIRECTION (s.yaml:3)"),
        (HEAD + "expect: [{link: roce/mlx5_8/1, signal: flaps, at_least: -1, within: 1m}]\n",
         'expect[0].at_least: expected a number that is not negative, got "-1" (s.yaml:3)'),
        (HEAD + "never: [{link: roce/mlx5_8/1, signal: congestion}]\n",
         'never[0].signal: there is no signal "congestion"; did you mean congestion_ratio? (s.yaml:3)'),
        (HEAD + "never: [{link: roce/mlx5_8/1, signal: congestion_class}]\n",
         "never[0].signal: is written as congestion_class CLASS (s.yaml:3)"),
        (HEAD + "never: [{link: roce/mlx5_8/1}]\n", "never[0]: needs signal (s.yaml:3)"),
        (HEAD + "ports: [mlx5_8=etherne]\n",
         ("ports[0]: expected PATTERN=RATE,LANES, PATTERN=ethernet (or infiniband) or PATTERN=off, as in mlx5_.*=400Gb/s,x4, "
          'mlx5_8=ethernet or mlx5_9=off, got "mlx5_8=etherne" (s.yaml:3)')),
        (HEAD + "expect: [{link: roce/mlx5_8/1, signal: flaps, status: ok, within: 1m}]\n",
         "expect[0].status: unknown key; known: at, at_least, link, signal, within (s.yaml:3)"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(text: str, complaint: str) -> None:
    """What, where in the scenario, what was meant, and the line."""
    assert _complaint(text) == complaint


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("at: 1m, kind: downn, link: roce/mlx5_8/1", 'faults[0].kind: there is no kind "downn"; did you mean down? (s.yaml:4)'),
        ("at: 1m, kind: probe", "faults[0].kind: probe: not supported yet: it comes with the probes (s.yaml:4)"),
        ("kind: down, link: roce/mlx5_8/1", "faults[0]: needs at (s.yaml:4)"),
        ("at: 1m, kind: down", "faults[0]: needs link (s.yaml:4)"),
        ("at: 1m, kind: down, link: infiniband/mlx5_33/1",
         'faults[0]: no link of hgx-h100 is called "infiniband/mlx5_33/1"; did you mean infiniband/mlx5_3/1? (s.yaml:4)'),
        ("at: 1m, kind: down, link: pcie/gpu0/upstream",
         "faults[0]: down is for links of ethernet, infiniband, nvlink, roce, and pcie/gpu0/upstream is none (s.yaml:4)"),
        ("at: 1m, kind: down, link: nvlink/gpu0/1, state: polling", "faults[0]: a link of nvlink cannot be polling (s.yaml:4)"),
        ("at: 1m, kind: down, link: roce/mlx5_8/1, state: dwn",
         'faults[0].state: "dwn" is none of down, polling, disabled, init, sleep, traffic_disabled (s.yaml:4)'),
        ("at: 3h, kind: down, link: roce/mlx5_8/1", "faults[0]: at is after the end of the scenario (s.yaml:4)"),
        ("at: 5m, until: 1m, kind: down, link: roce/mlx5_8/1", "faults[0]: until must be later than at (s.yaml:4)"),
        ("at: 5m, until: 6m, kind: xid, device: gpu0, xid: 79",
         "faults[0].until: unknown key; known: at, device, kind, port, xid (s.yaml:4)"),
        ("at: 5m, kind: rate, link: roce/mlx5_8/1, to: fast",
         'faults[0]: the rate of a port is written as 200 Gb/sec (4X HDR), not "fast" (s.yaml:4)'),
        ("at: 5m, kind: rate, link: nvlink/gpu0/0, to: 25 GB/s",
         'faults[0]: the rate of an NVLink is written as 13281 MB/s, not "25 GB/s" (s.yaml:4)'),
        ("at: 5m, kind: domain, device: mlx5_0, says: unhealthy", 'faults[0]: "mlx5_0" is no GPU of hgx-h100 (s.yaml:4)'),
        ("at: 5m, kind: domain, device: gpu0, says: well",
         'faults[0].says: "well" is none of unhealthy, in_progress, not_started (s.yaml:4)'),
        ("at: 5m, kind: width, link: roce/mlx5_8/1, to: 8", "faults[0]: roce/mlx5_8/1 has 4 lanes (s.yaml:4)"),
        ("at: 5m, kind: counter_rate, link: roce/mlx5_8/1, counter: symbol_eror, per_second: 1",
         'faults[0]: roce/mlx5_8/1 has no counter "symbol_eror"; did you mean symbol_error? (s.yaml:4)'),
        ("at: 5m, kind: counter_rate, link: nvlink/gpu0/0, counter: symbol, per_second: 1",
         'faults[0]: nvlink/gpu0/0 has no counter "symbol"; known: crc, recovery, replay (s.yaml:4)'),
        ("at: 5m, kind: counter_rate, link: roce/mlx5_8/1, counter: symbol_error, per_second: many",
         'faults[0].per_second: expected a number that is not negative, got "many" (s.yaml:4)'),
        ("at: 5m, kind: saturate, link: roce/mlx5_8/1, counter: port_xmit_data",
         "faults[0]: counters/port_xmit_data has no ceiling (s.yaml:4)"),
        ("at: 5m, kind: stall, link: roce/mlx5_8/1, ratio: 1.5", 'faults[0].ratio: expected a ratio from 0 to 1, got "1.5" (s.yaml:4)'),
        ("at: 5m, kind: slow, link: roce/mlx5_8/1, factor: 0.5", 'faults[0].factor: expected a number above 1, got "0.5" (s.yaml:4)'),
        ("at: 5m, kind: ecn, link: infiniband/mlx5_0/1, ratio: 0.1",
         "faults[0]: ecn is for links of roce, and infiniband/mlx5_0/1 is none (s.yaml:4)"),
        ("at: 5m, kind: pcie, link: pcie/gpu0/upstream", "faults[0]: needs speed, width or both (s.yaml:4)"),
        ("at: 5m, kind: pcie, link: pcie/gpu0/upstream, speed: gen3",
         'faults[0]: a PCIe speed is written as 16.0 GT/s, not "gen3" (s.yaml:4)'),
        ("at: 5m, kind: aer, link: pcie/gpu0/upstream, severity: fatal, error: BadTLP, count: 1",
         'faults[0]: there is no fatal error "BadTLP"; did you mean TLP? (s.yaml:4)'),
        ("at: 5m, kind: aer, link: pcie/gpu0/upstream, severity: correctable, error: BadTLP, count: 1, times: 100001",
         "faults[0]: times is at most 100000 (s.yaml:4)"),
        ("at: 5m, kind: unplug, device: gpu9", 'faults[0]: there is no device "gpu9"; did you mean gpu7? (s.yaml:4)'),
        ("at: 5m, kind: mig, device: mlx5_0", 'faults[0]: "mlx5_0" is no GPU of hgx-h100 (s.yaml:4)'),
        ("at: 5m, kind: xid, device: gpu0, xid: 74, port: 99", "faults[0]: no link of hgx-h100 is called nvlink/gpu0/99 (s.yaml:4)"),
        ("at: 5m, kind: read_error, link: roce/mlx5_8/1", "faults[0]: needs either errno or text (s.yaml:4)"),
        ("at: 5m, kind: read_error, link: roce/mlx5_8/1, errno: EWHAT",
         'faults[0]: there is no errno "EWHAT"; EIO, EINVAL, ENODEV and EACCES are common (s.yaml:4)'),
        ("at: 5m, kind: read_error, link: roce/mlx5_8/1, errno: EIO, file: sta",
         'faults[0]: the port has no file "sta"; did you mean state? (s.yaml:4)'),
        ("at: 5m, kind: hang, source: nvlik", 'faults[0]: there is no source "nvlik"; did you mean nvlink? (s.yaml:4)'),
        ("at: 5m, kind: driver_reload, driver: mlx5", 'faults[0]: there is no driver "mlx5"; did you mean mlx5_core? (s.yaml:4)'),
        ("at: 5m, kind: nvml_error, code: gpu_lost",
         'faults[0]: there is no NVML error "gpu_lost"; did you mean gpu_is_lost? (s.yaml:4)'),
        ("at: 5m, kind: nvml_error, code: unknown, call: fabrics",
         'faults[0]: there is no call "fabrics"; did you mean fabric? (s.yaml:4)'),
        ("at: 5m, kind: flap, link: roce/mlx5_8/1, period: 5s, count: 2, down: 6s",
         "faults[0]: down must be shorter than period (s.yaml:4)"),
        ("at: 5m, kind: clock_jump, by: soon",
         'faults[0].by: expected a duration with or without a sign, such as -1h, got "soon" (s.yaml:4)'),
    ],
)  # fmt: skip
def test_a_fault_that_cannot_be_done_says_why(fault: str, complaint: str) -> None:
    """To this node, by this kind."""
    assert _of_fault(fault) == complaint


def test_every_mistake_is_told_at_once() -> None:
    """One line each."""
    said = _complaint("node: hgx-h100\nduration: 2h\nseeed: 1\nfaults:\n  - {at: 1, kind: down, link: x}\n  - {kind: reboot}\n")

    assert said.splitlines() == [
        "seeed: unknown key; did you mean seed? (s.yaml:3)",
        'faults[0].at: expected a duration such as 5s, got "1" (s.yaml:5)',
        "faults[1]: needs at (s.yaml:6)",
    ]


def test_a_port_that_leads_nowhere_cannot_be_disturbed() -> None:
    """Half-bridged cards have such ports."""
    text = "node: h100-pcie\nduration: 1h\nfaults:\n  - {at: 1m, kind: down, link: nvlink/gpu0/4}\n"

    assert _complaint(text) == "faults[0]: nvlink/gpu0/4 leads nowhere: nothing is wired to that port (s.yaml:4)"


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """As with the configuration."""
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        read_scenario(str(tmp_path / "none.yaml"))


scalars = st.sampled_from(["1s", "-5", "x", "1e400", "nan", "[]", "{}", "~", "0", "roce/mlx5_8/1", "gpu0", "'*'", "1.2s", "999999999w"])
keys = st.sampled_from(
    sorted({key for kind in KINDS.values() for key in kind.keys} | {"at", "until", "link", "device", "source", "driver"})
)


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(keys, scalars, max_size=6))
def test_no_fault_is_anything_but_read_or_refused(kind: str, values: dict[str, str]) -> None:
    """Whatever a person writes: a scenario or a ConfigError, never another error."""
    fault = ", ".join([f"kind: {kind}", *(f"{key}: {value}" for key, value in values.items())])
    said: tuple[str, ...] = ()
    try:
        scenario_of(f"{HEAD}faults:\n  - {{{fault}}}\n", "s.yaml")
    except ConfigError as error:
        said = tuple(map(str, error.mistakes))

    assert all(line.isprintable() for line in said)
