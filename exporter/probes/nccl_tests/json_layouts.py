"""Reads the JSON that nccl-tests writes with -J (2.17.3 and later, versions 1 to 3), with all that is odd about it.

Booleans are the texts "true" and "false", NaN is "nan", infinity would be a bare `inf`, which is no JSON; roots are padded texts; up to
2.17.8 the footer's keys are misspelled; `devices` holds the first GPU of each process only; an early error left files cut short up to
2.18.4. The file also holds the program's whole environment: nothing of that leaves this module, and the file must not be kept.
"""

import json
import re
import statistics
from collections.abc import Mapping
from typing import Any, TypeGuard

from exporter.probes.nccl_tests.check import US_PER_S, Block, timing
from exporter.probes.nccl_tests.preamble import RANKS_MAX, Call, Preamble, version_text
from exporter.probes.nccl_tests.printed_numbers import Printed
from exporter.probes.nccl_tests.problems import ProblemList, verdict_on_whole
from exporter.probes.nccl_tests.programs import ELEMENT_BYTES, PROGRAMS, Program, ratios_of
from exporter.probes.nccl_tests.result import Iterations, NcclTestsResult, Row, Timing, Trouble

DOCUMENT_MAX_BYTES = 16 * 1024 * 1024
"""50 iterations of 20 sizes on 100 processes are 2 MB."""
ROWS_MAX, TIMES_MAX = 20_000, 10_000
VERSIONS = (1, 2, 3)
"""Known versions of the file. Another is told to a person; its rows are checked like all others."""
_PLACE = 5e-7
"""Half of the last place: the file has six decimals."""
_BARE = re.compile(r'"(?:\\.|[^"\\])*+(?:"|\Z)|-?\b(?:inf|nan)\b', re.DOTALL)


def read_json(document: bytes, program: str, ranks: int | None = None) -> NcclTestsResult:
    """The result that the file's content is. `program` is what was called, by its name in PROGRAMS; `ranks` how many were asked for, None
    to take what the file says. What cannot be read is a problem of the result, whose `line` is the number of the result, from 1."""
    problems, preamble, called = ProblemList(), Preamble(), PROGRAMS[program]
    found = _parse(document, problems)
    _read_head(found, preamble, problems)
    results = found.get("results")
    entries = results if isinstance(results, list) else []
    table = preamble.ranks_of_table()
    rows = () if table is None else _rows(entries, called, table, problems)
    headers = 1 if isinstance(results, list) else 0
    if verdict_on_whole(problems, preamble, called.name, ranks, headers, len(entries), rows):
        rows = ()
    failed = preamble.wrong_checks if preamble.wrong_verdict == "FAILED" or not preamble.wrong_checks else None
    version = found.get("version")
    said = (f"version {str(version)[:20]} of the JSON is not known: 1 to 3 are",) if found and version not in VERSIONS else ()
    return NcclTestsResult(called.name, called.collective, table, rows, tuple(problems.kept), problems.more, failed,
                           nccl_version=preamble.nccl_version, said=said)  # fmt: skip


def _parse(document: bytes, problems: ProblemList) -> Mapping[str, Any]:
    """The document, {} with a problem if it is none: too long, cut, not UTF-8, nested without end."""
    if len(document) > DOCUMENT_MAX_BYTES:
        problems.add(Trouble.BOUNDS, 0, f"the JSON has more than {DOCUMENT_MAX_BYTES} bytes")
        return {}
    try:
        text = document.decode("utf-8", "replace")
        found = json.loads(_BARE.sub(lambda match: match[0] if match[0][0] == '"' else f'"{match[0]}"', text), strict=False)
    except (ValueError, RecursionError) as error:
        problems.add(Trouble.TRUNCATED, 0, f"the JSON cannot be read, as when the program was ended: {str(error)[:80]}")
        return {}
    if not isinstance(found, dict):
        problems.add(Trouble.UNREADABLE, 0, "the JSON is no object")
        return {}
    return found


def _read_head(found: Mapping[str, Any], preamble: Preamble, problems: ProblemList) -> None:
    """What text outputs have around their table."""
    arguments, nccl = found.get("args"), found.get("nccl_version")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], str):
        preamble.program = arguments[0].rsplit("/", 1)[-1][:255]
    if _is_whole(nccl):
        preamble.nccl_version = version_text(int(nccl))
    _read_config(found.get("config"), preamble)
    footer = found.get("out_of_bounds")
    if isinstance(footer, dict) and _is_whole(footer.get("count")):
        preamble.wrong_checks = int(footer["count"])
        preamble.wrong_verdict = "OK" if footer.get("okay") == "true" else "FAILED"
    errors = found.get("errors")
    for error in errors[:4] if isinstance(errors, list) else ():
        if isinstance(error, str) and error:
            problems.add(Trouble.PROGRAM, 0, error[:300])


def _read_config(config: Any, preamble: Preamble) -> None:
    """The call, and the ranks: from the first GPU of each process (devices) and how many it has; or from all, should a release list all."""
    if not isinstance(config, dict):
        return
    numbers = {key: config.get(key) for key in ("nthreads", "ngpus", "minimum_bytes", "maximum_bytes")}
    if not all(map(_is_whole, numbers.values())):
        return
    threads, gpus, low, high = (int(value or 0) for value in numbers.values())
    is_factor = "step_factor" in config
    step = config.get("step_factor" if is_factor else "step_bytes")
    preamble.call = Call(threads * gpus, low, high, int(step) if _is_whole(step) else 0, is_factor)
    preamble.calls = 1
    devices = config.get("devices")
    entries = [device for device in devices if isinstance(device, dict)] if isinstance(devices, list) else []
    ranks = [device.get("rank") for device in entries]
    groups = {device.get("group") for device in entries}
    per_process = threads * gpus
    has_first_of_each = ranks == [per_process * index for index in range(len(ranks))]
    count = len(ranks) * per_process if has_first_of_each else len(ranks)
    if per_process and 0 < count <= RANKS_MAX and (has_first_of_each or ranks == list(range(count))) and len(groups) == 1:
        preamble.groups = dict.fromkeys(range(count), 0)


def _rows(entries: list[Any], program: Program, ranks: int, problems: ProblemList) -> tuple[Row, ...]:
    rows: list[Row] = []
    for number, entry in enumerate(entries[:ROWS_MAX], 1):
        row = _row(entry, number, program, ranks, problems) if isinstance(entry, dict) else None
        if row is None:
            problems.add(Trouble.UNREADABLE, number, "a result that cannot be used")
        else:
            rows.append(row)
    if len(entries) > ROWS_MAX:
        problems.add(Trouble.BOUNDS, ROWS_MAX, f"more than {ROWS_MAX} results: the rest was not used")
    return tuple(rows)


def _row(entry: Mapping[str, Any], number: int, program: Program, ranks: int, problems: ProblemList) -> Row | None:
    """One result, None if its size makes no sense or its numbers contradict each other (which is told)."""
    size, count, element = entry.get("size"), entry.get("count"), entry.get("type")
    if not _is_whole(size) or not _is_whole(count) or element not in ELEMENT_BYTES:
        return None
    if size != count * ELEMENT_BYTES[element] * (ranks if program.is_blockwise else 1):
        problems.add(Trouble.DISAGREES, number, f"size {size} is not what {count} elements of {element} on {ranks} ranks make")
        return None
    timings: list[Timing | None] = []
    for key in ("out_of_place", "in_place"):
        body = entry.get(key)
        if not isinstance(body, dict):
            timings.append(None)
            continue
        block = _block(body)
        if block is None:
            problems.add(Trouble.UNMEASURED, number, f"{key} of size {size} was not measured: inf, nan or nothing")
            timings.append(None)
            continue
        value = timing(block, size, ratios_of(program, ranks), ranks)
        if value is None:
            shown = f"{size} bytes on {ranks} ranks"
            problems.add(Trouble.DISAGREES, number, f"{key}: time and bandwidths do not belong together for {shown}")
            return None
        iterations = _iterations(entry.get(f"{key}_per_iter"))
        timings.append(Timing(value.time_s, value.algbw, value.busbw, value.wrong, value.uncertainty, iterations))
    return Row(size, element, timings[0], timings[1])


def _block(body: Mapping[str, Any]) -> Block | None:
    """Time and bandwidths, None if one of them is no number that is 0 or more."""
    time, algbw, busbw = (_printed(body.get(key)) for key in ("time", "alg_bw", "bus_bw"))
    wrong = body.get("nwrong")
    if algbw is None or busbw is None or (time is None and "cpu_time" not in body):
        return None
    checked = _printed(wrong)
    return Block(time, algbw, busbw, None if checked is None else round(checked.value))


def _iterations(found: Any) -> Iterations | None:
    """Times of single iterations, None if there are none or their summary does not follow from them."""
    if not isinstance(found, dict):
        return None
    numbers = [_printed(found.get(key)) for key in ("min_us", "max_us", "p99_us", "avg_us", "stdev_us", "cv_pct")]
    listed, skipped = found.get("times_us"), found.get("skipped_iterations", 0)
    times = [_printed(value) for value in listed[:TIMES_MAX]] if isinstance(listed, list) else []
    if not _is_whole(skipped) or skipped >= len(times) or None in numbers or None in times:
        return None
    counted = sorted(time.value for time in times[skipped:] if time is not None)
    told = [number.value for number in numbers if number is not None]
    mean = statistics.fmean(counted)
    spread = statistics.pstdev(counted)
    p99 = counted[min(len(counted) - 1, -(-99 * len(counted) // 100) - 1)]
    cv = 100 * spread / mean if mean > 0 else 0.0
    follows = zip(told, (counted[0], counted[-1], p99, mean, spread, cv), strict=True)
    if any(abs(one - other) > 1e-5 + 1e-6 * other for one, other in follows):
        return None
    ordered = tuple(time.value / US_PER_S for time in times[skipped:] if time is not None)
    return Iterations(counted[0] / US_PER_S, counted[-1] / US_PER_S, p99 / US_PER_S, cv / 100, ordered)


def _printed(value: Any) -> Printed | None:
    """A number of the file, None for texts ("nan", "inf"), null, negative and unbounded ones."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Printed(float(value), _PLACE, 6) if is_number and 0 <= value < 1e15 else None


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18
