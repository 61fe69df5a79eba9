"""`python -m tests.device.gpu_check [--library F] [--save MACHINE.json] [--minutes 4]`: does this machine's driver agree with us?

Exit status 1 if anything DIFFERS. Stops by itself at the time limit with what it has, even if a call of the driver never comes back.
"""

import argparse
import os
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from exporter.sources.nvml import Pynvml
from exporter.sources.nvml_session import NvmlError, words_of_code
from tests.device.beside_tool import beside_tool
from tests.device.findings import Report, StoppedError, Verdict
from tests.device.machine_file import TYPES, neutral, save
from tests.device.our_source import FIELDS, odd_questions, our_source
from tests.device.raw_driver import RawDriver, asked
from tests.device.survey import Machine, active_of, ports_of, survey

MINUTES = 4.0
GRACE_S = 2.0
"""After the limit the question that is under way may end; then the process ends all the same."""


def main(argv: Sequence[str]) -> int:
    """Check, print, save."""
    parser = argparse.ArgumentParser(prog="python -m tests.device.gpu_check", description=__doc__)
    parser.add_argument("--library", metavar="FILE", help="the driver's libnvidia-ml.so.1; default: where the loader finds it")
    parser.add_argument("--save", metavar="MACHINE.json", type=Path, help="write what was read there, without names of anybody's")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"stop after so many; default: {MINUTES:g}")
    args = parser.parse_args(argv)
    report, machine = Report(), Machine()
    thread = threading.Thread(target=examine, args=(args.library, machine, report), name="examine", daemon=True)
    thread.start()
    thread.join(args.minutes * 60)
    if thread.is_alive():
        report.stop()
        report.add(Verdict.CANNOT, "the rest", f"stopped after {args.minutes:g} minutes, at: {report.now}")
        thread.join(GRACE_S)
    lines = [str(finding) for finding in (*report.findings, *told(neutral(machine)))]
    print("\n".join([*lines, report.summary()]))
    if args.save is not None:
        save(machine, args.save)
    sys.stdout.flush()
    if thread.is_alive():
        os._exit(int(report.differs))  # a thread within a call of the driver would keep the interpreter
    return int(report.differs)


def examine(library: str | None, machine: Machine, report: Report) -> None:
    """All of it, in the order of its worth. Never raises."""
    ours = Pynvml(library)
    try:
        report.at("nvmlInit")
        ours.open()
        raw = RawDriver()
        report.add(Verdict.TOLD, "driver", f"{asked(ours.driver_version).get('value')}, {len(raw.handles)} GPUs")
        survey(raw, ours, machine, report)
        _calls_agree(machine, report)
        readings = our_source(ours, raw, machine, report)
        odd_questions(raw, machine, report)
        beside_tool(raw, machine, readings, report)
        report.at("nvmlShutdown")
        ours.close()
    except StoppedError:
        pass
    except NvmlError as error:
        report.add(Verdict.CANNOT, report.now, f"{error.call}: {words_of_code(error.code)} ({error.code})")
    except Exception as error:  # noqa: BLE001  # a thread that ends without a word would look like a success
        traceback.print_exc()
        report.add(Verdict.DIFFERS, report.now, f"the check itself failed: {type(error).__name__}: {error}")


def _calls_agree(machine: Machine, report: Report) -> None:
    """State and version by call, beside the fields that tell them as well. A link asleep or with its traffic disabled is enabled."""
    differences, compared = [], 0
    for index, gpu in enumerate(machine["gpus"]):
        for link in ports_of(gpu):
            for word, field in (("state", "165"), ("version", "166")):
                call = gpu["links"][str(link)][word].get("value")
                told_by_field = gpu["scopes"].get(str(link), {}).get(field, {}).get("value")
                if call is None or told_by_field is None:
                    continue
                compared += 1
                same = bool(told_by_field) == bool(call) if word == "state" else told_by_field == call
                if not same:
                    differences.append(f"GPU {index} link {link}: {word} {call} by call, {told_by_field} by field {field}")
    report.compare("state and version by call and by field", differences, f"{compared} answers")


def told(machine: Machine) -> Iterator[str]:
    """What the survey of a machine brought, a line a question: how often which type or code, from least to most, how long a call took."""
    gpus = [gpu for gpu in machine.get("gpus", []) if "firmware" in gpu]
    if not gpus:
        return
    yield ""
    for index, gpu in enumerate(gpus):
        who = {word: answer.get("value", f"code {answer.get('ret')}") for word, answer in gpu["identity"].items()}
        fabric = {version: answer.get("value", {}).get("state", f"code {answer.get('ret')}") for version, answer in gpu["fabric"].items()}
        yield f"GPU {index}: {who}; {len(active_of(gpu))} of {len(ports_of(gpu))} links active; fabric state by version {fabric}"
        yield f"GPU {index}: platform {_shown(gpu['platform'])}, firmware {_shown(gpu['firmware'])}, mode {_shown(gpu['bw_mode'])}"
    every = [(f"field {number}", answer) for gpu in gpus for answers in (gpu["fields"], *gpu["scopes"].values())
             for number, answer in answers.items()]  # fmt: skip
    every += [(f"call {word}", gpu["links"][str(link)][word]) for gpu in gpus for link in ports_of(gpu) for word in gpu["links"]["0"]]
    every += [(f"register {number}", answer) for gpu in gpus for port in gpu["ports"].values() for number, answer in port.items()]
    grouped: dict[str, list[dict[str, Any]]] = {}
    for question, answer in every:
        grouped.setdefault(question, []).append(answer)
    for question, answers in grouped.items():
        yield _line(question, answers)


def _line(question: str, answers: Sequence[dict[str, Any]]) -> str:
    kinds = Counter(f"code {one['ret']}" if "ret" in one else TYPES[one["type"]] if "type" in one else "value" for one in answers)
    values = [one["value"] for one in answers if isinstance(one.get("value"), int | float)]
    number = int(question.split()[1]) if question.startswith("field") else 0
    series = f" ({FIELDS[number][0].key})" if number in FIELDS else ""
    span = f", {min(values)} to {max(values)}" if values else ""
    counted = ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
    return f"  {question}{series}: {counted}{span}, {median(one['took_us'] for one in answers):.3g} µs a call"


def _shown(answer: dict[str, Any]) -> object:
    return answer["value"] if "value" in answer else f"code {answer.get('ret')}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
