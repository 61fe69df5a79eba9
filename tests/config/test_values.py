"""Durations and addresses: what is read, what is refused."""

import pytest

from exporter.config.duration import format_duration, parse_duration
from exporter.config.kinds import size
from exporter.model.address import TcpAddress, UnixAddress, parse_address


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5), ("100ms", 0.1), ("15m", 900), ("2h", 7200), ("7d", 604_800), ("1w", 604_800),
                                               ("1m30s", 90), ("1h0m5s", 3605), ("0s", 0)])  # fmt: skip
def test_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    """Units may be combined, largest first."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", " 5s", "5s ", "1.5s", "-5s", "+5s", "5S", "30s1m", "5s5s", "5 parsecs", "٥s", "1_0s",
                                  "9999999999s", "5s\n", "inf", "1e3s"])  # fmt: skip
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    """No guessing: a bare number has no unit."""
    with pytest.raises(ValueError, match="expected a duration such as 5s, got"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "5s"), (0.1, "100ms"), (90, "1m30s"), (300, "5m"), (86_400, "1d"), (0, "0s"), (1.5, "1s500ms")]
)
def test_duration_is_written_as_people_write_it(seconds: float, text: str) -> None:
    """Largest units first, no zeros."""
    assert format_duration(seconds) == text


@pytest.mark.parametrize(("text", "address"), [
    (":29100", TcpAddress("", 29_100)), ("127.0.0.1:80", TcpAddress("127.0.0.1", 80)), ("[::1]:29100", TcpAddress("::1", 29_100)),
    ("[::]:0", TcpAddress("::", 0)), ("node-1.example.org:1", TcpAddress("node-1.example.org", 1)),
    ("unix:///run/f.sock", UnixAddress("/run/f.sock")),
])  # fmt: skip
def test_address_is_read_and_written_back(text: str, address: TcpAddress | UnixAddress) -> None:
    """parse∘str is identity."""
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", ":", "29100", "::1:29100", "[::1]", "[nope]:1", ":65536", ":-1", "a b:1", "http://x:1", "unix://x", "unix:///",
                                  "unix:///" + "x" * 200, "x" * 64 + ":1", ":٣"])  # fmt: skip
def test_text_that_is_no_address_is_refused(text: str) -> None:
    """Refused at start, not by the kernel or the resolver later."""
    with pytest.raises(ValueError, match=r"expected|at most"):
        parse_address(text)


@pytest.mark.parametrize(("text", "size_bytes"), [("512MB", 512_000_000), ("16000kB", 16_000_000), ("2GB", 2_000_000_000)])
def test_size_is_read_in_bytes_and_written_back(text: str, size_bytes: int) -> None:
    """Thousands, as disks are sold; the shortest text comes back."""
    kind = size(16_000_000, 10**12)

    assert kind.parse(text) == size_bytes
    assert kind.parse(kind.show(size_bytes)) == size_bytes


@pytest.mark.parametrize("text", ["", "512", "512 MB", "512mb", "0.5GB", "1MB", "2000TB", "512MiB", "-1GB", "٥GB"])
def test_text_that_is_no_size_is_refused(text: str) -> None:
    """A bare number has no unit; too small and too large are refused alike."""
    with pytest.raises(ValueError, match="expected a size from 16MB to 1TB such as 512MB, got"):
        size(16_000_000, 10**12).parse(text)
