"""The web configuration file in force: read again when it changes, closed while it is wrong, and never quietly more open than before."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import bcrypt
import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.web_file import WebFile
from exporter.config.mistake import ConfigError
from exporter.model.web_security import ClosedError
from tests.certificates import Pair, authority, server_pair

HASH = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
USERS = f"basic_auth_users:\n  ann: {HASH}\n"
TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("pair")
    return server_pair(folder, "server", authority(folder, "ca"))


@pytest.fixture
def file(tmp_path: Path, pair: Pair) -> Path:
    (tmp_path / "server.crt").write_bytes(pair.certificate.read_bytes())
    (tmp_path / "server.key").write_bytes(pair.key.read_bytes())
    return tmp_path / "web.yaml"


def opened(file: Path, text: str) -> WebFile:
    file.write_text(text, encoding="utf-8")
    return WebFile(str(file))


def complaint_about(file: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        opened(file, text)
    return str(caught.value)


def test_users_and_headers_count_from_the_next_request_on(file: Path) -> None:
    """Without a reload; the same file is not parsed again."""
    web_file = opened(file, USERS)
    first = web_file.security()
    same = web_file.security() is first

    file.write_text(USERS + "  bob: " + HASH + "\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n")

    assert same
    assert set(web_file.security().users) == {"ann", "bob"}
    assert web_file.security().headers == (("X-Frame-Options", "deny"),)


@pytest.mark.parametrize("text", ["nonsense", USERS + "  bob: none\n", "", TLS.replace("key_file", "keyfile"), "\xff"])
def test_a_file_that_turns_wrong_lets_nobody_in_until_it_is_right(file: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """It may have been changed to keep somebody out. Said once, not for each request."""
    web_file = opened(file, USERS)
    caplog.set_level(logging.INFO, "fabric_exporter.web")
    file.write_text(text, encoding="latin-1")
    for _ in range(3):
        with pytest.raises(ClosedError):
            web_file.security()
    with pytest.raises(ClosedError):
        web_file.context()
    file.write_text(USERS)

    assert set(web_file.security().users) == {"ann"}
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "every request is refused" in errors[0]
    assert HASH not in caplog.text


def test_a_file_that_is_gone_lets_nobody_in(file: Path) -> None:
    """A Secret that was unmounted is no open door; a pipe in its place holds up nobody."""
    web_file = opened(file, USERS)
    file.unlink()
    with pytest.raises(ClosedError):
        web_file.security()
    os.mkfifo(file)
    with pytest.raises(ClosedError):
        web_file.security()
    file.unlink()
    file.write_text(USERS)

    assert web_file.security().users


def test_what_is_asked_for_may_grow_but_not_vanish(file: Path) -> None:
    """An editor that empties the file before it writes it would open the door for a moment; a restart may open it."""
    web_file = opened(file, "")
    assert web_file.context() is None
    file.write_text(TLS)
    grown = web_file.context()
    file.write_text(TLS + USERS)
    users = web_file.security().users
    closed = []
    for text in ("", TLS, USERS):
        file.write_text(text)
        try:
            web_file.security()
        except ClosedError:
            closed.append(text)
    file.write_text(TLS + USERS)

    assert grown is not None
    assert users
    assert closed == ["", TLS, USERS]
    assert web_file.context() is grown
    assert WebFile(str(file)).has_tls


def test_half_a_certificate_is_logged_once_and_the_one_of_before_serves(file: Path, tmp_path: Path, pair: Pair,
                                                                        caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """And that it is whole again, or another."""
    caplog.set_level(logging.INFO, "fabric_exporter.web")
    web_file = opened(file, TLS)
    first = web_file.context()
    (tmp_path / "server.key").write_text("not yet")

    kept = [web_file.context() for _ in range(3)]
    (tmp_path / "server.key").write_bytes(pair.key.read_bytes())

    assert web_file.context() is first
    assert kept == [first] * 3
    assert [record.getMessage() for record in caplog.records] == [
        (f"certificate not usable: tls_server_config.key_file: {tmp_path}/server.key holds no private key in PEM form ({file}:3); "
         "the certificate of before stays in use"),
        "certificate usable again",
    ]  # fmt: skip


def test_a_new_certificate_is_logged(file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever renews it looks there whether it has come through."""
    caplog.set_level(logging.INFO, "fabric_exporter.web")
    web_file = opened(file, TLS)
    first = web_file.context()
    other = server_pair(tmp_path, "other", authority(tmp_path, "ca"))
    (tmp_path / "server.crt").write_bytes(other.certificate.read_bytes())
    (tmp_path / "server.key").write_bytes(other.key.read_bytes())

    assert web_file.context() is not first
    assert [record.getMessage() for record in caplog.records] == ["new certificate or TLS settings in use"]


def test_a_certificate_that_cannot_be_used_at_the_start_is_a_mistake_with_its_line(file: Path, tmp_path: Path) -> None:
    """The daemon does not start half open."""
    said = complaint_about(file, TLS.replace("server.key", "none.key"))

    assert said == f"tls_server_config.key_file: cannot read {tmp_path}/none.key: No such file or directory ({file}:3)"


def test_a_file_that_cannot_be_read_at_the_start_names_the_option(tmp_path: Path) -> None:
    """Missing, a folder, too large."""
    with pytest.raises(ConfigError) as missing:
        WebFile(str(tmp_path / "none.yaml"))
    with pytest.raises(ConfigError) as folder:
        WebFile(str(tmp_path))
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * 300_000)
    with pytest.raises(ConfigError) as large:
        WebFile(str(huge))

    assert str(missing.value) == f"web.config_file: cannot read {tmp_path}/none.yaml: No such file or directory"
    assert str(folder.value) == f"web.config_file: cannot read {tmp_path}: not a regular file"
    assert str(large.value) == f"web.config_file: {huge} is larger than 256 KiB; is this the right file?"


def test_config_check_finds_mistakes_in_the_web_file_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, with exit 3; `ok` once there are none."""
    file.write_text("basic_auth_users:\n  ann: secret-word\nlogging: {}\n")
    wrong = main(["config", "check", "--web.config.file", str(file)])
    said = capsys.readouterr().err
    file.write_text(TLS + USERS)

    assert wrong == Exit.CONFIGURATION
    assert [line.split(":")[0] for line in said.splitlines()] == ["logging", "basic_auth_users.ann"]
    assert "secret-word" not in said
    assert main(["config", "check", "--web.config.file", str(file)]) == Exit.OK


def test_config_show_shows_the_name_of_the_file_and_nothing_in_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Secrets stay where they are."""
    file.write_text(USERS)

    assert main(["config", "show", "--origin", "--web.config.file", str(file)]) == Exit.OK
    shown = capsys.readouterr().out
    assert str(file) in shown
    assert HASH[7:] not in shown
    assert "ann" not in shown


def test_a_daemon_without_a_web_file_loads_nothing_of_it() -> None:
    """Neither bcrypt nor what reads the file: memory on nodes that belong to somebody's job."""
    wanted = (
        "bcrypt",
        "exporter.cli.web_file",
        "exporter.config.web_file",
        "exporter.config.web_tls",
        "exporter.web.guard",
        "exporter.web.tls",
    )
    script = f"import sys, exporter.cli.run; print([name for name in {wanted} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
