"""Addresses: what a text means, and one line for what means nothing."""

import pytest

from exporter.model.address import Address, TcpAddress, UnixAddress, parse_address
from exporter.model.quoted import shown


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (":29100", TcpAddress("", 29100)),
        ("127.0.0.1:29100", TcpAddress("127.0.0.1", 29100)),
        ("node-7.example:1", TcpAddress("node-7.example", 1)),
        ("[::1]:29100", TcpAddress("::1", 29100)),
        ("[fe80::1%eth0]:29100", TcpAddress("fe80::1%eth0", 29100)),
        ("unix:///run/f.sock", UnixAddress("/run/f.sock", 0o660)),
        ("unix:///run/f.sock?mode=0600", UnixAddress("/run/f.sock", 0o600)),
    ],
)
def test_each_form_of_an_address_is_understood(text: str, meaning: Address) -> None:
    """The four forms of the interface, with and without a mode."""
    assert parse_address(text) == meaning


@pytest.mark.parametrize("text", [":29100", "127.0.0.1:80", "[::1]:29100", "unix:///run/f.sock"])
def test_an_address_prints_as_it_is_written(text: str) -> None:
    """So that a person finds it again in their configuration."""
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "29100", ":", ":70000", "::1:29100", "http://x:1", "a b:1", "[::1]", "[x]:1", ":29100\n", ":２９", "unix://x", "unix:///",
     "unix:///run/f?mode=9", "unix:///run/f?mode=0660&x=1", "unix:///a\0b"],
)  # fmt: skip
def test_anything_else_is_refused_in_one_line_that_names_it(text: str) -> None:
    """No address is guessed at."""
    with pytest.raises(ValueError, match="got ") as caught:
        parse_address(text)

    assert shown(text) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
