"""Rows about the exporter itself. Data, no behaviour. The process, GC and platform rows are prometheus_client's own."""

from exporter.model.metric import Kind, Metric, Tier, Unit

NAME = "fabric_exporter_"
SOURCE = ("source",)


def _gauge(key: str, unit: Unit, labels: tuple[str, ...], help_text: str, tier: Tier = Tier.BASIC, absent: str = "",
           captured: bool = True) -> Metric:  # noqa: FBT001, FBT002  # a column of the table  # fmt: skip
    return Metric("exporter_" + key, NAME + key, Kind.GAUGE, unit, labels, help_text, tier, absent=absent, captured=captured)


BUILD_INFO = Metric("exporter_build", NAME + "build_info", Kind.INFO, Unit.COUNT, ("version", "revision", "pythonversion"),
    "Version of the exporter and of the Python that runs it; value is always 1.", Tier.AGGREGATE)  # fmt: skip
SIMULATED = _gauge("simulated", Unit.COUNT, (), "1 if every number on this page is invented by the simulator, else 0.", Tier.AGGREGATE)
SOURCE_UP = _gauge("source_up", Unit.COUNT, SOURCE,
    "1 if all that the source found answers, 0 if something hangs or is unreadable. No hardware is no failure.",
    Tier.AGGREGATE, "the source is switched off or has not finished its first pass")  # fmt: skip
SOURCE_DEVICES = _gauge("source_devices", Unit.COUNT, SOURCE, "Devices found and not told to leave alone.", Tier.AGGREGATE,
    "the source has not finished its first scan")  # fmt: skip
SOURCE_DEVICES_HUNG = _gauge("source_devices_hung", Unit.COUNT, SOURCE,
    "Devices whose read has not come back by its deadline and is not waited for.", Tier.AGGREGATE)  # fmt: skip
SOURCE_LAST_SUCCESS = _gauge("source_last_success_timestamp_seconds", Unit.TIMESTAMP, SOURCE,
    "When the newest pass of the source that came back began, in Unix time.", Tier.BASIC, "no pass has come back yet")  # fmt: skip
SOURCE_DURATION = _gauge("source_duration_seconds", Unit.SECONDS, SOURCE,
    "Wall time of the slowest device's newest pass.", Tier.BASIC, "no pass has come back yet")  # fmt: skip
SAMPLE_AGE = _gauge("sample_age_seconds", Unit.SECONDS, SOURCE,
    "Age of the oldest fast sample shown for the source, at the tick that published this page.", Tier.BASIC, "no live sample")  # fmt: skip
DUTY = _gauge("duty_ratio", Unit.RATIO, SOURCE,
    "Share of wall time that the source's busiest device spends answering our reads; the duty guard stretches its interval above 0.02.",
    Tier.BASIC, "no pass has come back yet")  # fmt: skip
SOURCE_FAULTS = Metric("exporter_source_faults", NAME + "source_faults_total", Kind.COUNTER, Unit.COUNT, ("source", "reason"),
    "Things the source could not read, by reason; each missing value of a pass counts once.", Tier.BASIC)  # fmt: skip
SERIES = _gauge("series", Unit.COUNT, (), "Series of hardware and of the exporter on this page, the process collectors' apart.")
SERIES_DROPPED = Metric("exporter_series_dropped", NAME + "series_dropped_total", Kind.COUNTER, Unit.COUNT, ("reason",),
    "Series left off the present page: limit (the series cap bit), duplicate (two claimed one series; the first is kept) or invalid.",
    Tier.AGGREGATE)  # fmt: skip
STATE_WRITABLE = _gauge("state_writable", Unit.COUNT, (),
    "1 if the state directory can be written; 0 means that what is learned is lost at a restart.")  # fmt: skip
RELOAD_OK = _gauge("config_last_reload_successful", Unit.COUNT, (), "1 if the last reload of the configuration took effect.")
RELOAD_TIME = _gauge("config_last_reload_success_timestamp_seconds", Unit.TIMESTAMP, (),
    "When the configuration in force was loaded, in Unix time.")  # fmt: skip
GPUS_RELEASED = _gauge("gpus_released", Unit.COUNT, (),
    "1 between fabric-exporter release and resume: no handle on a GPU is open, and nothing of the GPUs is shown.")  # fmt: skip
GPU_PROCESS_STUCK = _gauge("gpu_process_stuck", Unit.COUNT, (),
    "1 while the process that asks the driver cannot be ended: the kernel holds it in a call, and no other is started.")  # fmt: skip
RECORDER_ROWS = Metric("exporter_recorder_rows", NAME + "recorder_rows_total", Kind.COUNTER, Unit.COUNT, (),
    "Rows that the flight recorder has written since the start of the exporter.", Tier.BASIC,
    absent="nothing is recorded: recorder.enabled is false, or state.dir cannot be written", captured=False)  # fmt: skip
RECORDER_DROPPED = Metric("exporter_recorder_dropped", NAME + "recorder_dropped_total", Kind.COUNTER, Unit.COUNT, (),
    "Ticks that are not in the recording because the disk was full, slow or broken.", Tier.BASIC,
    absent="nothing is recorded: see fabric_exporter_recorder_rows_total", captured=False)  # fmt: skip
RECORDER_BYTES = _gauge("recorder_bytes", Unit.BYTES, (), "Size of the recording on the disk with its log.",
    absent="nothing is recorded: see fabric_exporter_recorder_rows_total", captured=False)  # fmt: skip

ROWS = (BUILD_INFO, SIMULATED, SOURCE_UP, SOURCE_DEVICES, SOURCE_DEVICES_HUNG, SOURCE_LAST_SUCCESS, SOURCE_DURATION, SAMPLE_AGE,
        DUTY, SOURCE_FAULTS, SERIES, SERIES_DROPPED, STATE_WRITABLE, RELOAD_OK, RELOAD_TIME, GPUS_RELEASED,
        GPU_PROCESS_STUCK, RECORDER_ROWS, RECORDER_DROPPED, RECORDER_BYTES)  # fmt: skip
