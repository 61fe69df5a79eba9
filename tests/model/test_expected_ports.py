"""What a port should run at: configured, learned, or as its sisters do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.expected_ports import (
    NOTHING,
    ExpectedPort,
    LinkLayer,
    PortSpeed,
    best,
    expected_layer,
    expected_port,
    expected_speed,
    is_expected_up,
)

GBIT = 125_000_000
NDR, HALF, HDR = PortSpeed(400 * GBIT, 4, 100 * GBIT), PortSpeed(200 * GBIT, 2, 100 * GBIT), PortSpeed(200 * GBIT, 4, 50 * GBIT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mlx5_[0-7]=400Gb/s,x4", ("mlx5_[0-7]", ExpectedPort(speed=NDR))),
        ("mlx5_8=x4", ("mlx5_8", ExpectedPort(speed=PortSpeed(lanes=4)))),
        ("mlx5_8=100Gb/s", ("mlx5_8", ExpectedPort(speed=PortSpeed(100 * GBIT)))),
        ("mlx5_9=off", ("mlx5_9", ExpectedPort(is_up=False))),
        ("a=b=off", ("a=b", ExpectedPort(is_up=False))),
        ("mlx5_8=ethernet", ("mlx5_8", ExpectedPort(None, layer=LinkLayer.ETHERNET))),
        ("mlx5_8=infiniband,400Gb/s,x4", ("mlx5_8", ExpectedPort(speed=NDR, layer=LinkLayer.INFINIBAND))),
        ("mlx5_8=ethernet,x4", ("mlx5_8", ExpectedPort(speed=PortSpeed(lanes=4), layer=LinkLayer.ETHERNET))),
    ],
)
def test_an_expectation_is_a_pattern_and_what_it_should_be(text: str, expected: tuple[str, ExpectedPort]) -> None:
    """Rate, lanes, both, or off; a link layer before these or alone, and then nothing of up or down."""
    assert expected_port(text) == expected


@pytest.mark.parametrize("text", ["", "mlx5_0", "mlx5_0=", "=off", "mlx5_0=400", "mlx5_0=400Gb/s,", "mlx5_0=,x4", "mlx5_0=400Gb/sx4",
                                  "mlx5_0=x4,400Gb/s", "mlx5_0=off,x4", "mlx5_0=Off", "mlx5_0=4000000Gb/s", "mlx5_0=x400", "mlx5_0=x0",
                                  "mlx5_0=0Gb/s", "mlx5_0=400Gb/s,x4\n", "mlx5_0=Ethernet", "mlx5_0=ethernet,", "mlx5_0=ethernet,off",
                                  "mlx5_0=x4,ethernet", "mlx5_0=ethernet400Gb/s", "mlx5_0=ethernet,infiniband",
                                  "mlx5_0=ethernetx4"])  # fmt: skip
def test_a_text_that_is_no_expectation_is_refused_in_one_line(text: str) -> None:
    """With what was expected and what was given."""
    with pytest.raises(ValueError, match=r"^expected PATTERN=RATE,LANES, PATTERN=ethernet .* or PATTERN=off, as in .*, got \".*\"$"):
        expected_port(text)


@given(st.text(max_size=40) | st.from_regex(r"mlx5_.{0,4}=(off|(ethernet)?,?[0-9]{0,6}(Gb/s)?,?x?[0-9]{0,3})"))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else comes out."""
    try:
        pattern, expected = expected_port(text)
    except ValueError as error:
        pattern, expected = str(error), ExpectedPort(is_up=False)

    assert pattern.strip()
    assert expected.is_up is (True if expected.speed != NOTHING else None if expected.layer is not None else False)


def test_the_best_of_each_figure_counts() -> None:
    """And the very same object if nothing is better: nothing was learned."""
    assert best(HALF, HDR) == PortSpeed(200 * GBIT, 4, 100 * GBIT)
    assert best(NDR, HALF) is NDR
    assert best(NDR, NOTHING) is NDR


@pytest.mark.parametrize(
    ("learned", "sisters", "expected"),
    [
        (HALF, [], HALF),
        (HALF, [NDR], HALF),
        (HALF, [NDR, NDR], NDR),
        (HALF, [NDR, NDR, NDR], NDR),
        (HALF, [NDR, NDR, HALF], HALF),
        (HALF, [NDR, HDR, HDR], HALF),
        (NDR, [HALF, HALF, HALF], NDR),
        (HALF, [NOTHING, NOTHING, NDR], HALF),
        (NOTHING, [NDR, NDR, NDR], NDR),
    ],
)
def test_a_port_is_raised_to_what_most_of_its_group_have(learned: PortSpeed, sisters: list[PortSpeed], expected: PortSpeed) -> None:
    """It may never have trained right. It is never lowered; and two are no majority."""
    assert expected_speed("mlx5_0", learned, sisters, {}) == expected


def test_a_configured_speed_comes_first_and_matches_the_whole_name() -> None:
    """The first pattern that names a speed."""
    configured = {"mlx5_": ExpectedPort(speed=HALF), "mlx5_9": ExpectedPort(is_up=False), "mlx5_.": ExpectedPort(speed=HDR)}

    assert expected_speed("mlx5_0", NDR, [NDR] * 3, configured) == HDR
    assert expected_speed("mlx5_9", NDR, [], configured) == HDR
    assert expected_speed("mlx5_10", NDR, [], configured) == NDR


@pytest.mark.parametrize(
    ("name", "was_up", "expected"), [("mlx5_0", True, True), ("mlx5_0", False, None), ("mlx5_8", False, True), ("mlx5_9", True, False)]
)
def test_a_port_should_be_up_as_configured_or_if_it_ever_was(name: str, was_up: bool, expected: bool | None) -> None:  # noqa: FBT001  # facts
    """Of an unused second port nobody knows (NVIDIA/NVSentinel#1361)."""
    configured = {"mlx5_8": ExpectedPort(speed=NDR), "mlx5_9": ExpectedPort(is_up=False)}

    assert is_expected_up(name, was_up, configured) is expected


def test_the_first_pattern_that_names_a_link_layer_counts() -> None:
    """Whatever other patterns say of the port's speed; and one that names nothing else says nothing of up or down."""
    configured = {"mlx5_.": ExpectedPort(speed=NDR), "mlx5_8": ExpectedPort(None, layer=LinkLayer.ETHERNET),
                  "mlx5_[0-9]+": ExpectedPort(None, layer=LinkLayer.INFINIBAND)}  # fmt: skip

    assert expected_layer("mlx5_8", configured) is LinkLayer.ETHERNET
    assert expected_layer("mlx5_10", configured) is LinkLayer.INFINIBAND
    assert expected_layer("eno1", configured) is None
    assert (is_expected_up("mlx5_8", False, configured), is_expected_up("mlx5_10", False, configured)) == (True, None)  # noqa: FBT003  # facts
