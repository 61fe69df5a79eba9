"""P7: calls of the NVIDIA driver, counted by the fake library's call log: one field call a GPU and family in a pass, none for a scrape."""

import time
from collections import Counter
from collections.abc import Iterator

from exporter.catalog.nvlink_fields import FAMILIES
from exporter.simulator.profiles import profile_named
from tests.benchmarks.driver import BOTH, fake_driver, seat
from tests.benchmarks.figure import Figure
from tests.benchmarks.meter import Scraper
from tests.benchmarks.peers import daemon
from tests.benchmarks.trees import tree_after
from tests.nvml_library import Call, FakeDriver

NODE = "hgx-h100"
INTERVALS = ("1m", "1m", "1h")
SCRAPES = 50
SETTLE_S = 4.0
FIELD_CALL = "nvmlDeviceGetFieldValues"
_PASSES = """
    from exporter.model.metric import Cadence
    from exporter.sources.nvlink import NvlinkSource
    from exporter.sources.nvml import Pynvml
    readers = NvlinkSource(Pynvml(), bool).scan(0.0, 0.0).readers
    def one_pass():
        for reader in readers:
            for cadence in (Cadence.FAST, Cadence.NORMAL):
                reader.read(cadence, 0.0, 0.0)
    one_pass()
    one_pass()
    told(0)
    pause()
    one_pass()
    told(1)
"""
FAMILY_OF = {field.number: family.name for family in FAMILIES for field in family.fields}


def measure(_rounds: int) -> Iterator[Figure]:
    """Counts, so one round is as good as many."""
    for name in BOTH:
        with fake_driver(name) as driver:
            calls = of_one_pass(driver)
        found = by_family(calls)
        families, values = {family for _, family in found}, sum(len(call.fields) for call in calls)
        what = f"NVML field calls a GPU, family and pass, {name}: the most"
        yield Figure("P7", what, max(found.values()), 1, f"{len(families)} families", f"{sum(found.values())} for {values} values", "")
        others = Counter(call.name for call in calls) - Counter({FIELD_CALL: sum(found.values())})
        gpus = len({gpu for gpu, _ in found})
        listed = ", ".join(f"{count / gpus:g} {call.removeprefix('nvmlDevice')}" for call, count in sorted(others.items()))
        yield Figure("P7", f"other NVML calls a GPU and pass, {name}", sum(others.values()) / gpus, None, "–", listed, "")
    yield Figure("P7", f"NVML calls during {SCRAPES} scrapes of the daemon", during_scrapes(), 0, "–", "", "")


def of_one_pass(driver: FakeDriver) -> tuple[Call, ...]:
    """Calls of one FAST and NORMAL pass over all GPUs, once what they answer is known."""
    with driver.start(_PASSES) as child:
        child.told()
        driver.forget_calls()
        child.go_on()
        child.told()
        return driver.calls()


def by_family(calls: tuple[Call, ...]) -> Counter[tuple[int | None, str]]:
    """How many field calls asked for fields of each family, by GPU; a call that mixes families counts for each of them."""
    return Counter((call.gpu, family) for call in calls for family in {FAMILY_OF[field] for field, _ in call.fields if field in FAMILY_OF})


def during_scrapes() -> int:
    """Between two passes of the real daemon: the first is over, the next is a minute away. Raises RuntimeError if it shows no link."""
    profile = profile_named(NODE)
    with tree_after(profile) as (root, _), fake_driver() as driver:
        seat(driver, profile)
        with daemon(root, INTERVALS, driver.environment()) as peer, Scraper(peer.port, gzip=False) as scraper:
            time.sleep(SETTLE_S)
            before = len(driver.calls())
            pages = [scraper.scrape() for _ in range(SCRAPES)]
            if b"\nfabric_nvlink_transmit_bytes_total{" not in pages[-1]:
                raise RuntimeError("the daemon shows no NVLink")
            return len(driver.calls()) - before
