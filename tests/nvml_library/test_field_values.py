"""nvmlDeviceGetFieldValues through the unmodified pynvml: types, scopes, codes, times, and the ways in which a batch goes wrong."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nvml_library import Amount, FakeDriver, double, field_id, ret, uint, ull
from tests.nvml_library.scenario import WIDTHS, Value

ALL = 0xFFFFFFFF
ONE_GPU: dict[str, Value] = {"gpus": 1, "g*.links": 4}
DATA = field_id("NVLINK_THROUGHPUT_DATA_TX")
STATE = field_id("NVLINK_GET_STATE")
INVALID = "NVMLError_InvalidArgument"


def read(driver: FakeDriver, *pairs: tuple[int, int]) -> object:
    """Values of GPU 0 by (field id, scope), or the name of the whole call's error."""
    return driver.ask(f"told(outcome(values, started()[0], {list(pairs)}))")


def test_a_value_comes_back_in_its_type_and_to_the_last_digit(driver: FakeDriver) -> None:
    """All seven value types, and what a float would round."""
    amounts = [double(1.5e-12), uint(2**32 - 1), Amount("ulong", 2**63), ull(2**53 + 1), Amount("sll", -(2**62)), Amount("int", -7)]
    amounts += [Amount("ushort", 65_535), ull(2**64 - 1)]
    driver.write({**ONE_GPU, **{f"g0.f{number}": amount for number, amount in enumerate(amounts, 1)}})

    assert read(driver, *((number, 0) for number in range(1, 9))) == [amount.base for amount in amounts]


AMOUNTS = st.sampled_from(sorted(WIDTHS)).flatmap(
    lambda kind: st.builds(Amount, st.just(kind), st.integers(-(2**63), 2**64 - 1), st.integers(-(2**40), 2**40))
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(amounts=st.lists(AMOUNTS, min_size=20, max_size=80), clock_ns=st.integers(0, 2**62))
def test_library_and_python_agree_on_any_amount_at_any_time(driver: FakeDriver, amounts: list[Amount], clock_ns: int) -> None:
    """Amount.at is what the library answers: exact, wrapped to the width of the type, rounded down."""
    driver.write({**ONE_GPU, **{f"g0.f{number}": amount for number, amount in enumerate(amounts)}})
    driver.clock.set_ns(clock_ns)

    assert read(driver, *((number, 0) for number in range(len(amounts)))) == [amount.at(clock_ns) for amount in amounts]


def test_each_scope_has_its_own_value(driver: FakeDriver) -> None:
    """A link's own statement before the wildcard's, the sum under UINT_MAX, and a field of the GPU, which takes any scope."""
    links = {"g*.l*.f138": ull(1), "g*.l2.f138": ull(2), "g0.l3.f138": ull(3), "g0.all.f138": ull(9)}
    driver.write({**ONE_GPU, **links, "g0.f91": uint(4)})

    assert read(driver, (DATA, 0), (DATA, 2), (DATA, 3), (DATA, ALL), (91, 0), (91, 3)) == [1, 2, 3, 9, 4, 4]


def test_each_value_has_its_own_return_code(driver: FakeDriver) -> None:
    """A stated code, a field nobody mentioned, a link beyond the ports, an id beyond all, and one newer than the driver."""
    driver.write({**ONE_GPU, "g0.l*.f165": ret(999), "g0.l*.f138": ull(1), "fields.known_max": 200})

    told = read(driver, (STATE, 1), (164, 1), (DATA, 4), (5_000, 0), (201, 1), (DATA, 1))

    assert told == [{"ret": 999}, {"ret": 3}, {"ret": 2}, {"ret": 2}, {"ret": 2}, 1]


def test_values_carry_the_time_of_the_fake_clock(driver: FakeDriver) -> None:
    """Microseconds, with an epoch and a latency if stated, none if the scenario says so."""
    driver.write({**ONE_GPU, "g0.f1": ull(10, rate=3), "clock.epoch_us": 1_000, "fields.latency_us": 7})
    driver.clock.set(2.5)
    script = """
        one = N.nvmlDeviceGetFieldValues(started()[0], [1])[0]
        told([one.timestamp, one.latencyUsec, one.value.ullVal])
    """

    with_time = driver.ask(script)
    without = driver.change({"fields.timestamp": "none"}).ask(script)

    assert [with_time, without] == [[2_501_000, 7, 17], [0, 7, 17]]


def test_a_value_is_written_no_wider_than_its_type(driver: FakeDriver) -> None:
    """Whoever reads 64 bits of a 32-bit value that was not zeroed before reads rubbish, as with a driver."""
    told = driver.write({**ONE_GPU, "g0.f1": uint(5)}).ask("""
        gpu = started()[0]
        array = (N.c_nvmlFieldValue_t * 1)()
        array[0].fieldId, array[0].value.ullVal = 1, 2**64 - 1
        N.nvmlLib.nvmlDeviceGetFieldValues(gpu, 1, array)
        told([array[0].value.uiVal, array[0].value.ullVal])
    """)

    assert told == [5, 0xFFFFFFFF_00000005]


def test_a_batch_beyond_the_limit_fails_whole(driver: FakeDriver) -> None:
    """As does one of no values; the limit itself is still taken."""
    driver.write({**ONE_GPU, "g0.f1": uint(5), "fields.batch_max": 2})

    assert [read(driver), read(driver, (1, 0), (1, 0)), read(driver, (1, 0), (1, 0), (1, 0))] == [INVALID, [5, 5], INVALID]


def test_an_inactive_link_poisons_a_batch_of_throughput(driver: FakeDriver) -> None:
    """The call fails whole, KiB and byte fields alike; state beside it, and the sum of all links, do not mind."""
    numbers = {"g0.l*.f138": ull(1), "g0.l*.f204": ull(2), "g0.all.f138": ull(3), "g0.l*.f165": uint(1)}
    driver.write({**ONE_GPU, **numbers, "g0.l*.state": 1, "g0.l2.state": 0, "fields.poison_inactive": 1})

    told = [read(driver, (DATA, 1), (DATA, 2)), read(driver, (204, 2)), read(driver, (DATA, 1), (STATE, 2), (DATA, ALL))]

    assert told == [INVALID, INVALID, [1, 1, 3]]


def test_a_poisonous_field_takes_the_others_support_away(driver: FakeDriver) -> None:
    """NVIDIA/dcgm-exporter#581: alone each answers, together only the poisonous one."""
    driver.write({**ONE_GPU, "g0.f91": uint(4), "g0.f1": uint(5), "fields.poison": 91})

    assert [read(driver, (1, 0)), read(driver, (91, 0)), read(driver, (1, 0), (91, 0))] == [[5], [4], [{"ret": 3}, 4]]
