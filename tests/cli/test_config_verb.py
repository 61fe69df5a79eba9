"""`config check` and `config show`, and the flags shared by the verbs."""

from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.config.load import load
from exporter.config.options import OPTIONS


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.delenv("FABRIC_CONFIG", raising=False)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text("logging:\n  level: debug\n")
    return file


def test_check_says_ok(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit 0."""
    assert main(["config", "check", str(config_file)]) == Exit.OK
    assert capsys.readouterr().out == f"{config_file}: ok\n"


def test_check_takes_the_file_as_a_flag_too(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the daemon does."""
    assert main(["config", "check", "--config", str(config_file)]) == Exit.OK
    assert capsys.readouterr().out == f"{config_file}: ok\n"


def test_check_takes_the_file_from_the_environment(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """FABRIC_CONFIG, for containers."""
    monkeypatch.setenv("FABRIC_CONFIG", str(config_file))

    assert main(["config", "check"]) == Exit.OK
    assert capsys.readouterr().out == f"{config_file}: ok\n"


def test_check_prints_each_mistake_on_one_line_and_exits_3(config_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them at once, on stderr."""
    config_file.write_text("loging: {}\nstate: {dirr: /x}\n")

    assert main(["config", "check", str(config_file)]) == Exit.CONFIGURATION
    assert capsys.readouterr().err == (
        f"loging: unknown key; did you mean logging? ({config_file}:1)\nstate.dirr: unknown key; did you mean dir? ({config_file}:2)\n"
    )


def test_bad_flag_value_is_a_configuration_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """The same words as for the file, with the flag as its place."""
    assert main(["config", "check", "--log.level=loud"]) == Exit.CONFIGURATION
    assert capsys.readouterr().err == 'logging.level: expected debug, info, warning or error, got "loud" (--log.level)\n'


def test_show_prints_what_loads_to_the_same(config_file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The output is a configuration file."""
    main(["config", "show", str(config_file)])
    shown = tmp_path / "shown.yaml"
    shown.write_text(capsys.readouterr().out)

    assert load(str(shown)).config == load(str(config_file)).config


def test_show_origin_says_where_each_value_came_from(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """File and line, variable, flag, default."""
    monkeypatch.setenv("FABRIC_EXPOSITION_TIER", "full")
    main(["config", "show", "--origin", "--log.format", "json", str(config_file)])

    lines = capsys.readouterr().out.splitlines()
    expected = {f"  level: debug  # {config_file}:2", "  format: json  # --log.format", "  tier: full  # FABRIC_EXPOSITION_TIER",
                "  series_cap: 30000  # default"}  # fmt: skip
    assert expected <= set(lines)


FLAGS = {
    "--web.listen-address=:1": "listen_addresses: [\":1\"]", "--web.telemetry-path=/m": "telemetry_path: /m",
    "--web.health-address=:2": "health_address: \":2\"", "--web.disable-exporter-metrics": "exporter_metrics: false",
    "--sysfs-root=/host/sys": "sysfs_root: /host/sys", "--procfs-root=/host/proc": "procfs_root: /host/proc",
    "--state-dir=/tmp/s": "dir: /tmp/s", "--exposition.tier=basic": "tier: basic", "--log.level=error": "level: error",
    "--log.format=json": "format: json", "--simulate=hgx-h100": "# --simulate hgx-h100",
    "--sources.infiniband.include=mlx5_.*": "include: [\"mlx5_.*\"]", "--sources.infiniband.exclude=ib0": "exclude: [ib0]",
}  # fmt: skip


@pytest.mark.parametrize(("flag", "line"), FLAGS.items())
def test_each_shared_flag_sets_its_option(flag: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The flag's name and the option's are held together by one table."""
    assert main(["config", "show", flag]) == Exit.OK
    assert line in [shown.strip() for shown in capsys.readouterr().out.splitlines()]


def test_listen_address_is_repeatable(capsys: pytest.CaptureFixture[str]) -> None:
    """Given twice, both are kept in order."""
    main(["config", "show", "--web.listen-address=:1", "--web.listen-address", "[::1]:2"])

    assert '  listen_addresses: [":1", "[::1]:2"]' in capsys.readouterr().out.splitlines()
