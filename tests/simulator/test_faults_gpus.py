"""What the driver and the kernel log show before, during and after each fault of GPUs and NVLinks."""

import pytest

from exporter.simulator.gpu_models import CRC_ERRORS, RATE, RECOVERIES, STATE
from exporter.sources.nvml_session import DeviceQuestion, NvmlError
from exporter.sources.xid_lines import event_of
from tests.simulator.faulty import Watched, planned

LINK = "nvlink/gpu5/7"


@pytest.mark.parametrize(("state", "number"), [("down", 0), ("sleep", 2), ("traffic_disabled", 3)])
def test_a_link_goes_into_a_state_and_comes_back(state: str, number: int) -> None:
    """Inactive, asleep or without traffic; the others of its GPU stay."""
    node = Watched(planned("down", LINK, state=state))

    assert [node.at(moment).field(5, STATE, 7) for moment in (59, 61, 121)] == [1, number, 1]
    assert Watched(planned("down", LINK)).at(90).field(5, STATE, 6) == 1


def test_a_link_that_is_down_carries_nothing() -> None:
    """The GPU's others take its share over."""
    node = Watched(planned("down", LINK))

    assert node.growth(lambda: node.nvlink(5, 7, 138), 60, 120) == 0
    assert node.growth(lambda: node.nvlink(5, 7, 138), 120, 180) > 0


def test_of_two_faults_of_a_link_the_later_one_shows() -> None:
    """And it is up only when both are over."""
    node = Watched(planned("down", LINK), planned("down", LINK, at_s=90, until_s=150, state="sleep"))

    assert [node.at(moment).field(5, STATE, 7) for moment in (61, 91, 121, 151)] == [0, 2, 2, 1]


def test_a_flapping_nvlink_comes_and_goes() -> None:
    """As a port does."""
    node = Watched(planned("flap", LINK, until_s=None, period=10.0, count=2, down=2.0))

    assert [node.at(moment).field(5, STATE, 7) for moment in (59, 61, 63, 71, 73)] == [1, 0, 1, 0, 1]


def test_a_link_that_trained_slower_says_its_rate() -> None:
    """In MB/s, as the driver does."""
    node = Watched(planned("rate", LINK, to="13281 MB/s"))

    assert [node.at(moment).field(5, RATE, 7) for moment in (59, 61, 121)] == [26_562, 13_281, 26_562]


def test_errors_rise_jump_and_start_anew() -> None:
    """A counter of one link alone."""
    node = Watched(
        planned("counter_rate", LINK, counter="crc", per_second=120),
        planned("counter_set", LINK, at_s=200, until_s=None, counter="recovery", value=17),
        planned("counter_reset", LINK, at_s=300, until_s=None),
    )

    assert node.growth(lambda: node.nvlink(5, 7, CRC_ERRORS), 60, 70) == 1200
    assert node.growth(lambda: node.nvlink(5, 7, CRC_ERRORS), 120, 180) == 0
    assert node.at(201).nvlink(5, 7, RECOVERIES) == 17
    assert [node.at(300).nvlink(5, 7, counter) for counter in (CRC_ERRORS, RECOVERIES, 138)] == [0, 0, 0]
    assert node.nvlink(5, 6, 138) > 0


def test_what_the_driver_answers_follows_while_a_batch_is_kept() -> None:
    """A reader prepares its question once; what was worked out for it must not outlive a change."""
    node = Watched(planned("counter_rate", LINK, counter="crc", per_second=1))
    nvml = node.hardware.nvml
    nvml.open()
    batch = nvml.batch(5, [(CRC_ERRORS, 7), (STATE, 7), (138, 7)])

    shown = []
    for moment in (59, 70, 120, 130):
        node.at(moment)
        shown.append(batch.read().numbers[0])

    assert shown == [0, 10, 60, 60]


@pytest.mark.parametrize(
    ("node", "counter", "field"),
    [("hgx-h100", "replay", 161), ("hgx-b200", "recovery", 215), ("hgx-b200", "symbol", 221), ("gb200-tray", "blocks_repeated", 295)],
)
def test_counters_go_by_name_on_every_generation(node: str, counter: str, field: int) -> None:
    """The field differs; a scenario need not know."""
    watched = Watched(planned("counter_rate", "nvlink/gpu1/3", counter=counter, per_second=5), node=node)

    assert watched.growth(lambda: watched.nvlink(1, 3, field), 60, 70) == 50


def test_a_partitioned_gpu_says_so() -> None:
    """And the driver reports its links as inactive."""
    node = Watched(planned("mig", "gpu2"))
    node.hardware.nvml.open()

    def shown(moment: float) -> tuple[int, int]:
        node.at(moment)
        return node.hardware.nvml.ask(2, DeviceQuestion.MIG_MODE), node.field(2, STATE, 0)

    assert [shown(moment) for moment in (59, 61, 121)] == [(0, 1), (1, 0), (0, 1)]


@pytest.mark.parametrize("node", ["hgx-h100", "hgx-b200"])
def test_an_xid_is_in_the_kernel_log_and_among_the_events(node: str) -> None:
    """In the words of its generation, with the link it is about, stamped with the node's uptime."""
    watched = Watched(planned("xid", "gpu1", until_s=None, xid=74, port=9), planned("xid", "gpu1", until_s=None, xid=79), node=node)
    watched.hardware.nvml.open()
    watched.hardware.nvml.watch_xids()
    watched.at(60)
    records = watched.hardware.log.records().records
    events = [event_of(record.text) for record in records]
    pci = watched.hardware.profile.gpus[1].pci

    assert [(event.pci, event.xid, event.port) for event in events if event is not None] == [(pci, 74, "9"), (pci, 79, "")]  # type: ignore[union-attr]
    assert {record.usec for record in records} == {3_660_000_000}
    assert watched.hardware.nvml.xids() == [(1, 74), (1, 79)]


def test_nvml_answers_with_an_error_to_whom_it_is_planned_for() -> None:
    """One call about one GPU, every call about one GPU, or every call at all."""
    node = Watched(
        planned("nvml_error", at_s=60, until_s=80, code="timeout", call="fabric", device="gpu3"),
        planned("nvml_error", at_s=100, until_s=120, code="gpu_is_lost", device="gpu3"),
        planned("nvml_error", at_s=140, until_s=160, code="999"),
    )
    nvml = node.hardware.nvml
    nvml.open()

    def codes(moment: float) -> list[int]:
        node.at(moment)
        return [_code(lambda gpu=gpu, call=call: getattr(nvml, call)(gpu)) for gpu in (2, 3) for call in ("fabric", "facts")]  # type: ignore[misc]

    assert codes(59) == [0, 0, 0, 0]
    assert codes(61) == [0, 0, 10, 0]
    assert codes(81) == [0, 0, 0, 0]
    assert codes(101) == [0, 0, 15, 15]
    assert codes(141) == [999] * 4
    assert codes(161) == [0, 0, 0, 0]


def _code(call: object) -> int:
    try:
        call()  # type: ignore[operator]
    except NvmlError as error:
        return error.code
    return 0


@pytest.mark.parametrize(("says", "shown"), [("unhealthy", (3, 23)), ("in_progress", (2, 0)), ("not_started", (1, 0))])
def test_a_gpu_falls_out_of_its_domain_and_joins_it_again(says: str, shown: tuple[int, int]) -> None:
    """By its state, or by a status that is not well; the others stay."""
    node = Watched(planned("domain", "gpu5", says=says))
    gpus = node.hardware.nvml.gpus
    seen = [(gpus.fabric[5].state, gpus.fabric[5].status) for moment in (59, 61, 121) if node.at(moment)]

    assert seen == [(3, 0), shown, (3, 0)]
    assert (gpus.fabric[4].state, gpus.fabric[4].status) == (3, 0)
