"""The calls about one link and the port counters of firmware, read back by the unmodified pynvml."""

from tests.nvml_library import FakeDriver, ret, uint, ull
from tests.nvml_library.scenario import Value

FOUR_PORTS: dict[str, Value] = {"gpus": 2, "g*.links": 4}
INVALID, UNSUPPORTED = "NVMLError_InvalidArgument", "NVMLError_NotSupported"


def test_a_port_beyond_the_count_is_refused(driver: FakeDriver) -> None:
    """Up, down, a code, nothing stated, beyond; an older driver says NotSupported beyond."""
    driver.write({**FOUR_PORTS, "g0.l1.state": 1, "g0.l2.state": 0, "g0.l3.state": ret(999)})
    script = "gpu = started()[0]\ntold([outcome(N.nvmlDeviceGetNvLinkState, gpu, link) for link in range(5)])"

    told = driver.ask(script)
    older = driver.change({"links.beyond.ret": 3}).ask(script)

    assert [told, older[-1]] == [[UNSUPPORTED, 1, 0, "NVMLError_Unknown", INVALID], UNSUPPORTED]


def test_the_capability_says_yes_beyond_the_ports(driver: FakeDriver) -> None:
    """NVIDIA/TensorRT-LLM#19210: 36 links are capable where 18 are; one link's statement wins."""
    told = driver.write({**FOUR_PORTS, "g0.links_max": 36, "g0.l2.capability5": 0}).ask("""
        gpu = started()[0]
        told([outcome(N.nvmlDeviceGetNvLinkCapability, gpu, link, 5) for link in (2, 3, 35, 36)])
    """)

    assert told == [0, 1, 1, INVALID]


def test_the_far_end_may_have_no_place_on_the_node(driver: FakeDriver) -> None:
    """A rack's switch says FFFFFFFF:FF:FF.0; a port without a statement has no far end."""
    driver.write({**FOUR_PORTS, "g0.l1.version": 7, "g0.l1.remote_type": 2, "g0.l1.remote_pci": "FFFFFFFF:FF:FF.0"})

    told = driver.ask("""
        gpu = started()[0]
        told([
            N.nvmlDeviceGetNvLinkVersion(gpu, 1), N.nvmlDeviceGetNvLinkRemoteDeviceType(gpu, 1),
            N.nvmlDeviceGetNvLinkRemotePciInfo(gpu, 1).busId, outcome(N.nvmlDeviceGetNvLinkRemotePciInfo, gpu, 2),
        ])
    """)

    assert told == [7, 2, "FFFFFFFF:FF:FF.0", UNSUPPORTED]


def test_error_counters_rise_by_kind_and_link(driver: FakeDriver) -> None:
    """Exact beyond 2^53; a kind that is not supported says so."""
    driver.write({**FOUR_PORTS, "g0.l*.counter2": ret(3), "g0.l1.counter2": ull(2**53 + 1, rate=2), "g0.l1.counter0": ull(9)})
    driver.clock.set(1)

    told = driver.ask("""
        gpu = started()[0]
        told([outcome(N.nvmlDeviceGetNvLinkErrorCounter, gpu, link, kind) for link, kind in ((1, 2), (1, 0), (2, 2), (4, 2), (1, 9))])
    """)

    assert told == [2**53 + 3, 9, UNSUPPORTED, INVALID, INVALID]


def test_prm_counters_go_by_counter_and_local_port(driver: FakeDriver) -> None:
    """Each with its own status; a GPU that has none refuses the call."""
    numbers: dict[str, Value] = {"g0.port3.prm201": ull(2**53 + 1, rate=2), "g0.port4.prm1": uint(5), "g0.port4.prm201": ret(4)}
    driver.write({**FOUR_PORTS, "g0.prm": 1, **numbers})
    driver.clock.set(1)

    told = driver.ask("""
        gpus = started()
        counters = (N.c_nvmlPRMCounter_v1_t * 4)()
        for one, (number, port) in zip(counters, [(201, 3), (1, 4), (201, 4), (1, 3)]):
            one.counterId, one.inputValue.localPort = number, port
        asked = N.c_nvmlPRMCounterList_v1_t(4, counters)
        N.nvmlDeviceReadPRMCounters_v1(gpus[0], asked)
        values = [one.outputValue for one in counters]
        told([
            [one.status for one in values], [one.outputType for one in values[:2]],
            values[0].outputValue.ullVal, values[1].outputValue.uiVal, outcome(N.nvmlDeviceReadPRMCounters_v1, gpus[1], asked),
        ])
    """)

    assert told == [[0, 0, 4, 2], [3, 1], 2**53 + 3, 5, UNSUPPORTED]
    assert driver.calls("nvmlDeviceReadPRMCounters_v1")[0].fields == ((201, 3), (1, 4), (201, 4), (1, 3))
