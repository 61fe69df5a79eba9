"""Numbers of links that do not come: each costs its own series and says so once, where there is anything to say."""

import pytest

from exporter.model.entity import Fabric, Link
from exporter.model.fault import Reason
from exporter.model.metric import Role
from tests.nvml_library import FakeDriver, field_id, profile, ret, uint, ull
from tests.nvml_library.scenario import Value
from tests.sources.growth_between import growth_between, value_in
from tests.sources.nvml.header_words import LEGACY, NVLINK5
from tests.sources.nvml.source_child import SourceChild

TX, RX, REPLAY, STATE, SPEED = (
    f"f{field_id(f'NVLINK_{name}')}" for name in ("THROUGHPUT_DATA_TX", "THROUGHPUT_DATA_RX", "ERROR_DL_REPLAY", "GET_STATE", "GET_SPEED")
)
SENT, RECEIVED, REPLAYS = "nvlink_transmitted", "nvlink_received", ("nvlink_errors", "replay")
ALL = set(range(18))
FIELDS = "nvmlDeviceGetFieldValues"


def going(link: int, *, up: bool) -> dict[str, Value]:
    """The link of GPU 0 becomes active or inactive."""
    return {f"g0.l{link}.state": int(up), f"g0.l{link}.{STATE}": uint(int(up))}


@pytest.mark.parametrize(("code", "reason"), [(4, Reason.DENIED), (10, Reason.TIMEOUT), (15, Reason.LOST), (20, Reason.EXHAUSTED),
                                              (999, Reason.UNKNOWN), (3, Reason.UNSUPPORTED), (77, Reason.IO)])  # fmt: skip
def test_a_number_with_a_return_code_is_a_missing_key_and_a_fault(driver: FakeDriver, code: int, reason: Reason) -> None:
    """The one number of the one active link; never 0, never the one before."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        child.read("gpu0", "fast")
        driver.change({f"g0.l5.{RX}": ret(code)})
        seen = child.read("gpu0", "fast")
        driver.change({f"g0.l5.{RX}": ull(1)})
        after = child.read("gpu0", "fast")

    assert [seen.column("gpu0", RECEIVED).keys(), seen.column("gpu0", SENT).keys()] == [ALL - {5}, ALL]
    assert seen.reasons() == {("gpu0/5", reason)}
    assert [after.links("gpu0")[5][RECEIVED], after.faults] == [1024, ()]


def test_a_number_that_failed_when_it_was_first_asked_for_comes_later(driver: FakeDriver) -> None:
    """Busy or refused is not unsupported: the field is asked for in every pass."""
    driver.write({**profile("h100-sxm"), f"g0.l0.{RX}": ret(10)})
    with SourceChild(driver) as child:
        child.scan()
        before = child.read("gpu0", "fast")
        driver.change({f"g0.l0.{RX}": ull(2)})
        after = child.read("gpu0", "fast")

    assert [before.column("gpu0", RECEIVED).keys(), before.reasons()] == [ALL - {0}, {("gpu0/0", Reason.TIMEOUT)}]
    assert [after.column("gpu0", RECEIVED)[0], after.faults] == [2048, ()]


def test_a_direction_that_is_not_supported_is_left_out_alone(driver: FakeDriver) -> None:
    """KempnerInstitute/kempnerpulse#21: the other one is shown, and nobody adds a side that is missing."""
    driver.write({**profile("a100-sxm"), **{f"g0.l{link}.{RX}": ret(3) for link in range(12)}})
    with SourceChild(driver) as child:
        child.scan()
        seen = child.read("gpu0", "fast")

    assert [seen.column("gpu0", RECEIVED), seen.column("gpu0", SENT).keys(), seen.faults] == [{}, set(range(12)), ()]


def test_a_generation_that_counts_no_bytes_shows_none(driver: FakeDriver) -> None:
    """V100: its errors by the old counters, and no byte series that stands at 0."""
    driver.write(profile("v100"))
    with SourceChild(driver) as child:
        child.scan()
        fast, normal, _ = child.passes("gpu0")

    assert [fast.column("gpu0", SENT), fast.column("gpu0", RECEIVED)] == [{}, {}]
    assert [normal.column("gpu0", REPLAYS).keys(), fast.faults + normal.faults] == [set(range(6)), ()]


@pytest.mark.parametrize("name", ["b200", "rubin-36"])
def test_old_error_counters_of_a_new_generation_are_absent(driver: FakeDriver, name: str) -> None:
    """NVIDIA/nvidia-resiliency-ext#302: where they are refused, and where a driver answers 0 to them in silence."""
    driver.write(profile(name))
    with SourceChild(driver) as child:
        child.scan()
        refused = child.read("gpu0", "normal").links("gpu0")[3]
    driver.change({f"g*.l*.f{field_id(field)}": ull(0) for field in LEGACY})
    driver.write({key: value for key, value in driver.statements.items() if value != ret(3) or ".l" not in key})
    with SourceChild(driver) as child:
        child.scan()
        silent = child.read("gpu0", "normal").links("gpu0")[3]

    old = {("nvlink_errors", kind) for kind in ("replay", "crc", "crc_flit", "crc_data", "ecc_data")}
    assert [refused.keys() & old, silent.keys() & old] == [set(), set()]
    assert silent["nvlink_recoveries", "any"] == refused["nvlink_recoveries", "any"] > 0


@pytest.mark.parametrize("poison", ["NVLINK_COUNT_MALFORMED_PACKET_ERRORS", "NVLINK_COUNT_SYMBOL_BER", "NVLINK_PLR_XMIT_BLOCKS"])
def test_a_field_that_spoils_its_call_spoils_no_other_family(driver: FakeDriver, poison: str) -> None:
    """NVIDIA/dcgm-exporter#581: beside that field no other is supported."""
    driver.write(profile("b200"))
    with SourceChild(driver) as child:
        child.scan()
        sound = [child.read("gpu0", cadence).links("gpu0")[3] for cadence in ("fast", "normal")]
        driver.change({"fields.poison": field_id(poison)})
        spoilt = [child.read("gpu0", cadence) for cadence in ("fast", "normal")]
        calls = driver.calls(FIELDS)

    beside = {number for call in calls for number, _ in call.fields if field_id(poison) in {one for one, _ in call.fields}}
    family = {key for name, key in NVLINK5.items() if field_id(name) in beside}
    left = [seen.links("gpu0")[3] for seen in spoilt]
    assert left[0] == sound[0]
    assert {key: value for key, value in left[1].items() if key not in family} == {
        key: value for key, value in sound[1].items() if key not in family
    }
    assert {reason for seen in spoilt for _, reason in seen.reasons()} == {Reason.UNSUPPORTED}


def test_a_call_that_fails_whole_is_asked_again_link_by_link(driver: FakeDriver) -> None:
    """A driver that takes fewer values at once than there are: every number comes, by eighteen calls."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        sound = child.read("gpu0", "fast").links("gpu0")
        driver.change({"fields.batch_max": 18})
        driver.forget_calls()
        seen = child.read("gpu0", "fast")

    assert [seen.links("gpu0"), seen.faults, len(driver.calls(FIELDS))] == [sound, (), 1 + 1 + 18]


def test_a_link_that_fails_its_own_call_too_costs_only_itself(driver: FakeDriver) -> None:
    """Inactive by the driver's word, active by the field: its bytes are refused with the whole call, and named."""
    driver.write({**profile("h100-sxm"), "fields.poison_inactive": 1})
    with SourceChild(driver) as child:
        child.scan()
        driver.change({"g0.l5.state": 0})
        seen = child.read("gpu0", "fast")

    assert [seen.column("gpu0", SENT).keys(), seen.column("gpu0", RECEIVED).keys()] == [ALL - {5}, ALL - {5}]
    assert seen.reasons() == {("gpu0/5", Reason.UNSUPPORTED)}


def test_all_calls_for_fields_refused_leave_no_numbers_and_say_so(driver: FakeDriver) -> None:
    """Busy for a moment: a Fault for each number, and everything is there again in the next pass."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        sound = child.read("gpu0", "fast")
        driver.change({"g0.call.nvmlDeviceGetFieldValues.ret": 10})
        busy, other = child.read("gpu0", "fast"), child.read("gpu1", "fast")
        driver.remove("g0.call.nvmlDeviceGetFieldValues.ret")
        after = child.read("gpu0", "fast")

    assert [busy.links("gpu0"), busy.reasons()] == [{}, {(f"gpu0/{link}", Reason.TIMEOUT) for link in range(18)}]
    assert [len(other.links("gpu1")), other.faults] == [18, ()]
    assert [after.values, after.faults] == [sound.values, ()]


def test_a_link_going_down_takes_its_numbers_along_and_comes_back_with_them(driver: FakeDriver) -> None:
    """Its state stays; bytes, rate and power state are absent meanwhile, and so are errors that it refuses, without a Fault."""
    driver.write(profile("h100-sxm"))
    gone: dict[str, Value] = {f"g0.l4.{field}": ret(2) for field in (TX, RX)}
    with SourceChild(driver) as child:
        child.scan()
        sound = child.passes("gpu0")
        driver.change({**going(4, up=False), **gone, f"g0.l4.{REPLAY}": ret(3), f"g0.l4.{SPEED}": uint(0)})
        during = child.passes("gpu0")
        driver.write(profile("h100-sxm"))
        after = child.passes("gpu0")

    fast, normal, slow = during
    assert fast.links("gpu0")[4] == {"nvlink_state": 0, "nvlink_presence": 4}
    assert normal.links("gpu0")[4].keys() == {("nvlink_errors", "crc"), ("nvlink_recoveries", "any")}
    assert [slow.links("gpu0").keys(), fast.values["gpu0"]["nvlink_active"]] == [ALL - {4}, 17]
    assert fast.faults + normal.faults + slow.faults == ()
    assert [seen.values for seen in after] == [seen.values for seen in sound]


def test_fields_that_only_an_active_link_answers_are_found_once_one_is(driver: FakeDriver) -> None:
    """A GPU met with all links down is asked again when the first is up; links still down cause no Fault."""
    board = profile("b200")
    dead: dict[str, Value] = {}
    for link in range(18):
        dead |= {key: value for key, value in board.items() if key.startswith(f"g0.l{link}.") and not key.endswith((".state", STATE))}
    silent = {key: value for key, value in board.items() if key not in dead}
    for link in range(18):
        silent |= going(link, up=False)
    driver.write(silent)
    with SourceChild(driver) as child:
        child.scan()
        before = [child.read("gpu0", cadence) for cadence in ("fast", "normal")]
        driver.change({**{key: value for key, value in dead.items() if key.startswith("g0.l7.")}, **going(7, up=True)})
        after = [child.read("gpu0", cadence) for cadence in ("fast", "normal")]

    assert [len(seen.links("gpu0")) for seen in before] == [18, 0]
    assert {("nvlink_errors", "symbol"), "nvlink_rate", "nvlink_transmit_wait"} <= after[1].links("gpu0")[7].keys()
    assert [after[0].column("gpu0", RECEIVED).keys(), after[1].links("gpu0").keys()] == [{7}, {7}]
    assert [seen.faults for seen in (*before, *after)] == [()] * 4


def test_counters_of_the_old_call_are_found_once_a_link_is_active(driver: FakeDriver) -> None:
    """V100 without fields 161 to 163, met with link 0 down: the kinds that the others count are shown."""
    fields = {f"f{field_id(name)}" for name in LEGACY}
    sound = {key: value for key, value in profile("v100").items() if key.split(".")[-1] not in fields}
    driver.write({key: value for key, value in sound.items() if not key.startswith("g0.l0.counter")} | going(0, up=False))
    with SourceChild(driver) as child:
        child.scan()
        child.read("gpu0", "fast")
        seen = child.read("gpu0", "normal")

    kinds = {("nvlink_errors", "replay"), ("nvlink_errors", "crc_flit"), ("nvlink_errors", "crc_data"), ("nvlink_recoveries", "any")}
    counted = {link: values.keys() & kinds for link, values in seen.links("gpu0").items()}
    assert counted == dict.fromkeys(range(1, 6), kinds)
    assert seen.faults == ()


def test_a_counter_that_goes_back_passes_through_and_has_no_rate(driver: FakeDriver) -> None:
    """A GPU reset: what is shown is the driver's number, and nobody knows what happened between the passes; the neighbour stood still."""
    driver.write(profile("h100-sxm"))
    with SourceChild(driver) as child:
        child.scan()
        before = child.read("gpu0", "fast", 0.0).snapshot
        driver.change({f"g0.l3.{TX}": ull(7)})
        after = child.read("gpu0", "fast", 5.0).snapshot

    links = [Link(Fabric.NVLINK, "gpu0", port) for port in ("3", "4")]
    assert value_in(after, links[0], SENT) == 7 * 1024
    assert [growth_between(before, after, link, Role.TX_BYTES) for link in links] == [None, 0]
