"""Properties: what is dumped loads to equal; no text, however odd, ends in anything but a ConfigError."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from exporter.config.dump import dump
from exporter.config.duration import format_duration, parse_duration
from exporter.config.layers import file_layer
from exporter.config.load import load
from exporter.config.mistake import ConfigError
from exporter.config.options import OPTIONS, names_in
from exporter.config.schema import Config
from exporter.config.yaml_lines import parse

NAMES = sorted({*names_in(""), *(name for path in OPTIONS for name in path.split("."))})
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["5s", ":1", "full", "a("])
TREES = st.recursive(
    SCALARS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), children, max_size=4),
    max_leaves=20,
)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["C"]), min_size=1, max_size=40).filter(str.strip)
YAML_MARKS = (": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", "&a ", "*a", "!!str ", "? ", "|", ">", "'", '"', "#", "%", "---", "...",
              "\t", "\\U", "FFFFFFFF", "\\ud800", "%YAML 1.", "9" * 5000, "\ufeff", "<<", "~", "5s", "\r", "\x85")  # fmt: skip
YAML_PIECES = st.lists(st.sampled_from([*NAMES, *YAML_MARKS]), max_size=40).map("".join)


def load_text(text: str | bytes) -> Config | None:
    """The configuration of a file with this content, None if refused; anything but a ConfigError comes through."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        try:
            return load(str(file)).config
        except ConfigError as error:
            str(error).encode()
            return None


def test_dumped_defaults_load_to_equal() -> None:
    """`config show > file` changes nothing."""
    assert load_text(dump(Config())) == Config()


def test_dumped_defaults_with_comments_load_to_equal() -> None:
    """Nor do the comments of --origin."""
    assert load_text(dump(Config(), dict.fromkeys(OPTIONS, 'a "file\n# with": odd name'))) == Config()


@given(TEXTS, st.integers(min_value=100, max_value=86_400_000), st.lists(TEXTS.map(re.escape), max_size=3))
def test_dumped_values_load_to_equal(text: str, interval_ms: int, patterns: list[str]) -> None:
    """Any text, any interval, any patterns."""
    config = load(flags={"state.dir": (text,), "sources.infiniband.slow_interval": (format_duration(interval_ms / 1000),),
                         "sources.infiniband.normal_interval": ("100ms",), "sources.infiniband.fast_interval": ("100ms",),
                         "sources.infiniband.include": tuple(patterns)}).config  # fmt: skip

    assert load_text(dump(config)) == config


@given(st.integers(min_value=0, max_value=10**12))
def test_duration_survives_writing_and_reading(duration_ms: int) -> None:
    """parse∘format is identity on whole milliseconds."""
    assert parse_duration(format_duration(duration_ms / 1000)) == duration_ms / 1000


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    """A wrong file is a complaint."""
    load_text(content)


@given(st.text(max_size=200) | YAML_PIECES)
def test_any_text_is_read_or_refused(text: str) -> None:
    """So is a text that almost is YAML."""
    load_text(text)


@given(TREES)
def test_any_tree_is_read_or_refused(tree: object) -> None:
    """So is YAML of the wrong shape."""
    load_text(json.dumps(tree))


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=10), max_size=4))
def test_file_layer_gives_only_known_options(tree: dict[str, str]) -> None:
    """What is not an option never gets in."""
    try:
        layer = file_layer(parse(json.dumps(tree), "config.yaml"), "config.yaml")
    except ConfigError:
        return

    assert set(layer.given) <= set(OPTIONS)


@given(
    st.dictionaries(
        st.text(max_size=10).map(lambda text: "FABRIC_" + text) | st.sampled_from([option.variable for option in OPTIONS.values()]),
        st.text(max_size=20),
        max_size=4,
    )
)
def test_any_environment_is_read_or_refused(environ: dict[str, str]) -> None:
    """Variables come from anywhere."""
    try:
        load(environ=environ)
    except ConfigError as error:
        str(error).encode()
