"""What a healthy node shows beside its traffic: sleeping GPUs, single errors, short pauses, the debris of jobs that end. Pure.

Each kind stays below what its rule calls too much, with a margin and in every window: research of the thresholds is the rules' business, so
the figures here are of healthy fabrics, and thresholds are named where one is near. Knows links by name; knows no rule's code.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from exporter.simulator.faults.gpus import counter_named
from exporter.simulator.hcas import Hca
from exporter.simulator.profiles import Profile
from tests.node_days.hours import DAY_S, MIXED, Block
from tests.node_days.upkeep import Event, fabric_of

BIT_ERROR_RATIO = 1e-15
"""What a link may have (IBTA); an hour of NDR is 1.44 errors. Here a link has half of that at most, all told."""
ONE_A_SECOND = 1.02
"""A rate that counts one within a second, whatever the rounding of time."""
OWN_SYMBOL_ERRORS = 2
"""Those that the simulator's healthy port has in a day (traffic.py)."""
FLUSHED = ("req_cqe_flush_error", "resp_cqe_flush_error", "duplicate_request")
"""Rise whenever a job ends (retries.py)."""
RESENT = ("packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans", "out_of_sequence", "rnr_nak_retry_err")
NVLINK_ERRORS = ("replay", "crc", "symbol", "effective")
APPLICATION_XIDS = (13, 31, 43, 45)
"""Of a program that crashed or was killed: no link's fault."""


def sleeping_gpus(random: Random, profile: Profile, spells: Sequence[tuple[float, float]]) -> Iterator[Event]:
    """GPUs without work slow their PCIe links down some seconds after the job, are woken now and then, and are awake before the next job
    (local-inference-lab/rtx6kpro#88). In some spells their NVLinks sleep too."""
    wired = {place.gpu for place in profile.nvlinks}
    for from_s, to_s in spells:
        nvlinks_sleep = random.random() < 0.3
        for gpu in range(len(profile.gpus)):
            begins_s, ends_s = from_s + random.uniform(2, 60), to_s - random.uniform(0.5, 4)
            if nvlinks_sleep and gpu in wired:
                yield Event("down", begins_s, ends_s, f"nvlink/gpu{gpu}/*", {"state": "sleep"})
            wakes = sorted(random.uniform(begins_s, ends_s) for _ in range(random.randrange(4)))
            for wakes_s in [*wakes, ends_s]:
                if wakes_s - begins_s > 5:
                    speed = random.choice(("2.5 GT/s", "5.0 GT/s"))
                    yield Event("pcie", begins_s, wakes_s, f"pcie/gpu{gpu}/upstream", {"speed": speed})
                begins_s = wakes_s + random.uniform(2, 30)


def partitions(random: Random, profile: Profile, blocks: Sequence[Block]) -> Iterator[Event]:
    """A GPU is partitioned (MIG) for some blocks of small jobs, where its generation can be."""
    for block in blocks:
        able = [number for number, gpu in enumerate(profile.gpus) if gpu.model.generation.has_mig]
        if able and block.kind == MIXED and random.random() < 0.2:
            yield Event("mig", block.from_s, block.to_s, f"gpu{random.choice(able)}")


def symbol_errors(random: Random, profile: Profile) -> Iterator[Event]:
    """One by one over the day, at most half of what each link may have, with those that it has anyway."""
    for hca in profile.hcas:
        allowed = 0.5 * BIT_ERROR_RATIO * 8 * hca.line_bytes_per_s * DAY_S - OWN_SYMBOL_ERRORS
        count = random.randint(0, max(int(allowed), 0))
        for number in range(count):
            yield _single(random, hca, "symbol_error", (number + random.random()) * DAY_S / count)


def resent_packets(random: Random, profile: Profile, blocks: Sequence[Block]) -> Iterator[Event]:
    """A few packets lost and sent again while jobs run."""
    work = [block for block in blocks if block.is_work]
    for hca in profile.hcas:
        for _ in range(random.randrange(7) if work else 0):
            block = random.choice(work)
            yield _single(random, hca, random.choice(RESENT), random.uniform(block.from_s, block.to_s), random.randint(1, 4))


def ended_jobs(random: Random, profile: Profile, blocks: Sequence[Block]) -> Iterator[Event]:
    """Requests flushed by the hundred on all ports when a job ends; some end by a crash, and the driver says so."""
    for block in [block for block in blocks if block.is_work and block.to_s < DAY_S - 5]:
        at_s = block.to_s + random.uniform(0, 3)
        for hca in profile.hcas:
            rate = random.uniform(50, 2000)
            yield Event("counter_rate", at_s, at_s + 1, _port(hca), {"counter": random.choice(FLUSHED), "per_second": rate})
        if profile.gpus and random.random() < 0.3:
            xid = random.choice(APPLICATION_XIDS)
            yield Event("xid", at_s, target=f"gpu{random.randrange(len(profile.gpus))}", values={"xid": xid})


def nvlink_errors(random: Random, profile: Profile) -> Iterator[Event]:
    """Single replays and CRC errors on a few links, and a drip of one in a quarter of an hour (one a minute is too much)."""
    places = sorted((place.gpu, place.link) for place in profile.nvlinks)
    for gpu, link in random.sample(places, min(len(places), random.randrange(13))):
        counter = random.choice(nvlink_counters(profile, gpu))
        at_s, target = random.uniform(0, DAY_S - 60), f"nvlink/gpu{gpu}/{link}"
        if random.random() < 0.2:
            yield Event("counter_rate", at_s, DAY_S, target, {"counter": counter, "per_second": 0.001})
        else:
            yield Event("counter_rate", at_s, at_s + random.randint(1, 20), target, {"counter": counter, "per_second": ONE_A_SECOND})


def nvlink_counters(profile: Profile, gpu: int) -> list[str]:
    """Those of harmless errors that the GPU counts."""
    found = []
    for name in NVLINK_ERRORS:
        try:
            counter_named(profile.gpus[gpu].model, name)
        except KeyError:
            continue
        found.append(name)
    return found


def short_pressure(random: Random, profile: Profile) -> Iterator[Event]:
    """A port is held back for a while: stalls of 3 % at most, or of 10 % for a minute (more than 5 % for half an hour is congestion); on
    RoCE pauses and marks below their limits (5 % over five minutes, 1 %), and a notification ignored. Never two of one kind at once: they
    would add up to more than a limit, as 0.5 % and 0.7 % of marks once did."""
    return apart(_pressures(random, profile))


def apart(events: Iterable[Event]) -> Iterator[Event]:
    """Without those that begin or end within an earlier one of the same kind, link and direction."""
    taken: dict[tuple[str, str, object], list[Event]] = {}
    for event in events:
        others = taken.setdefault((event.kind, event.target, event.values.get("direction")), [])
        if all(event.over_s <= other.at_s or other.over_s <= event.at_s for other in others):
            others.append(event)
            yield event


def _pressures(random: Random, profile: Profile) -> Iterator[Event]:
    for hca in profile.hcas:
        for _ in range(random.randrange(3)):
            at_s = random.uniform(0, DAY_S - 900)
            share, for_s = random.choice(((random.uniform(0.005, 0.03), random.uniform(60, 600)), (0.1, random.uniform(5, 60))))
            yield Event("stall", at_s, at_s + for_s, _port(hca), {"ratio": share})
        if hca.link_layer != "Ethernet":
            continue
        for direction in random.choices(("receive", "transmit"), k=random.randrange(4)):
            at_s = random.uniform(0, DAY_S - 900)
            share, for_s = random.choice(((random.uniform(0.005, 0.03), random.uniform(60, 900)), (0.15, random.uniform(2, 40))))
            yield Event("pause", at_s, at_s + for_s, _port(hca), {"ratio": share, "direction": direction})
        for _ in range(random.randrange(3)):
            at_s = random.uniform(0, DAY_S - 1800)
            yield Event("ecn", at_s, at_s + random.uniform(60, 1800), _port(hca), {"ratio": random.uniform(0.0005, 0.007)})
        if random.random() < 0.2:
            yield _single(random, hca, "rp_cnp_ignored", random.uniform(0, DAY_S - 60))


def hiccups(random: Random, profile: Profile) -> Iterator[Event]:
    """On some days one port goes down and up within two seconds (three looks in a row are a fault, as are three flaps an hour); on some a
    port's counters cannot be read for a moment."""
    if random.random() < 0.25:
        at_s = random.uniform(120, DAY_S - 60)
        yield Event("down", at_s, at_s + random.uniform(0.5, 2.5), _port(random.choice(profile.hcas)))
    if random.random() < 0.25:
        at_s = random.uniform(120, DAY_S - 60)
        yield Event("read_error", at_s, at_s + random.uniform(1, 30), _port(random.choice(profile.hcas)), values={"errno": "EIO"})


def _single(random: Random, hca: Hca, counter: str, at_s: float, count: int = 1) -> Event:
    """So many events of one counter within as many seconds."""
    return Event("counter_rate", at_s, at_s + count, _port(hca), {"counter": counter, "per_second": ONE_A_SECOND})


def _port(hca: Hca) -> str:
    return f"{fabric_of(hca.link_layer)}/{hca.name}/1"
