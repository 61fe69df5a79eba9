"""What is bound for an address, and one line for each way it can fail."""

import os
import socket
import stat
from pathlib import Path

import pytest

from exporter.model.address import UnixAddress, parse_address
from exporter.web.bind import AddressError, bind, bind_control, mark_of, withdraw
from tests.requires import lacking


def bound(text: str) -> list[socket.socket]:
    return list(bind(parse_address(text)))


def failure_of(text: str) -> str:
    with pytest.raises(AddressError) as caught:
        bind(parse_address(text))
    return str(caught.value)


def test_a_bare_port_listens_on_ipv4_and_ipv6() -> None:
    """One dual-stack socket answers both families."""
    if not socket.has_dualstack_ipv6():
        lacking("this kernel has no IPv6")
    (listener,) = bound(":0")
    with listener:
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port), 5):
                pass


def test_an_ipv6_address_is_listened_on() -> None:
    """Brackets are notation, not part of the host."""
    if not socket.has_dualstack_ipv6():
        lacking("this kernel has no IPv6")
    (listener,) = bound("[::1]:0")
    with listener:
        assert listener.getsockname()[0] == "::1"


def test_a_bound_socket_does_not_block() -> None:
    """The server awaits accept(); a blocking listener would stop everything."""
    (listener,) = bound("127.0.0.1:0")
    with listener:
        assert listener.getblocking() is False


def test_a_port_in_use_is_said_in_one_line() -> None:
    """Which address, that it is in use, and the flag that helps."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = f"127.0.0.1:{taken.getsockname()[1]}"
        said = failure_of(text)

    assert said == (
        f"cannot listen on {text}: it is already in use; stop the process that listens there or choose another with --web.listen-address"
    )


@pytest.mark.parametrize(("text", "why"), [("192.0.2.1:0", "no such address"), ("no-such-host.invalid:1", "does not resolve")])
def test_an_address_that_is_not_ours_is_said_in_one_line(text: str, why: str) -> None:
    """A foreign address and a name that does not resolve (both reserved for documentation)."""
    said = failure_of(text)

    assert why in said
    assert "--web.listen-address" in said
    assert len(said.splitlines()) == 1


def test_a_unix_socket_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    """Whatever the umask is."""
    path = tmp_path / "f.sock"
    (listener,) = bound(f"unix://{path}?mode=0606")
    with listener:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o606


def test_a_stale_unix_socket_is_replaced(tmp_path: Path) -> None:
    """A killed daemon leaves its file behind; the next one must start."""
    path = tmp_path / "f.sock"
    bound(f"unix://{path}")[0].close()
    (listener,) = bound(f"unix://{path}")
    with listener, socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))


def test_a_unix_socket_in_use_is_left_alone(tmp_path: Path) -> None:
    """Taking it would cut off a running daemon without a word."""
    path = tmp_path / "f.sock"
    (listener,) = bound(f"unix://{path}")
    with listener:
        said = failure_of(f"unix://{path}")
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(path))

    assert f"cannot listen on unix://{path}: it is already in use" in said


def test_a_file_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    """A mistyped path must not cost a file."""
    path = tmp_path / "notes"
    path.write_text("keep")
    said = failure_of(f"unix://{path}")

    assert "no socket" in said
    assert path.read_text() == "keep"


def test_a_link_to_a_socket_is_not_followed(tmp_path: Path) -> None:
    """Only what stands at the path itself may be removed."""
    bound(f"unix://{tmp_path}/real")[0].close()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert "no socket" in failure_of(f"unix://{tmp_path}/link")
    assert (tmp_path / "real").exists()


@pytest.mark.parametrize("path", ["/nowhere/at/all/f.sock", "/" + "x" * 200])
def test_a_path_that_cannot_be_bound_is_said_in_one_line(path: str) -> None:
    """A missing folder, and a path longer than unix(7) allows."""
    with pytest.raises(AddressError) as caught:
        bind(UnixAddress(path))

    assert str(caught.value).startswith(f"cannot listen on unix://{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_withdrawing_removes_the_file_of_a_unix_socket(tmp_path: Path) -> None:
    """Once, and a second time without complaint."""
    address = parse_address(f"unix://{tmp_path}/f.sock")
    bind(address)[0].close()
    mark = mark_of(address)
    withdraw(address, mark)
    withdraw(address, mark)

    assert list(tmp_path.iterdir()) == []


def test_withdrawing_leaves_the_socket_of_another_daemon_alone(tmp_path: Path) -> None:
    """It took the path over while we were still running."""
    address = parse_address(f"unix://{tmp_path}/f.sock")
    ours = bind(address)[0]
    mark = mark_of(address)
    (tmp_path / "f.sock").rename(tmp_path / "ours.sock")
    theirs = bind(address)[0]
    ours.close()
    withdraw(address, mark)
    theirs.close()

    assert (tmp_path / "f.sock").exists()


def test_a_control_socket_is_for_its_owner_and_group(tmp_path: Path) -> None:
    """Socket 0660 in a folder 0750 that is made where it is missing, whatever the umask is."""
    path = tmp_path / "run" / "control.sock"
    before = os.umask(0o077)
    try:
        _, listener = bind_control(str(path))
    finally:
        os.umask(before)
    with listener:
        modes = stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)

    assert modes == (0o660, 0o750)


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """Systemd or a person made it so."""
    tmp_path.chmod(0o711)
    _, listener = bind_control(f"{tmp_path}/control.sock")
    listener.close()

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o711


def test_a_stale_control_socket_is_taken_over_and_a_live_one_is_not(tmp_path: Path) -> None:
    """A killed daemon leaves its file behind; a running one must not lose its socket."""
    path = f"{tmp_path}/control.sock"
    bind_control(path)[1].close()
    _, listener = bind_control(path)
    with listener, pytest.raises(AddressError) as caught:
        bind_control(path)

    assert str(caught.value).endswith("is already in use; stop the process that listens there or choose another with --control-socket")


@pytest.mark.parametrize("name", ["no/such/folder.sock", "file/control.sock", "x" * 200, "file"])
def test_a_control_socket_that_cannot_be_made_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    """A missing folder's missing folder, a file for a folder, a name that is too long, a file in the way: each names path and flag."""
    (tmp_path / "file").write_text("keep")
    path = f"{tmp_path}/{name}"
    with pytest.raises(AddressError) as caught:
        bind_control(path)

    assert str(caught.value).startswith(f"cannot listen on unix://{path}: ")
    assert str(caught.value).endswith("with --control-socket")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
