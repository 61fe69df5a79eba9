"""Fabric state in its versions, place in the rack, firmware and bandwidth modes, read back by the unmodified pynvml."""

from pathlib import Path

from tests.nvml_library import FakeDriver, ret
from tests.nvml_library.scenario import Value

TWO_GPUS: dict[str, Value] = {"gpus": 2}
FABRIC: dict[str, Value] = {
    "g0.fabric.state": 3,
    "g0.fabric.status": 23,
    "g0.fabric.cluster_uuid": "00112233-4455-6677-8899-aabbccddeeff",
    "g0.fabric.clique": 7,
    "g0.fabric.clique_entry": ("0 7", "1 9"),
    "g0.fabric.health_mask": 0x1AA,
    "g0.fabric.summary": 3,
}
UNSUPPORTED, MISMATCH = "NVMLError_NotSupported", "NVMLError_ArgumentVersionMismatch"
SCRIPT = """
    gpu = started()[0]

    def told_by(call, info, *more):
        error = outcome(call, gpu, ctypes.byref(info))
        return error or [bytes(info.clusterUuid).hex(), info.status, info.state, *(getattr(info, name) for name in more)]

    last = N.c_nvmlGpuFabricInfo_v4_t()
    told([
        told_by(N.nvmlDeviceGetGpuFabricInfo, N.c_nvmlGpuFabricInfo_t(), "cliqueId"),
        told_by(N.nvmlDeviceGetGpuFabricInfoV, N.c_nvmlGpuFabricInfo_v2_t(), "cliqueId", "healthMask"),
        told_by(N.nvmlDeviceGetGpuFabricInfoV, N.c_nvmlGpuFabricInfo_v3_t(), "cliqueId", "healthMask", "healthSummary"),
        told_by(N.nvmlDeviceGetGpuFabricInfo_v4, last, "healthMask", "healthSummary"),
        [[one.type, one.id] for one in last.cliques[:last.numCliques]],
    ])
"""


def test_each_version_tells_what_it_can(driver: FakeDriver) -> None:
    """The state is Completed and the status is not success, as Azure/azhpc-images#506 saw it; version 4 lists cliques."""
    basics = ["00112233445566778899aabbccddeeff", 23, 3]

    told = driver.write({**TWO_GPUS, **FABRIC}).ask(SCRIPT)

    assert told == [[*basics, 7], [*basics, 7, 0x1AA], [*basics, 7, 0x1AA, 3], [*basics, 0x1AA, 3], [[0, 7], [1, 9]]]


def test_an_older_driver_knows_fewer_versions(driver: FakeDriver) -> None:
    """Versions 3 and 4 are a mismatch while 2 and 1 work."""
    told = driver.write({**TWO_GPUS, **FABRIC, "fabric.reject": "3 4"}).ask(SCRIPT)

    assert [told[0][-1], told[1][-1], *told[2:]] == [7, 0x1AA, MISMATCH, MISMATCH, []]


def test_without_a_statement_there_is_no_fabric(driver: FakeDriver) -> None:
    """As before Hopper."""
    assert driver.write(TWO_GPUS).ask(SCRIPT) == [*([UNSUPPORTED] * 4), []]


def test_an_older_library_lacks_the_function_itself(tmp_path: Path) -> None:
    """What `without` names is no symbol of the library; the rest stays."""
    older = FakeDriver(tmp_path / "older", without=("nvmlDeviceGetGpuFabricInfoV",)).write({**TWO_GPUS, **FABRIC})

    told = older.ask(SCRIPT)

    assert [told[0][-1], told[1], told[2]] == [7, *(["NVMLError_FunctionNotFound"] * 2)]


def test_a_gpu_of_a_rack_tells_its_place(driver: FakeDriver) -> None:
    """Bytes as they are: pynvml takes them for text, and a GUID or a number of 0 ends such a text early."""
    numbers: dict[str, Value] = {
        f"g0.platform.{key}": n for key, n in zip(("slot", "tray", "host", "peer_type", "module"), range(5), strict=True)
    }
    texts = {"g0.platform.chassis_serial": "1821325170042", "g0.platform.ib_guid": "fe8000000000000000000000000000ab"}

    told = driver.write({**TWO_GPUS, **numbers, **texts}).ask("""
        gpus, place = started(), N.c_nvmlPlatformInfo_v2_t()
        N.nvmlDeviceGetPlatformInfo(gpus[0], ctypes.byref(place))
        raw = bytes(memoryview(place))
        told([raw[4:20].hex(), raw[20:36].rstrip(bytes(1)).decode(), list(raw[36:41]),
              outcome(N.nvmlDeviceGetPlatformInfo, gpus[1], ctypes.byref(place))])
    """)

    assert told == ["fe8000000000000000000000000000ab", "1821325170042", [0, 1, 2, 3, 4], UNSUPPORTED]


def test_firmware_of_the_links(driver: FakeDriver) -> None:
    """As many entries as lines, and whether traffic is encrypted."""
    told = driver.write({**TWO_GPUS, "g0.nvle": 1, "g0.firmware": ("1 36 2014 5", "2 36 2015 6")}).ask("""
        gpus, info = started(), N.c_nvmlNvLinkInfo_v2_t()
        N.nvmlDeviceGetNvLinkInfo(gpus[0], ctypes.byref(info))
        firmware = info.firmwareInfo
        entries = firmware.firmwareVersion[:firmware.numValidEntries]
        told([info.isNvleEnabled, [[one.ucodeType, one.major, one.minor, one.subMinor] for one in entries],
              outcome(N.nvmlDeviceGetNvLinkInfo, gpus[1], ctypes.byref(info))])
    """)

    assert told == [1, [[1, 36, 2014, 5], [2, 36, 2015, 6]], UNSUPPORTED]


def test_bandwidth_modes_of_gpu_and_node(driver: FakeDriver) -> None:
    """The node's mode is for root only; C2C is told beside."""
    driver.write({**TWO_GPUS, "g0.bw_mode": 3, "g0.bw_best": 1, "g0.bw_modes": "0 1 3", "bw_mode": ret(4), "g0.c2c": 1})

    told = driver.ask("""
        gpu, mode, modes = started()[0], N.c_nvmlNvlinkGetBwMode_v1_t(), N.c_nvmlNvlinkSupportedBwModes_v1_t()
        N.nvmlDeviceGetNvlinkBwMode(gpu, ctypes.byref(mode))
        N.nvmlDeviceGetNvlinkSupportedBwModes(gpu, ctypes.byref(modes))
        told([mode.bwMode, mode.bIsBest, list(modes.bwModes)[:modes.totalBwModes], outcome(N.nvmlSystemGetNvlinkBwMode),
              N.nvmlDeviceGetC2cModeInfoV(gpu).isC2cEnabled])
    """)

    assert told == [3, 1, [0, 1, 3], "NVMLError_NoPermission", 1]
