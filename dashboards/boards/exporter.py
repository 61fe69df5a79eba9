"""The exporters themselves: who answers, which source fails, how old and how costly samples are, what is recorded."""

from dashboards.board import FLEET, Board, Section
from dashboards.panels import bars, heatmap, stat, status_history, timeseries
from dashboards.promql import age, growth, lowest_ever, rate, value
from dashboards.sick import NO_FAULT, SHOWN_MOST
from dashboards.tables import Column, Label, table
from dashboards.variables import NODES, POOL
from dashboards.ways import EXPORTER as UID
from dashboards.ways import TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, FREE_STUCK, ORANGE, RED, RELEASED, SILENT_ANSWERS, YELLOW
from exporter.catalog import internals, xid

SOURCE = ("node", "source")
NOT_RECORDED = "nothing is recorded"
MOST = 20
_FAILED = lowest_ever(internals.SOURCE_UP).min_by(*SOURCE).only("== 0", NO_FAULT).bottom(SHOWN_MOST)

NOW = Section(
    "Exporters now",
    (
        stat("Exporters", "Exporters that Prometheus reaches now.", value(internals.BUILD_INFO).count_by("node").count_by(), color=BLUE),
        stat("Sources that fail", "Sources that hang or cannot be read. No hardware is no failure.",
             value(internals.SOURCE_UP).whether("== 0").sum_by(), steps=((1, RED),)),
        stat("Devices that hang", "Devices whose read has not come back and is not waited for.",
             value(internals.SOURCE_DEVICES_HUNG).sum_by(),
             steps=((1, RED),)),
        stat("State cannot be written", "Exporters that lose what they learned at a restart.",
             value(internals.STATE_WRITABLE).whether("== 0").sum_by(), steps=((1, ORANGE),)),
        stat("Series left off", "Within the time range: the series cap bit, or two claimed one series.",
             growth(internals.SERIES_DROPPED).sum_by(), steps=((1, ORANGE),)),
        stat("Simulated nodes", "Nodes whose every number is invented.", value(internals.SIMULATED).sum_by(), steps=((1, YELLOW),)),
        status_history("Sources that failed", "Sources that failed at any moment of the time range.",
                       value(internals.SOURCE_UP).min_by(*SOURCE).where_also(_FAILED, *SOURCE), words=SILENT_ANSWERS, w=12,
                       way=TO_NODE_OF_SERIES),
        table("What cannot be read", "Things that sources could not read within the time range, by reason.",
              Column("times", growth(internals.SOURCE_FAULTS).sum_by(*SOURCE, "reason").only("> 0", "all can be read").top(50)),
              labels={"node": Label(width=170), "source": Label(width=110), "reason": Label()}, sort="times", way=TO_NODE, w=12),
    ),
)  # fmt: skip

FRESH = Section(
    "How fresh, how costly",
    (
        timeseries("Age of the oldest sample shown", "By source, the worst node.", value(internals.SAMPLE_AGE).max_by("source")),
        timeseries("Time since the last success", "By source, the worst node.", age(internals.SOURCE_LAST_SUCCESS).max_by("source")),
        timeseries("Time of a pass", "Wall time of the slowest device's newest pass, by source, the worst node.",
                   value(internals.SOURCE_DURATION).max_by("source")),
        timeseries("Share of time spent on reads", "By source, the worst node. Above 2 % the exporter reads less often by itself.",
                   value(internals.DUTY).max_by("source"), steps=((0.02, ORANGE),)),
        heatmap("Nodes by series", "How many nodes show that many series.", value(internals.SERIES).max_by("node")),
        timeseries("Series in all", "Series of hardware and of the exporters.", value(internals.SERIES).sum_by().called("series")),
        bars("Devices by source", "Devices found and not left alone, of all nodes.", value(internals.SOURCE_DEVICES).sum_by("source")),
        timeseries("Faults by source", "Things that could not be read, per second.", rate(internals.SOURCE_FAULTS).sum_by("source")),
    ),
)  # fmt: skip

KEPT = Section(
    "State, configuration, recording",
    (
        table("Exporters whose state cannot be written", "They run and lose at a restart what they learned.",
              Column("seen", value(internals.STATE_WRITABLE).min_by("node").only("== 0", NO_FAULT), hidden=True),
              labels={"node": Label()},
              sort="node", ascending=True, way=TO_NODE, w=8, h=6),
        table("Reloads that failed", "The configuration in force is older than the file.",
              Column("seen", value(internals.RELOAD_OK).min_by("node").only("== 0", NO_FAULT), hidden=True),
              labels={"node": Label()}, sort="node",
              ascending=True, way=TO_NODE, w=8, h=6),
        status_history("GPUs let go", "Nodes between release and resume: nothing of their GPUs is shown.",
                       value(internals.GPUS_RELEASED).max_by("node").only("> 0", NO_FAULT).top(SHOWN_MOST), words=RELEASED, w=8,
                       h=6, way=TO_NODE_OF_SERIES),
        timeseries("Rows recorded", "Rows per second that the flight recorders write.",
                   rate(internals.RECORDER_ROWS).sum_by().called("rows").sometimes(NOT_RECORDED), w=8, h=7),
        timeseries("Ticks lost to the recording", "Per second, because a disk was full, slow or broken; the worst nodes.",
                   rate(internals.RECORDER_DROPPED).sum_by("node").only("> 0", NO_FAULT).top(MOST), w=8, h=7),
        timeseries("Size of recordings", "Largest on any node.", value(internals.RECORDER_BYTES).max_by().called("largest")
                   .sometimes(NOT_RECORDED), w=8, h=7),
        status_history("NVML child stuck", "Nodes whose process for the driver cannot be ended.",
                       value(internals.GPU_PROCESS_STUCK).max_by("node").only("> 0", NO_FAULT).top(SHOWN_MOST), words=FREE_STUCK,
                       way=TO_NODE_OF_SERIES, w=8, h=6),
        timeseries("Kernel log records lost", "Overwritten before they could be read, per second: Xids among them are not counted.",
                   rate(xid.LOG_LOST).sum_by().called("records").sometimes("the kernel log cannot be read"), w=8, h=6),
        table("Versions", "Nodes by version of the exporter and of Python.",
              Column("nodes", value(internals.BUILD_INFO).count_by("version", "revision", "pythonversion")),
              labels={"version": Label(), "revision": Label(), "pythonversion": Label()}, sort="nodes", h=6, w=8),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Exporter health",
    "The exporters: who answers, what cannot be read, how fresh and how costly the numbers are.",
    FLEET,
    (POOL, NODES),
    (NOW, FRESH, KEPT),
)
