"""Prints what nccl-tests prints, release by release, with C's formats: our own values in every layout that a parser must read.

`python -m tests.probes.nccl_tests_printer` writes the files below nccl_tests_outputs/. Formats as in src/common.cu and src/util.cu of the
tags v1.0.0, v2.0.0, v2.11.0, v2.13.0, v2.17.2, v2.17.6, v2.19.2 and v2.19.6.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.probes.nccl_tests.programs import ELEMENT_BYTES, PROGRAMS, Ratios, ratios_of

FOLDER = Path(__file__).parent / "nccl_tests_outputs"
HOST = "gpu-07"
STAMP = "2026-03-04 05:06:07"


@dataclass(frozen=True)
class Measured:
    """One row before printing: the size of the whole message and exact times; wrong elements of both blocks."""

    size_bytes: int
    time_us: float
    in_place_us: float
    wrong: int = 0
    in_place_wrong: int = 0


@dataclass(frozen=True)
class Style:
    """A release and the options it was called with. `checks` is -c, `stamps` -S, `iterations` -I, `cpu` -C, `memory` -M."""

    release: tuple[int, ...]
    checks: bool = True
    stamps: bool = False
    iterations: bool = False
    cpu: bool = False
    memory: bool = False
    processes: int = 1


def fitted(value: float, width: int) -> str:
    """getFloatStr: as many of two decimals as fit, then 1.0e+06."""
    for decimals in (2, 1, 0):
        text = f"{value:{width}.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:{width}.{1 if width >= 7 else 0}e}"


def _time(style: Style, us: float) -> str:
    if style.release < (2,):
        return f"{us / 1000:7.3f}"
    if style.release >= (2, 17, 3):
        return fitted(us, 7)
    return f"{us:7.{0 if us >= 10000 else 1 if us >= 100 else 2}f}"


def _block(style: Style, size: int, us: float, wrong: int, ratio: Ratios) -> str:
    gb = size / us / 1000 if us else float("inf")
    algbw, busbw = gb * ratio.algorithm, gb * ratio.bus
    width = 5 if style.release < (2,) else 6
    shown = [fitted(one, 6) if style.release >= (2, 17, 3) else f"{one:{width}.2f}" for one in (algbw, busbw)]
    text = f"  {_time(style, us * 0.4 if style.cpu else us)}  {shown[0]}  {shown[1]}"
    if style.release < (2,):
        text += f"  {1e-6 if wrong else 0.0:7.0e}" if style.checks else "  \tN/A"
    elif style.release < (2, 13):
        text += f"  {2e-07 if wrong else 0.0:5.0e}" if style.checks else "    N/A"
    elif style.release < (2, 17, 3):
        text += f"  {float(wrong):5g}" if style.checks else "    N/A"
    else:
        text += f"  {float(wrong):6g}" if style.checks else "    N/A"
    if style.iterations:
        text += "".join(f"  {fitted(one, 7)}" for one in (us * 0.97, us * 1.4, us * 1.4, 6.25))
    return text


def lead_words(style: Style, program: str) -> tuple[str, ...]:
    """Header words before the first time."""
    if style.release < (2, 13):
        extra = {"all_gather_perf": (), "sendrecv_perf": (), "broadcast_perf": ("root",), "reduce_perf": ("redop", "root")}
        words = extra.get(program, ("redop",))
    else:
        words = ("redop", "root")
    if style.release < (2,):
        return ("bytes", "N", "type", *("op" if word == "redop" else word for word in words))
    return ("size", "count", "type", *words)


def _lead(style: Style, program: str, size: int, ranks: int, element: str) -> str:
    count = size // ELEMENT_BYTES[element] // (ranks if PROGRAMS[program].is_blockwise else 1)
    text = f"{size:12d}  {count:12d}  {element:>{6 if style.release < (2, 11) else 8}}"
    reduces = "sum" in PROGRAMS[program].operations  # sendrecv names the operation too, and does nothing with it
    for word in lead_words(style, program)[3:]:
        if word == "root":
            text += f"  {0 if program in {'broadcast_perf', 'reduce_perf'} else -1:6d}"
        else:
            text += f"  {'sum' if reduces else 'none' if style.release >= (2, 13) else '':>6}"
    return text


def _header(style: Style, program: str) -> list[str]:
    words = lead_words(style, program)
    first = "".join(f"  {word:>{width}}" for word, width in zip(words, (10, 12, 6 if style.release < (2, 11) else 8, 6, 6), strict=False))
    time = "cputime" if style.cpu else "time"
    if style.release < (2,):
        block = f"  {time:>7}  {'algbw':>5}  {'busbw':>5}  {'res':>7}"
    elif style.release < (2, 13):
        block = f"  {time:>7}  {'algbw':>6}  {'busbw':>6}  {'error':>5}"
    else:
        gap = " " if style.release < (2, 17, 3) else "  "
        block = f"  {time:>7}  {'algbw':>6}  {'busbw':>6}{gap}{'#wrong':>6}"
    if style.iterations:
        block += "".join(f"  {word:>7}" for word in ("i_min", "i_max", "i_p99", "i_cv%"))
    blocks = block if style.release < (2,) and program == "broadcast_perf" else block * 2
    stamp = f" {'timestamp':>20}" if style.stamps else ""
    lines = [f"#{' ' * len(first)}   out-of-place                       in-place          ", f"#{first[1:]}{blocks}{stamp}"]
    if style.release >= (2,):
        lines.append(f"#{'(B)':>{11}}{'(elements)':>14}{'(us)':>{len(first) - 16}}  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
    return lines


def _devices(style: Style, ranks: int) -> list[str]:
    lines = ["# Using devices"]
    for rank in range(ranks):
        group = "" if style.release < (2, 14) else f"Group {0:2d} "
        gap = "  " if style.release < (2, 14) else " "
        pid = "" if style.release < (2,) else f"Pid {4100 + rank // max(1, ranks // style.processes):6d} "
        bus = f"[0x{0x1B + rank:02x}]" if style.release < (2, 16) else f"[{0:04x}:{0x1B + rank:02x}:00]"
        lines.append(f"# {gap}Rank {rank:2d} {group}{pid}on {HOST:>10} device {rank:2d} {bus} NVIDIA H100 80GB HBM3")
    return lines


def _banner(style: Style, program: str, ranks: int, rows: Sequence[Measured]) -> list[str]:
    low, high = rows[0].size_bytes, rows[-1].size_bytes
    step = (high - low) // (len(rows) - 1) if len(rows) > 1 else 1
    call = f"nThread 1 nGpus {ranks // style.processes} minBytes {low} maxBytes {high} step: {step}(bytes) warmup iters: 5 iters: 20 "
    call += "" if style.release < (2, 13) else "agg iters: 1 "
    call += f"validation: {int(style.checks)} "
    call += "" if style.release < (2, 13) else "graph: 0"
    call += " unalign: 0" if style.release >= (2, 18, 2) else ""
    if style.release < (2,):
        return [call, "# NCCL Tests compiled with NCCL 1.3"]
    lines = ["# nccl-tests version " + ".".join(map(str, style.release)) + " nccl-headers=22703 nccl-library=22703"]
    lines = lines if style.release >= (2, 17, 4) else []
    lines += [f"# Collective test starting: {program}"] if style.release >= (2, 16, 7) else []
    return [*lines, f"# {call}", "#"]


def text(style: Style, program: str, ranks: int, rows: Sequence[Measured], element: str = "float") -> str:
    """The whole output, as the program prints it on a pipe. Sizes should be equally spaced: the banner repeats the call."""
    old = style.release < (2, 1) and program in {"all_gather_perf", "reduce_scatter_perf"}
    ratio = ratios_of(PROGRAMS[program], ranks)[1 if old else 0]
    has_one = style.release < (2,) and program == "broadcast_perf"
    lines = [*_banner(style, program, ranks, rows), *_devices(style, ranks), "" if style.release < (2,) else "#"]
    lines += ["NCCL version 2.27.3+cuda12.9"] if style.release >= (2,) else []
    lines += _header(style, program)
    for row in rows:
        line = _lead(style, program, row.size_bytes, ranks, element) + _block(style, row.size_bytes, row.time_us, row.wrong, ratio)
        if not has_one:
            line += _block(style, row.size_bytes, row.in_place_us, row.in_place_wrong, ratio)
        lines.append(line + (f"{STAMP:>21}" if style.stamps else ""))
    checks = sum((row.wrong > 0) + (row.in_place_wrong > 0) for row in rows)
    mark = "" if style.release < (2,) else "#"
    lines.append(f"{mark} Out of bounds values : {checks} {'FAILED' if checks else 'OK'}")
    lines.append(f"{mark} Avg bus bandwidth    : {173.25:g} ")
    lines += (
        ["# GPU memory usage     : Initialization 1.25 GB | User-Allocated 768 MB | Collective 0.00 B | Total  2.00 GB"]
        if style.memory
        else []
    )
    lines += [mark]
    lines += [f"# Collective test concluded: {program}", "#", ""] if style.release >= (2, 16, 7) else []
    return "\n".join(lines) + "\n"


def document(version: int, program: str, ranks: int, rows: Sequence[Measured], *, processes: int = 1, iterations: bool = False) -> str:
    """The JSON file of -J, as a compact text: `version` 1 with the misspelled keys of 2.17.3."""
    per_process = ranks // processes
    ratio = ratios_of(PROGRAMS[program], ranks)[0]

    def body(row: Measured, us: float, wrong: int) -> dict[str, object]:
        gb = row.size_bytes / us / 1000
        return {"time": round(us, 6), "alg_bw": round(gb * ratio.algorithm, 6), "bus_bw": round(gb * ratio.bus, 6), "nwrong": float(wrong)}

    def per_iteration(us: float) -> dict[str, object]:
        times = [round(us * (1 + 0.01 * (index % 5)), 6) for index in range(20)]
        mean = sum(times) / 20
        spread = (sum((time - mean) ** 2 for time in times) / 20) ** 0.5
        shown = {"min_us": min(times), "max_us": max(times), "avg_us": mean, "p50_us": sorted(times)[10], "p95_us": sorted(times)[18]}
        shown |= {"p99_us": max(times), "stdev_us": spread, "cv_pct": 100 * spread / mean}
        return {"skipped_iterations": 0} | {key: round(value, 6) for key, value in shown.items()} | {"times_us": times}

    results = []
    for row in rows:
        count = row.size_bytes // 4 // (ranks if PROGRAMS[program].is_blockwise else 1)
        result: dict[str, object] = {"size": row.size_bytes, "count": count, "type": "float", "redop": "sum", "root": "    -1"}
        result["out_of_place"] = body(row, row.time_us, row.wrong)
        if iterations:
            result["out_of_place_per_iter"] = per_iteration(row.time_us)
        result["in_place"] = body(row, row.in_place_us, row.in_place_wrong)
        if iterations:
            result["in_place_per_iter"] = per_iteration(row.in_place_us)
        results.append(result | {"actual_iterations": 20, "experiment_name": ""})
    low, high = rows[0].size_bytes, rows[-1].size_bytes
    devices = [{"rank": process * per_process, "group": 0, "pid": 4100, "hostname": HOST, "device": 0, "device_hex": "0000:1b:00",
                "device_info": "NVIDIA H100 80GB HBM3"} for process in range(processes)]  # fmt: skip
    checks = sum((row.wrong > 0) + (row.in_place_wrong > 0) for row in rows)
    average, bandwidth = ("average_bus_bandwidith", "bandwidith") if version == 1 else ("average_bus_bandwidth", "bandwidth")
    whole = {
        "version": version, "start_time": STAMP, "args": [f"/opt/nccl-tests/build/{program}", "-g", str(per_process)],
        "env": ["PATH=/usr/bin", "SECRET_TOKEN=hunter2", 'QUOTED=":inf,"'], "nccl_version": 22703,
        "config": {"nthreads": 1, "ngpus": per_process, "minimum_bytes": low, "maximum_bytes": high,
                   "step_bytes": (high - low) // max(1, len(rows) - 1) or 1, "warmup_iters": 5, "iterations": 20,
                   "aggregated_iterations": 1, "validation": 1, "graph": 0, "blocking_collectives": "false", "parallel_init": "false",
                   "devices": devices},
        "results": results, "out_of_bounds": {"count": checks, "okay": "true" if checks == 0 else "false"},
        average: {bandwidth: 173.25, "okay": "unchecked"}, "errors": [], "end_time": STAMP,
    }  # fmt: skip
    return json.dumps(whole, separators=(",", ":"))


LADDER = tuple(Measured(size, us, us * 1.01) for size, us in ((1 << 20, 61.37), (2 << 20, 74.02), (3 << 20, 91.55), (4 << 20, 118.4)))
"""Four sizes in equal steps on eight GPUs of one node."""
SMALL = tuple(Measured(size, us, us * 0.98) for size, us in ((256, 21.43), (512, 21.87), (768, 22.06), (1024, 22.31)))
WIDE = (Measured(256 << 20, 1043.77, 0.31), Measured(512 << 20, 123456.7, 1043.8), Measured(768 << 20, 12345678.0, 10021.4))
"""Numbers that outgrow their columns: long times, and an in-place copy of one rank that does nothing."""
WRONG = (LADDER[0], Measured(2 << 20, 74.02, 75.1, wrong=17, in_place_wrong=1_048_577), *LADDER[2:])

PLAIN: dict[str, Callable[[], str]] = {
    "v1.0-all-reduce.txt": lambda: text(Style((1, 0)), "all_reduce_perf", 8, LADDER),
    "v1.0-broadcast-one-block.txt": lambda: text(Style((1, 0)), "broadcast_perf", 8, LADDER),
    "v1.0-all-gather-no-op-unchecked.txt": lambda: text(Style((1, 0), checks=False), "all_gather_perf", 8, LADDER),
    "v2.0-all-reduce-error.txt": lambda: text(Style((2, 0)), "all_reduce_perf", 8, LADDER),
    "v2.0-all-gather-share-of-the-wire.txt": lambda: text(Style((2, 0)), "all_gather_perf", 8, LADDER),
    "v2.11-alltoall-blank-redop.txt": lambda: text(Style((2, 11)), "alltoall_perf", 8, LADDER),
    "v2.11-broadcast-root.txt": lambda: text(Style((2, 11), checks=False), "broadcast_perf", 8, SMALL),
    "v2.13-reduce-scatter.txt": lambda: text(Style((2, 13)), "reduce_scatter_perf", 8, LADDER),
    "v2.13-sendrecv-unchecked.txt": lambda: text(Style((2, 13), checks=False), "sendrecv_perf", 8, SMALL),
    "v2.17.2-all-reduce-wrong.txt": lambda: text(Style((2, 17, 2)), "all_reduce_perf", 8, WRONG),
    "v2.17.2-all-reduce-eight-processes.txt": lambda: text(Style((2, 17, 2), processes=8), "all_reduce_perf", 8, SMALL),
    "v2.17.6-stamps-memory.txt": lambda: text(Style((2, 17, 6), stamps=True, memory=True), "all_gather_perf", 8, LADDER),
    "v2.18.5-wide-numbers.txt": lambda: text(Style((2, 18, 5), checks=False), "all_reduce_perf", 2, WIDE),
    "v2.18.5-cputime.txt": lambda: text(Style((2, 18, 5), cpu=True), "all_reduce_perf", 8, LADDER),
    "v2.19.2-iterations.txt": lambda: text(Style((2, 19, 2), iterations=True), "alltoall_perf", 8, LADDER),
    "v2.19.6-iterations-stamps.txt": lambda: text(Style((2, 19, 6), iterations=True, stamps=True), "all_reduce_perf", 8, SMALL),
    "v2.17.3-version-1.json": lambda: document(1, "all_reduce_perf", 8, LADDER),
    "v2.19.2-version-2-iterations.json": lambda: document(2, "all_gather_perf", 8, LADDER, iterations=True),
    "v2.19.6-version-3-two-processes.json": lambda: document(3, "all_reduce_perf", 16, WRONG, processes=2, iterations=True),
}
"""Files and how each is printed."""


def main() -> None:
    """Write every file anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, printed in PLAIN.items():
        (FOLDER / name).write_text(printed())


if __name__ == "__main__":
    main()
