"""What a person writes of a PCIe link that can do less than its ends: pattern, speed, width."""

import pytest

from exporter.model.link_capability import Capability, expected_link


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("mlx5_.*=x8", ("mlx5_.*", Capability(None, 8))),
        ("0000:3b:00.0=16GT/s", ("0000:3b:00.0", Capability(16_000_000_000, None))),
        ("gpu[0-3]=2.5GT/s,x16", ("gpu[0-3]", Capability(2_500_000_000, 16))),
    ],
)
def test_each_form_is_understood(text: str, meaning: tuple[str, Capability]) -> None:
    """Speed, width, or both."""
    assert expected_link(text) == meaning


@pytest.mark.parametrize(
    "text", ["", "gpu0", "gpu0=", "=x8", "gpu0=x", "gpu0=8", "gpu0=16GT", "gpu0=x8,16GT/s", "gpu0=16GT/sx8", "gpu0=,x8"]
)
def test_anything_else_is_refused(text: str) -> None:
    """With what was expected, and what was there."""
    with pytest.raises(ValueError, match="expected PATTERN=SPEED,WIDTH"):
        expected_link(text)
