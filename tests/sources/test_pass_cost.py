"""What a pass costs in calls to the kernel, counted; and that a scrape costs none."""

from collections.abc import Iterator

import pytest

from exporter.catalog.infiniband import SATURATED
from exporter.model.metric import Cadence
from exporter.model.snapshot import metric_key
from tests.machine import Machine, machine
from tests.sources.small_hca import UP, hca, machine_of


def _steady_calls(seen: Machine) -> int:
    """Reads, opens and listings of one pass over fast and normal files, when nothing is new."""
    tree = seen.tree
    before = tree.preads + tree.opens + tree.listdirs
    seen.sampler.tick_all((Cadence.FAST, Cadence.NORMAL))
    return tree.preads + tree.opens + tree.listdirs - before


def _counters_shown(seen: Machine) -> int:
    return sum(
        len([key for key in reading.values if metric_key(key) != SATURATED.key])
        for feed, snapshot in seen.scene.snapshots.items()
        if feed.cadence is not Cadence.SLOW
        for reading in snapshot.readings
    )


@pytest.mark.parametrize("name", ["h100-8x-ndr400", "sriov-host", "counter-file-einval", "no-pma", "limited-pf"])
def test_a_steady_pass_costs_at_most_eleven_calls_for_ten_counters(name: str) -> None:
    """Also where files refuse: they rest."""
    seen = machine(name).run(20)

    assert _steady_calls(seen) <= 1.1 * _counters_shown(seen)


def test_a_scrape_costs_no_call() -> None:
    """A page is made of what is in memory."""
    seen = machine("h100-8x-ndr400").run(20)
    before = seen.tree.preads + seen.tree.opens + seen.tree.listdirs
    pages = [seen.page for _ in range(3)]

    assert len(set(pages)) == 1
    assert seen.tree.preads + seen.tree.opens + seen.tree.listdirs == before


def _many(count: int) -> Iterator[list]:
    return (hca(f"mlx5_{n}", {**UP, "counters/port_xmit_data": n}) for n in range(count))


def test_a_thousand_devices_are_all_shown() -> None:
    """Each with its own number; far more than any node has."""
    samples = machine_of(*_many(1000)).samples
    shown = {
        dict(labels)["device"]: value for (name, labels), value in samples.items() if name.endswith("port_data_transmitted_bytes_total")
    }

    assert shown == {f"mlx5_{n}": 4 * n for n in range(1000)}
