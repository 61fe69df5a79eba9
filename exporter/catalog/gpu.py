"""Rows about a GPU as a whole: who it is, its NVLinks counted and expected, its place in an NVLink domain, its chip-to-chip links. Data.

Field ids and enumerations: nvml.h. Which GPU answers which question is found out by asking.
"""

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit

DEVICE = ("device",)
C2C = ("device", "port")


def _gauge(key: str, name: str, unit: Unit, raw: str, help_text: str, tier: Tier = Tier.STANDARD, labels: tuple[str, ...] = DEVICE,
           role: Role | None = None, cadence: Cadence = Cadence.NORMAL, absent: str = "this GPU or driver does not say",
           scale: float = 1) -> Metric:  # fmt: skip
    return Metric(key, "fabric_" + name, Kind.GAUGE, unit, labels, help_text, tier, raw, scale, role, cadence, absent)


INFO = Metric("gpu_info", "fabric_gpu_info", Kind.INFO, Unit.COUNT,
    ("device", "uuid", "pci", "name", "module_id", "cluster_uuid", "clique_id"),
    "Who the GPU is, and its NVLink domain (cluster) and the part of it that it can reach (clique); a label is empty where the driver does "
    "not say. Value is always 1.", Tier.BASIC, "identity calls", cadence=Cadence.SLOW, absent="the GPU does not answer")  # fmt: skip
DRIVER_INFO = Metric("gpu_driver", "fabric_gpu_driver_info", Kind.INFO, Unit.COUNT, ("driver_version",),
    "Version of the NVIDIA kernel driver; value is always 1.", Tier.BASIC, "nvmlSystemGetDriverVersion", cadence=Cadence.SLOW,
    absent="NVML does not answer")  # fmt: skip
PLATFORM_INFO = Metric("gpu_platform", "fabric_gpu_platform_info", Kind.INFO, Unit.COUNT,
    ("device", "chassis_serial", "slot", "tray", "host_id", "peer_type"),
    "Where in its rack the GPU sits; value is always 1.", Tier.STANDARD, "nvmlDeviceGetPlatformInfo", cadence=Cadence.SLOW,
    absent="the driver does not say: before Blackwell, and on nodes that are no rack")  # fmt: skip
FIRMWARE_INFO = Metric("nvlink_firmware", "fabric_nvlink_firmware_info", Kind.INFO, Unit.COUNT, ("device", "part", "firmware_version"),
    "NVLink firmware of the GPU by part; mixed versions in one rack are worth knowing. Value is always 1.", Tier.STANDARD,
    "nvmlDeviceGetNvLinkInfo", cadence=Cadence.SLOW, absent="the driver does not say")  # fmt: skip

LINKS_ACTIVE = _gauge("nvlink_active", "nvlink_links_active", Unit.COUNT, "field 165",
    "NVLinks of the GPU that are active now, those asleep included.", Tier.AGGREGATE, cadence=Cadence.FAST,
    absent="the GPU has no NVLink ports, or did not answer")  # fmt: skip
LINKS_EXPECTED = _gauge("nvlink_expected", "nvlink_links_expected", Unit.COUNT, "",
    "NVLinks of the GPU that should be active, by the first that knows: configuration, board, this node's past, the GPU's sisters.",
    Tier.AGGREGATE, absent="nobody knows (a bridge board of its first days), or MIG hides the links")  # fmt: skip
EXPECTATION_INFO = Metric("nvlink_expectation", "fabric_nvlink_expectation_info", Kind.INFO, Unit.COUNT, ("device", "source"),
    "Who says how many NVLinks the GPU should have (configured, board, learned, symmetry, unknown); value is always 1.", Tier.STANDARD,
    absent="the GPU has no NVLink ports")  # fmt: skip
RATE_EXPECTED = _gauge("nvlink_rate_expected", "nvlink_signalling_rate_expected_bytes_per_second", Unit.BYTES_PER_SECOND, "",
    "Signalling rate that each active NVLink of the GPU should have, by configuration or board.", absent="neither names one")  # fmt: skip
LINKS_CONNECTED = _gauge("nvlink_connected", "nvlink_links_to_switches", Unit.COUNT, "field 147",
    "NVLinks of the GPU that lead to NVSwitches, by the driver's own count.", cadence=Cadence.SLOW)  # fmt: skip

FABRIC_STATE = _gauge("gpu_fabric_state", "gpu_fabric_state_id", Unit.STATE, "nvmlDeviceGetGpuFabricInfoV",
    "How far the GPU got in joining its NVLink domain (1 not started, 2 in progress, 3 completed); completed alone does not mean well.",
    absent="the GPU has no such domain (before Hopper, or without a fabric manager)")  # fmt: skip
FABRIC_STATUS = _gauge("gpu_fabric_status", "gpu_fabric_status_id", Unit.STATE, "nvmlDeviceGetGpuFabricInfoV",
    "With what result it joined (an nvmlReturn: 0 well, 23 insufficient resources).", absent="it has not joined")  # fmt: skip
FABRIC_HEALTHY = _gauge("gpu_fabric_healthy", "gpu_fabric_healthy", Unit.COUNT, "nvmlDeviceGetGpuFabricInfoV",
    "1 if the GPU joined its NVLink domain and nothing it says of it is bad, else 0.",
    absent="the GPU has no such domain, or has not finished joining it")  # fmt: skip
FABRIC_HEALTH = _gauge("gpu_fabric_health", "gpu_fabric_health_id", Unit.STATE, "nvmlDeviceGetGpuFabricInfoV healthMask",
    "What the GPU says of its NVLink domain, by field: 1 true and 2 false for degraded_bw, route_recovery, route_unhealthy, "
    "access_timeout_recovery, partition_assigned, gfm_connected; incorrect_configuration is 1 if none, else the kind (5 insufficient "
    "NVLinks); summary is 1 healthy, 2 unhealthy, 3 limited capacity.", labels=("device", "field"),
    absent="the GPU does not support the field")  # fmt: skip
BANDWIDTH_MODE = _gauge("gpu_bandwidth_mode", "gpu_nvlink_bandwidth_mode_id", Unit.STATE, "nvmlDeviceGetNvlinkBwMode",
    "Bandwidth mode that somebody set for the GPU's NVLinks; a lower one is a setting, not a fault.", cadence=Cadence.SLOW)  # fmt: skip
NODE_BANDWIDTH_MODE = _gauge("node_bandwidth_mode", "node_nvlink_bandwidth_mode_id", Unit.STATE, "nvmlSystemGetNvlinkBwMode",
    "Bandwidth mode set for all NVLinks of the node (0 full, 1 off, 2 least, 3 half, 4 three quarters).", labels=(), cadence=Cadence.SLOW,
    absent="the driver does not say, or only to root")  # fmt: skip
RECOVERY_ACTION = _gauge("gpu_recovery_action", "gpu_recovery_action_id", Unit.STATE, "field 230",
    "What the driver wants done to the GPU (0 nothing, 1 reset it, 2 reboot the node, 3 drain peer-to-peer, 4 drain and reset, 5 recover "
    "the IMEX domain, 6 reset the bus, 7 reboot the system).")  # fmt: skip
MIG_ENABLED = _gauge("gpu_mig", "gpu_mig_enabled", Unit.COUNT, "nvmlDeviceGetMigMode",
    "1 while the GPU is partitioned (MIG), else 0; while any GPU of the node is, NVML reports healthy NVLinks as down.",
    absent="the GPU cannot be partitioned")  # fmt: skip

C2C_STATUS = _gauge("c2c_status", "c2c_link_up", Unit.COUNT, "field 171",
    "1 if the link between the GPU and its Grace CPU is up, else 0; port is the link's index.", labels=C2C)  # fmt: skip
C2C_BANDWIDTH = _gauge("c2c_bandwidth", "c2c_max_bandwidth_bytes_per_second", Unit.BYTES_PER_SECOND, "field 172 (MB/s)",
    "Greatest bandwidth of the link between the GPU and its Grace CPU, in bytes per second.", labels=C2C, scale=1_000_000)  # fmt: skip
C2C_POWER = _gauge("c2c_power", "c2c_power_state_id", Unit.STATE, "field 234",
    "Power state of the link between the GPU and its Grace CPU.", Tier.FULL, labels=C2C)  # fmt: skip
C2C_ERRORS = Metric("c2c_errors", "fabric_c2c_errors_total", Kind.COUNTER, Unit.COUNT, (*C2C, "kind"),
    "Errors on the link between the GPU and its Grace CPU, by kind (interrupt, replay, replay_back_to_back).", Tier.STANDARD,
    "fields 231-233", 1, Role.ERRORS, absent="only GPUs on a Grace superchip have such links")  # fmt: skip

ROWS = (INFO, DRIVER_INFO, PLATFORM_INFO, FIRMWARE_INFO, LINKS_ACTIVE, LINKS_EXPECTED, EXPECTATION_INFO, RATE_EXPECTED, LINKS_CONNECTED,
        FABRIC_STATE, FABRIC_STATUS, FABRIC_HEALTHY, FABRIC_HEALTH, BANDWIDTH_MODE, NODE_BANDWIDTH_MODE, RECOVERY_ACTION, MIG_ENABLED,
        C2C_STATUS, C2C_BANDWIDTH, C2C_POWER, C2C_ERRORS)  # fmt: skip
