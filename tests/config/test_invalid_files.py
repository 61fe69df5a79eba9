"""One file per mistake; its first comment lines are the complaint, word for word."""

from pathlib import Path

import pytest

from exporter.config.load import load
from exporter.config.mistake import ConfigError
from exporter.config.yaml_lines import DEPTH_MAX, SIZE_MAX_BYTES

HERE = Path(__file__).parent


def expected_message(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    head = lines[: next(index for index, line in enumerate(lines) if not line.startswith("# "))]
    return "\n".join(line.removeprefix("# ") for line in head)


def complaint_about(file: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(file.name for file in HERE.glob("invalid-*.yaml")))
def test_each_mistake_is_named_with_its_path_and_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The complaint is exactly the file's head: option, problem, nearest name, line."""
    monkeypatch.chdir(HERE)

    assert complaint_about(name) == expected_message(HERE / name)


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    """A file that is not there is said to be not there."""
    file = str(tmp_path / "none.yaml")

    assert complaint_about(file) == f"{file}: cannot be read: No such file or directory"


def test_directory_in_place_of_the_file_is_one_line(tmp_path: Path) -> None:
    """A mounted ConfigMap that lacks its key appears as a folder."""
    assert complaint_about(str(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory"


def test_text_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    """Latin-1 from an old editor."""
    file = tmp_path / "latin1.yaml"
    file.write_bytes(b"web:\n  telemetry_path: /m\xe9trics\n")

    assert complaint_about(str(file)) == f"{file}: not UTF-8 text; save the file as UTF-8 ({file}:2)"


def test_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    """A log or a device given by accident costs a bounded read."""
    file = tmp_path / "huge.yaml"
    file.write_bytes(b"#" * (SIZE_MAX_BYTES + 1))

    assert complaint_about(str(file)) == f"{file}: larger than 256 KiB; is this the right file?"


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_refused(tmp_path: Path, opening: str) -> None:
    """PyYAML's own composer would end in a RecursionError here."""
    file = tmp_path / "deep.yaml"
    file.write_text(opening * 50_000)

    assert complaint_about(str(file)) == f"{file}: nested deeper than {DEPTH_MAX} levels ({file}:1)"


def test_binary_file_is_one_line(tmp_path: Path) -> None:
    """Bytes that YAML forbids are a complaint, not a crash."""
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"web:\n  a: \x00\x01\x02\n")

    assert complaint_about(str(file)) == f"{file}: not valid YAML: special characters are not allowed ({file}:2)"


def test_long_key_is_cut_in_the_complaint(tmp_path: Path) -> None:
    """A pasted file as a key does not fill the screen."""
    file = tmp_path / "long.yaml"
    file.write_text(f'? "{"x" * 5000}"\n: 1\n')

    assert len(complaint_about(str(file))) < 300 + len(str(file))


def test_wrong_file_is_given_up_after_a_hundred_mistakes(tmp_path: Path) -> None:
    """A YAML file of another program does not scroll the point away."""
    file = tmp_path / "other.yaml"
    file.write_text("".join(f"key{number}: 1\n" for number in range(5000)))

    lines = complaint_about(str(file)).splitlines()
    assert len(lines) == 101
    assert lines[-1] == f"{file}: 100 mistakes so far; is this the right file?"


def test_no_complaint_carries_a_terminal_escape(tmp_path: Path) -> None:
    """A hostile file cannot paint the terminal of who checks it."""
    file = tmp_path / "escape.yaml"
    file.write_text('"\\e[31mweb": 1\nstate: {dir: ["\\e[31m"]}\nlogging: {level: "\\e[31m"}\n')

    assert "\x1b" not in complaint_about(str(file))
