"""The daemon and a probe of its node: the report of one process is on the page of the other."""

import time
from pathlib import Path

from exporter.runtime.probe_memory import open_memory
from tests.machine import parsed
from tests.probes.reports import GOOD
from tests.real.daemon import daemon
from tests.real.listener import poll

BOUND_S = 60.0
SUCCESSES = ("fabric_probe_runs_total", frozenset({("kind", "node"), ("outcome", "success")}))


def test_a_report_appears_on_the_page_and_without_the_option_it_does_not(tmp_path: Path) -> None:
    """A probe that ended just now, left where `fabric-exporter probe` leaves it."""
    for is_on in (True, False):
        folder = tmp_path / str(is_on)
        folder.mkdir()
        (folder / "c.yaml").write_text(f"probes: {{enabled: {str(is_on).lower()}}}\n")
        with daemon(folder, [f"--config={folder / 'c.yaml'}", f"--sysfs-root={folder}", f"--state-dir={folder / 'state'}"]) as running:
            memory = open_memory(str(folder / "state"))
            memory.hand_over(GOOD._replace(started_wall_s=time.time(), ended_wall_s=time.time() + 1))
            memory.close()

            def counted() -> float | None:
                samples = {(name, frozenset(labels)): value for (name, labels), value in parsed(running.get("/metrics")).items()}
                return samples.get(SUCCESSES) or None

            if is_on:
                assert poll(counted, BOUND_S, "the probe") == 1
            else:
                assert counted() is None
