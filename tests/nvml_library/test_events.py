"""Xid and system events: when they come, to whom, and what keeps them away."""

from tests.nvml_library import FakeDriver
from tests.nvml_library.scenario import Value

TWO_GPUS: dict[str, Value] = {"gpus": 2, "g*.event_types": 0x1F}
LISTEN = """
gpus = started()
hears = N.nvmlEventSetCreate()
for gpu in gpus:
    N.nvmlDeviceRegisterEvents(gpu, N.nvmlEventTypeXidCriticalError & N.nvmlDeviceGetSupportedEventTypes(gpu), hears)

def address(handle):
    return ctypes.cast(handle, ctypes.c_void_p).value

def wait(timeout_ms=50):
    event = outcome(N.nvmlEventSetWait_v2, hears, timeout_ms)
    if isinstance(event, str):
        return event
    return [[address(gpu) for gpu in gpus].index(address(event.device)), event.eventType, event.eventData]

"""


def test_events_come_at_their_second_and_once(driver: FakeDriver) -> None:
    """A waiting set hears GPU 1's Xids when the clock reaches them, none from before it registered; then it times out."""
    driver.write({**TWO_GPUS, "ev": ("1 g0 xid 31", "12.5 g1 xid 149", "12.5 g1 xid 45", "13 g0 xid 74")})
    driver.clock.set(2)

    with driver.start(f"{LISTEN}told('ready')\ntold([wait(20_000), wait(), wait()])") as child:
        child.told()
        driver.clock.set(12.5)
        heard = child.told()

    assert heard == [[1, 8, 149], [1, 8, 45], "NVMLError_Timeout"]


def test_a_freed_set_is_no_set(driver: FakeDriver) -> None:
    """InvalidArgument, not a crash."""
    told = driver.write(TWO_GPUS).ask(f"{LISTEN}N.nvmlEventSetFree(hears)\ntold(wait())")

    assert told == "NVMLError_InvalidArgument"


def test_a_lost_gpu_makes_its_whole_set_fail(driver: FakeDriver) -> None:
    """As drivers do: the Xid of the other GPU is not told."""
    driver.write({**TWO_GPUS, "ev": ("0 g0 xid 31",)})

    with driver.start(f"{LISTEN}told('ready')\npause()\ntold(wait())") as child:
        child.told()
        driver.change({"g1.lost": 1})
        child.go_on()
        heard = child.told()

    assert heard == "NVMLError_GpuIsLost"


def test_a_type_that_is_not_supported_cannot_be_registered(driver: FakeDriver) -> None:
    """Who asks for all types is refused."""
    told = driver.write(TWO_GPUS).ask(f"{LISTEN}told(outcome(N.nvmlDeviceRegisterEvents, gpus[0], N.nvmlEventTypeAll, hears))")

    assert told == "NVMLError_NotSupported"


def test_the_driver_tells_that_it_will_be_unbound(driver: FakeDriver) -> None:
    """A system event set hears it, and no Xid."""
    driver.write({**TWO_GPUS, "ev": ("0 g0 xid 31", "0 g1 unbind")})

    told = driver.ask("""
        started()
        hears = N.nvmlSystemEventSetCreate(N.nvmlSystemEventSetCreateRequest_v1)
        N.nvmlSystemRegisterEvents(N.nvmlSystemRegisterEventRequest_v1, N.nvmlSystemEventTypeGpuDriverUnbind, hears)
        data = (N.c_nvmlSystemEventData_v1_t * 4)()
        told(N.nvmlSystemEventSetWait(N.nvmlSystemEventSetWaitRequest_v1, hears, 200, data, 4))
    """)

    assert told == [{"eventType": 1, "gpuId": 1}]
