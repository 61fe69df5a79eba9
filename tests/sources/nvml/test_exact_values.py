"""Every number of every profile, through the C library: exact, in the unit that nvml.h gives it, at a moment when counters have risen."""

import pytest

from exporter.catalog import nvlink as rows
from exporter.catalog.nvlink_fields import (
    C2C_COUNT,
    CHIP_TO_CHIP,
    CONNECTED_COUNT,
    FAMILIES,
    FULL_REGISTERS,
    LINK_COUNT,
    PEER_LINK,
    RECOVERY_ACTION,
    REGISTERS,
    UNSHIFTED_PORT,
    VERSION,
)
from exporter.model.metric import Kind, Unit
from tests.nvml_library import BOARDS, FakeDriver, constants, field_id, profile, ull
from tests.nvml_library.scenario import Amount
from tests.sources.nvml.header_words import OF_C2C, OF_LINKS, XMIT_WAIT, of_c2c, of_link, registers, unit_of
from tests.sources.nvml.source_child import SourceChild

AT_NS = 1_234_567_890_123
STATE_FIELD = f"f{field_id('NVLINK_GET_STATE')}"


def test_field_ids_and_units_are_those_of_the_header() -> None:
    """Each field of our table: the id that nvml.h has for that name, and the unit that stands beside it."""
    ours = {field.number: (field.key, field.scale) for family in (*FAMILIES, CHIP_TO_CHIP) for field in family.fields}

    assert ours == {field_id(name): (key, unit_of(name)) for name, key in {**OF_LINKS, **OF_C2C}.items()}


def test_ids_of_single_questions_are_those_of_the_header() -> None:
    """Counts, far ends and the recovery action."""
    names = ("NVLINK_LINK_COUNT", "NVSWITCH_CONNECTED_LINK_COUNT", "GET_GPU_RECOVERY_ACTION", "NVLINK_REMOTE_NVLINK_ID",
             "NVLINK_GET_VERSION", "C2C_LINK_COUNT")  # fmt: skip

    assert [field_id(name) for name in names] == [LINK_COUNT, CONNECTED_COUNT, RECOVERY_ACTION, PEER_LINK, VERSION, C2C_COUNT]


def test_registers_are_those_of_the_header() -> None:
    """Each by its number and the header's word for it; one of them counts ports from 0."""
    theirs = registers()

    assert dict((*REGISTERS, *FULL_REGISTERS)) == {number: key for number, (_, key) in theirs.items()}
    assert {number for number, (word, _) in theirs.items() if word == XMIT_WAIT} == UNSHIFTED_PORT


def test_enumerations_are_those_of_the_header() -> None:
    """States, kinds of far ends, versions: an enumerator is not the version it means (Syllo/nvtop#469)."""
    numbers = constants()
    states = ("SLEEP", "ACTIVE", "ACTIVE_TRAFFIC_DISABLED")
    kinds = {numbers[f"NVML_NVLINK_DEVICE_TYPE_{name.upper()}"]: name for name in ("gpu", "ibmnpu", "switch")}
    versions = {text: numbers[f"NVML_NVLINK_VERSION_{text.replace('.', '_')}"] for text in rows.VERSIONS.values()}

    assert tuple(numbers[f"NVML_NVLINK_STATE_{name}"] for name in states) == (rows.ASLEEP, rows.ACTIVE, rows.TRAFFIC_DISABLED)
    assert kinds == rows.PEER_TYPES
    assert versions == {text: number for number, text in rows.VERSIONS.items()}


def test_bytes_are_two_growing_counters_with_their_unit_in_the_name() -> None:
    """Never a rate that calls itself a counter, nor both directions in one (NVIDIA/dcgm-exporter#658)."""
    described = [(row.kind, row.unit, row.name) for row in (rows.TRANSMITTED, rows.RECEIVED)]

    names = ("fabric_nvlink_transmit_bytes_total", "fabric_nvlink_receive_bytes_total")
    assert described == [(Kind.COUNTER, Unit.BYTES, name) for name in names]


@pytest.mark.parametrize("name", BOARDS)
def test_every_number_of_every_link_is_read_back_exactly(driver: FakeDriver, name: str) -> None:
    """All GPUs and ports, nothing beside them, and no Fault on a machine that is well."""
    board, statements = BOARDS[name], profile(name)
    driver.write(statements).clock.set_ns(AT_NS)

    with SourceChild(driver, full=True) as child:
        gpus = child.scan().gpus
        seen = {gpu: (child.read(gpu, "fast"), child.read(gpu, "normal")) for gpu in gpus}

    assert gpus == tuple(f"gpu{gpu}" for gpu in range(board.gpus))
    for gpu, (fast, normal) in enumerate(seen.values()):
        expected = {link: of_link(statements, gpu, link, AT_NS) for link in range(board.ports)}
        merged = {link: {**values, **normal.links(f"gpu{gpu}").get(link, {})} for link, values in fast.links(f"gpu{gpu}").items()}
        for values in merged.values():
            values.pop("nvlink_presence", None)
        assert merged == expected
        assert fast.faults + normal.faults == ()


def test_only_the_full_tier_asks_for_histograms_packets_and_all_registers(driver: FakeDriver) -> None:
    """Their series and their calls."""
    driver.write(profile("b200"))

    with SourceChild(driver) as child:
        child.scan()
        normal = child.read("gpu0", "normal").links("gpu0")[3]

    full_only = {"nvlink_fec", "nvlink_raw_errors", "nvlink_register_events", "nvlink_register_levels", "nvlink_data_rate",
                 "nvlink_packets_transmitted", "nvlink_packets_received"}  # fmt: skip
    asked = {pair[0] for call in driver.calls("nvmlDeviceGetFieldValues") for pair in call.fields}
    assert full_only & {key if isinstance(key, str) else key[0] for key in normal} == set()
    assert asked & {field_id(f"NVLINK_{name}") for name in ("COUNT_FEC_HISTORY_0", "COUNT_XMIT_PACKETS", "GET_DATA_RATE")} == set()
    assert {pair[0] for call in driver.calls("nvmlDeviceReadPRMCounters_v1") for pair in call.fields} == dict(REGISTERS).keys()


def test_chip_to_chip_links_are_read_back_exactly(driver: FakeDriver) -> None:
    """Each of the five of each GPU of a GB200, one count asked for apart from the error counters and bandwidth in bytes per second."""
    statements = profile("gb200")
    driver.write(statements).clock.set_ns(AT_NS)

    with SourceChild(driver) as child:
        seen = {gpu: child.read(gpu, "normal") for gpu in child.scan().gpus}

    for gpu, normal in enumerate(seen.values()):
        assert normal.links(f"gpu{gpu}", "c2c") == {link: of_c2c(statements, gpu, link, AT_NS) for link in range(5)}


def test_a_counter_above_what_a_double_holds_stays_exact(driver: FakeDriver) -> None:
    """KiB become bytes as whole numbers, up to the last of 64 bits."""
    kib, of_bytes = f"g0.l0.f{field_id('NVLINK_THROUGHPUT_DATA_TX')}", f"g0.l0.f{field_id('NVLINK_COUNT_XMIT_BYTES')}"
    driver.write({**profile("h100-sxm"), kib: ull(2**53 + 1)})
    with SourceChild(driver) as child:
        child.scan()
        large = child.read("gpu0", "fast").links("gpu0")[0]["nvlink_transmitted"]
    driver.write({**profile("b200"), of_bytes: ull(2**64 - 1)})
    with SourceChild(driver) as child:
        child.scan()
        largest = child.read("gpu0", "fast").links("gpu0")[0]["nvlink_transmitted"]

    assert [large, largest] == [(2**53 + 1) * 1024, 2**64 - 1]


def test_values_are_decoded_by_the_type_they_come_with(driver: FakeDriver) -> None:
    """It may change between two passes: signed, real, short, unsigned again."""
    driver.write(profile("h100-sxm"))
    sent: list[tuple[Amount, int | float]] = [
        (Amount("ull", 2**40 + 1), 2**40 + 1), (Amount("sll", -5), -5), (Amount("int", -7), -7), (Amount("double", 12.5), 12.5),
        (Amount("ushort", 65_535), 65_535), (Amount("uint", 2**32 - 1), 2**32 - 1), (Amount("ulong", 2**63), 2**63), (Amount("ull", 3), 3),
    ]  # fmt: skip

    with SourceChild(driver) as child:
        child.scan()
        before = child.read("gpu0", "fast").column("gpu0", "nvlink_transmitted")
        told = []
        for amount, _ in sent:
            driver.change({f"g0.l7.f{field_id('NVLINK_THROUGHPUT_DATA_TX')}": amount})
            column = child.read("gpu0", "fast").column("gpu0", "nvlink_transmitted")
            told.append(column.pop(7))
            assert column == {link: number for link, number in before.items() if link != 7}

    assert told == [number * 1024 for _, number in sent]


def test_a_real_number_that_is_none_is_refused(driver: FakeDriver) -> None:
    """A counter never shows NaN or infinity; its neighbours stay."""
    driver.write(profile("h100-sxm"))
    key = f"g0.l7.f{field_id('NVLINK_THROUGHPUT_DATA_TX')}"
    with SourceChild(driver) as child:
        child.scan()
        driver.change({key: Amount("double", float("inf"))})
        endless = child.read("gpu0", "fast")
        driver.change({f"g0.l7.{STATE_FIELD}": Amount("double", float("nan"))})
        stateless = child.read("gpu0", "fast")

    assert endless.column("gpu0", "nvlink_transmitted").keys() == set(range(18)) - {7}
    assert "nvlink_received" in endless.links("gpu0")[7]
    assert 7 not in stateless.links("gpu0")
