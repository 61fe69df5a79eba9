"""`python -m tests.recorder.kills FOLDER [--times N] [--seed N]`: a process that records as fast as it can is killed (SIGKILL) at random
points, again and again, over one file. After each kill the file must open, be whole, and hold every row that was written before the last.

Processes are forked from this small one, so that a kill costs milliseconds. The bound is small, so that rows also leave while they die.
"""

import argparse
import os
import random
import signal
import sqlite3
import sys
import time
from itertools import pairwise
from pathlib import Path

from exporter.recorder.recording import open_recording
from exporter.recorder.schema import FILE
from exporter.recorder.store import SLACK_BYTES, Bounds
from exporter.recorder.writer import Options, Writer
from tests.recorder.ticks import LIFE, WALL_S, event, tick

OPTIONS = Options(10.0, Bounds(16_000_000, 1e9))
PORTS = 1500
LONGEST_S = 0.1
"""From the beginning of a process to its end: most die while they write, some while they open the file."""
LIFE_S = 100_000.0
"""Virtual seconds between the beginnings of two processes."""


def main() -> int:
    """Kill so many, and say how it went; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    path, chance = os.path.join(args.folder, FILE), random.Random(args.seed)  # noqa: S311  # chance, no secret
    rows, wrong = 0, []
    fill(path)
    for number in range(args.times):
        acknowledged = killed(path, number, chance.uniform(0.0, LONGEST_S))
        rows += acknowledged
        wrong += [f"kill {number}: {problem}" for problem in problems_of(path, number, acknowledged)]
    print(f"{args.times} kills, {rows} rows written before them, {len(wrong)} problems")
    for problem in wrong[:20]:
        print(problem)
    return int(bool(wrong))


def fill(path: str) -> None:
    """Record until the oldest rows leave."""
    writer = Writer(path, OPTIONS)
    writer.begin(LIFE._replace(boot_id="one-boot"))
    now_s, chance = -1e6, random.Random(0)  # noqa: S311  # as above
    while not os.path.exists(path) or os.stat(path).st_size < OPTIONS.bounds.file_bytes - 2 * SLACK_BYTES:
        writer.take(tick(now_s, sent=chance.getrandbits(60), ports=PORTS))
        now_s += 5.0
    writer.close()


def killed(path: str, number: int, after_s: float) -> int:
    """Let a process record for so long, and kill it. How many rows it said were written."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            record(path, number, writing)
        finally:
            os._exit(3)  # it never ends by itself
    os.close(writing)
    time.sleep(after_s)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    with os.fdopen(reading, "rb") as told:
        acknowledged = len(told.read())
    if os.WTERMSIG(status) != signal.SIGKILL:
        raise RuntimeError("the process ended before it was killed")
    return acknowledged


def record(path: str, number: int, writing: int) -> None:
    """Record for ever; a byte into the pipe for each row that is written."""
    writer = Writer(path, OPTIONS)
    writer.begin(LIFE._replace(boot_id="one-boot", began_wall_s=float(number)))
    now_s, rows, chance = number * LIFE_S, 0, random.Random(number)  # noqa: S311  # as above
    while True:
        large = tick(now_s, sent=chance.getrandbits(40), ports=chance.choice((1, 20, 300, PORTS)))
        writer.take(large, [event(now_s)] if chance.random() < 0.2 else ())
        now_s += 5.0
        if writer.figures.rows > rows:
            rows = writer.figures.rows
            os.write(writing, b".")
        if writer.figures.lost_ticks:
            return


def problems_of(path: str, number: int, acknowledged: int) -> list[str]:
    """What is wrong with the file; nothing, we hope."""
    if not os.path.exists(path):
        return ["there is no file"] if acknowledged else []
    found = [f"{name} was put aside" for name in os.listdir(os.path.dirname(path)) if "broken" in name]
    size_bytes = sum(os.stat(path + end).st_size for end in ("", "-wal") if os.path.exists(path + end))
    if size_bytes > OPTIONS.bounds.size_max_bytes:
        found.append(f"it has {size_bytes} bytes")
    with sqlite3.connect(path) as db:  # as the next daemon does: what is in the log counts
        tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        found += [line for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
    db.close()
    if not tables:
        return [*found, "rows are gone"] if acknowledged else found
    recording = open_recording(path)
    parts = list(recording.parts(WALL_S + number * LIFE_S))
    times = [one.monotonic_s for part in parts for one in part.ticks]
    found += [part.problem for part in parts if part.problem]
    recording.close()
    if len(times) < 2 * acknowledged and times[:1] == [number * LIFE_S]:
        found.append(f"{acknowledged} rows were written, {len(times)} ticks are there")
    if any(later - earlier != 5.0 for earlier, later in pairwise(times)):
        found.append("ticks are missing in between")
    return found


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else ".").mkdir(exist_ok=True)
    sys.exit(main())
