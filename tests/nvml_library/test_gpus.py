"""Who a GPU says it is, its neighbours, processors and processes, read back by the unmodified pynvml in a process of its own."""

from tests.nvml_library import FakeDriver
from tests.nvml_library.scenario import Value

TWO_GPUS: dict[str, Value] = {"gpus": 2, "g0.uuid": "GPU-aaaa", "g1.uuid": "GPU-bbbb"}


def test_gpus_say_who_they_are(driver: FakeDriver) -> None:
    """Count, UUIDs, and the identity of the one that was asked; NotSupported where no statement stands."""
    second: dict[str, Value] = {"g1.serial": "165", "g1.minor": 5, "g1.module": 3, "g1.mig": 1, "g1.arch": 9, "g1.numa": 2}
    driver.write({**TWO_GPUS, "g*.name": "NVIDIA H100 80GB HBM3", **second})

    told = driver.ask("""
        gpus = started()
        one = gpus[1]
        told([
            len(gpus), [N.nvmlDeviceGetUUID(gpu) for gpu in gpus], N.nvmlDeviceGetName(one), N.nvmlDeviceGetSerial(one),
            N.nvmlDeviceGetMinorNumber(one), N.nvmlDeviceGetModuleId(one), N.nvmlDeviceGetMigMode(one), N.nvmlDeviceGetArchitecture(one),
            N.nvmlDeviceGetNumaNodeId(one), N.nvmlDeviceGetIndex(one), outcome(N.nvmlDeviceGetSerial, gpus[0]),
        ])
    """)

    name = "NVIDIA H100 80GB HBM3"
    assert told == [2, ["GPU-aaaa", "GPU-bbbb"], name, "165", 5, 3, [1, 1], 9, 2, 1, "NVMLError_NotSupported"]


def test_the_driver_tells_its_versions(driver: FakeDriver) -> None:
    """Driver, library and CUDA."""
    told = driver.write({**TWO_GPUS, "driver": "550.90.07", "nvml": "12.550.90.07", "cuda": 12_040}).ask("""
        started()
        told([N.nvmlSystemGetDriverVersion(), N.nvmlSystemGetNVMLVersion(), N.nvmlSystemGetCudaDriverVersion()])
    """)

    assert told == ["550.90.07", "12.550.90.07", 12_040]


def test_a_gpu_is_found_by_uuid_address_and_index(driver: FakeDriver) -> None:
    """However the address is spelt; what is not there is NotFound, an index beyond the count InvalidArgument."""
    driver.write({**TWO_GPUS, "g1.pci": "00000000:AF:00.0", "g1.pci_id": 0x233010DE})

    told = driver.ask("""
        gpus = started()
        found = [N.nvmlDeviceGetHandleByUUID("gpu-BBBB"), N.nvmlDeviceGetHandleByPciBusId("0:af:00.0")]
        pci = N.nvmlDeviceGetPciInfo(gpus[1])
        told([
            [N.nvmlDeviceGetIndex(gpu) for gpu in found], [pci.busId, pci.busIdLegacy, pci.bus, pci.pciDeviceId],
            outcome(N.nvmlDeviceGetHandleByUUID, "GPU-cccc"), outcome(N.nvmlDeviceGetHandleByIndex, 2),
        ])
    """)

    place = ["00000000:AF:00.0", "0000:AF:00.0", 0xAF, 0x233010DE]
    assert told == [[1, 1], place, "NVMLError_NotFound", "NVMLError_InvalidArgument"]


def test_pairs_and_processors(driver: FakeDriver) -> None:
    """The order asked goes before the other one; processors are bits of words."""
    driver.write({**TWO_GPUS, "g0.g1.ancestor": 30, "g0.g1.p2p2": 0, "g1.g0.p2p2": 5, "g0.cpus": "0-1,64-65", "g0.memory_nodes": "1"})

    told = driver.ask("""
        a, b = started()
        told([
            N.nvmlDeviceGetTopologyCommonAncestor(a, b), N.nvmlDeviceGetTopologyCommonAncestor(b, a),
            N.nvmlDeviceGetP2PStatus(a, b, 2), N.nvmlDeviceGetP2PStatus(b, a, 2), outcome(N.nvmlDeviceGetP2PStatus, a, b, 4),
            list(N.nvmlDeviceGetCpuAffinityWithinScope(a, 2, 0)), list(N.nvmlDeviceGetMemoryAffinity(a, 1, 0)),
        ])
    """)

    assert told == [30, 30, 0, 5, "NVMLError_NotSupported", [3, 3], [2]]


def test_processes_with_and_without_memory(driver: FakeDriver) -> None:
    """As many as there are lines; a GPU without any has an empty list."""
    told = driver.write({**TWO_GPUS, "g1.proc": ("4242 1048576", "4243 na")}).ask("""
        told([[[one.pid, one.usedGpuMemory] for one in N.nvmlDeviceGetComputeRunningProcesses_v3(gpu)] for gpu in started()])
    """)

    assert told == [[], [[4242, 1_048_576], [4243, None]]]


def test_a_partitioned_gpu_lists_its_mig_devices(driver: FakeDriver) -> None:
    """By index, with gaps; one that is not partitioned has room and no device; one that cannot be says so."""
    told = driver.write({**TWO_GPUS, "g0.mig": 1, "g0.mig_uuids": ("MIG-a", "-", "MIG-c"), "gpus": 3, "g1.mig": 0}).ask("""
        def parts(gpu):
            return [outcome(lambda: N.nvmlDeviceGetUUID(N.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index))) for index in range(4)]
        gpus = started()
        told([parts(gpus[0]), [N.nvmlDeviceGetMaxMigDeviceCount(gpu) for gpu in gpus[:2]], parts(gpus[1])[0],
              outcome(N.nvmlDeviceGetMaxMigDeviceCount, gpus[2])])
    """)

    missing = "NVMLError_NotFound"
    assert told == [["MIG-a", missing, "MIG-c", missing], [7, 7], "NVMLError_InvalidArgument", "NVMLError_NotSupported"]
