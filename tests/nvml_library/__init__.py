"""A stand-in for libnvidia-ml.so.1 in C, compiled against the real nvml.h and loaded by the unmodified pynvml.

    driver = FakeDriver(tmp_path).write(profile("h100-sxm"))
    driver.change({"g0.l3.state": 0, "g1.call.nvmlDeviceGetFieldValues.sleep_ms": "forever"})
    subprocess.run(argv, env={**os.environ, **driver.environment()})
    driver.clock.advance(5)
    driver.calls("nvmlDeviceGetFieldValues")

The library answers what the scenario says; what no statement mentions is NotSupported. gN is the GPU of NVML index N, lM its link M.
In gN and lM a `*` stands for all, and the more special key wins. A number is `5`, `uint 5`, `ull 5 rate 2 per second` (types: double
uint ulong ull sll int ushort; it rises with the fake clock) or `ret 3`, an nvmlReturn_t in place of a value.

    gpus, driver, nvml, cuda, bw_mode               the node
    init.ret = 9                                    nvmlInit fails
    gN.uuid .name .serial .board_part .pci .pci_id .pci_subsystem .minor .module .arch .mig .mig_pending .persistence
    gN.virtualization .numa .pcie_generation(_max) .pcie_width(_max) .cpus .memory_nodes .event_types .c2c
    gN.lost = 1                                     every call about it: GpuIsLost; an event set with it fails whole
    gN.fID, gN.lM.fID, gN.all.fID                   field values: of the GPU (any scope), of scope M, of scope UINT_MAX
    gN.links, gN.links_max, links.beyond.ret        ports there are; up to where the capability call says yes; answer beyond `links`
    gN.lM.state .version .remote_type .remote_pci .counterK .capabilityK
    gN.prm = 1, gN.portP.prmID                      PRM counters by (counter, local port) as the caller's structure names them
    gN.fabric.state .status .cluster_uuid .clique .clique_entry .health_mask .summary; fabric.reject = "3 4"
    gN.platform.slot .tray .host .peer_type .module .ib_guid .rack_guid .chassis_serial
    gN.nvle, gN.firmware, gN.bw_mode, gN.bw_best, gN.bw_modes
    gN.gM.ancestor, gN.gM.p2pK                      topology level and P2P status
    gN.mig_uuids = "MIG-…", "-"                     list: the MIG device of each index, "-" where there is none
    gN.proc = "PID BYTES", gN.mps_proc, gN.graphics_proc    lists: a sequence of texts
    gN.memory_used .memory_total .utilization .clocks_event_reasons .compute_mode
    ev = "12.5 g1 xid 149", "20 g0 unbind"          list: at a second of the fake clock
    call.FUNCTION.ret, .sleep_ms, .abort            also gN.call.…; FUNCTION or *; sleep_ms "forever" ends when taken back
    fields.batch_max .poison_inactive .poison .known_max .timestamp .latency_us, clock.epoch_us     (fields.c)
"""

from tests.nvml_library.driver import Call, FakeClock, FakeDriver
from tests.nvml_library.header import constants, field_id, fields, header_path
from tests.nvml_library.profiles import BOARDS, IDLE, profile
from tests.nvml_library.scenario import NOT_SUPPORTED, Amount, Ret, answer, double, ret, uint, ull

__all__ = [
    "BOARDS",
    "IDLE",
    "NOT_SUPPORTED",
    "Amount",
    "Call",
    "FakeClock",
    "FakeDriver",
    "Ret",
    "answer",
    "constants",
    "double",
    "field_id",
    "fields",
    "header_path",
    "profile",
    "ret",
    "uint",
    "ull",
]
