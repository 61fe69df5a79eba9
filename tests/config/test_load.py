"""Precedence, origins, environment and the legal edge cases of a file."""

import importlib.util
from pathlib import Path

import pytest

from exporter.catalog.limits import SERIES_CAP
from exporter.config.load import load
from exporter.config.mistake import ConfigError
from exporter.config.options import OPTIONS
from exporter.config.schema import TIERS, Config
from exporter.model.metric import Tier


def config_file(folder: Path, text: str) -> str:
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def complaint(environ: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        load(environ=environ)
    return str(caught.value)


def test_nothing_given_is_the_defaults() -> None:
    """A bare start needs no file."""
    assert load().config == Config()


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "web:\n", "web:\n  listen_addresses:\n", "null\n", "\ufeff# BOM\n"])
def test_file_that_says_nothing_is_legal(tmp_path: Path, text: str) -> None:
    """A key without a value leaves the default, as a commented-out block does."""
    assert load(config_file(tmp_path, text)).config == Config()


def test_flag_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    """Each layer hides the ones below it, option by option."""
    file = config_file(tmp_path, "logging: {level: debug, format: json}\nexposition: {tier: full}\n")

    loaded = load(file, {"FABRIC_LOGGING_LEVEL": "warning", "FABRIC_LOGGING_FORMAT": "logfmt"}, {"logging.level": ("error",)})

    config = loaded.config
    assert (config.logging.level, config.logging.format, config.exposition.tier) == ("error", "logfmt", "full")


def test_each_value_remembers_where_it_came_from(tmp_path: Path) -> None:
    """The answer to: who set this?"""
    file = config_file(tmp_path, "exposition:\n  tier: full\n")

    origins = load(file, {"FABRIC_LOGGING_FORMAT": "json"}, {"logging.level": ("error",)}).origins

    expected = {"exposition.tier": f"{file}:2", "logging.format": "FABRIC_LOGGING_FORMAT", "logging.level": "--log.level",
                "state.dir": "default"}  # fmt: skip
    assert {path: origins[path] for path in expected} == expected


def test_origins_name_every_option() -> None:
    """No value without an origin."""
    assert list(load().origins) == list(OPTIONS)


def test_mistake_in_a_value_that_a_flag_overrides_is_still_reported(tmp_path: Path) -> None:
    """A broken file is broken, whatever the flags of today hide."""
    file = config_file(tmp_path, "logging:\n  level: loud\n")

    with pytest.raises(ConfigError, match=r"logging\.level"):
        load(file, {}, {"logging.level": ("error",)})


def test_mistakes_of_all_layers_are_reported_together(tmp_path: Path) -> None:
    """One round of corrections, not three."""
    file = config_file(tmp_path, "logging:\n  level: loud\n")

    with pytest.raises(ConfigError) as caught:
        load(file, {"FABRIC_EXPOSITION_TIER": "all"}, {"web.telemetry_path": ("x",)})

    assert [mistake.where for mistake in caught.value.mistakes] == [f"{file}:2", "FABRIC_EXPOSITION_TIER", "--web.telemetry-path"]


def test_variable_lists_are_separated_by_commas() -> None:
    """A comma within a pattern's braces belongs to the pattern."""
    environ = {"FABRIC_WEB_LISTEN_ADDRESS": ":1, [::1]:2", "FABRIC_SOURCES_INFINIBAND_EXCLUDE": "mlx5_[0-9]{1,2},ib0"}

    config = load(environ=environ).config

    assert (config.web.listen_addresses, config.sources.infiniband.exclude) == ((":1", "[::1]:2"), ("mlx5_[0-9]{1,2}", "ib0"))


def test_empty_variable_is_as_good_as_none() -> None:
    """Container files set variables to nothing."""
    assert load(environ={"FABRIC_LOGGING_LEVEL": ""}).config == Config()


def test_duration_comes_out_in_seconds() -> None:
    """Base units inside."""
    assert load(environ={"FABRIC_SOURCES_INFINIBAND_FAST_INTERVAL": "100ms"}).config.sources.infiniband.fast_interval_s == 0.1


def test_mistyped_variable_is_an_error_with_the_nearest_name() -> None:
    """A variable that silently does nothing is the worst configuration."""
    expected = "FABRIC_LOGGING_LEVLE: unknown variable; did you mean FABRIC_LOGGING_LEVEL? (environment)"

    assert complaint({"FABRIC_LOGGING_LEVLE": "debug"}) == expected


def test_variable_cannot_simulate() -> None:
    """A daemon started without --simulate never invents data, whatever it inherits."""
    assert complaint({"FABRIC_SIMULATE_PROFILE": "hgx-h100"}).startswith("simulate.profile: can only be given as --simulate")


@pytest.mark.parametrize("name", ["FABRIC_MANAGER_HOME", "FABRIC_TEST_DATA", "FABRIC_NO_SKIP", "FABRIC_DEBUG", "FABRIC_CONFIG",
                                  "FABRIC_EXPORTER_SERVICE_HOST", "FABRIC_EXPORTER_PORT_29100_TCP_ADDR", "FABRIC_WEB_PORT",
                                  "FABRIC_WEB_SERVICE_PORT_HTTP"])  # fmt: skip
def test_variables_of_others_are_let_be(name: str) -> None:
    """NVIDIA's tools, our test suite, and what Kubernetes injects for a Service called fabric-…."""
    assert load(environ={name: "x"}).config == Config()


def test_last_of_a_repeated_single_flag_wins() -> None:
    """As everywhere on a command line."""
    assert load(flags={"logging.level": ("debug", "error")}).config.logging.level == "error"


def test_two_addresses_with_a_port_of_the_kernels_choice_are_no_conflict() -> None:
    """Port 0 is another port each time."""
    assert load(flags={"web.listen_addresses": ("127.0.0.1:0", "127.0.0.1:0")}).config.web.listen_addresses == ("127.0.0.1:0",) * 2


def test_config_error_of_two_arguments_is_one_line() -> None:
    """What other parts of the house raise."""
    assert str(ConfigError("web.listen_addresses", "port 29100 is in use")) == "web.listen_addresses: port 29100 is in use"


def test_each_source_has_its_own_intervals_and_devices() -> None:
    """What is said of one source is not said of another."""
    environ = {"FABRIC_SOURCES_ETHERNET_NORMAL_INTERVAL": "30s", "FABRIC_SOURCES_PCIE_ENABLED": "false"}

    sources = load(environ=environ, flags={"sources.pcie.exclude": ("gpu7",)}).config.sources

    assert (sources.infiniband.normal_interval_s, sources.ethernet.normal_interval_s, sources.pcie.normal_interval_s) == (15, 30, 15)
    assert (sources.infiniband.enabled, sources.ethernet.enabled, sources.pcie.enabled) == (True, True, False)
    assert (sources.infiniband.exclude, sources.ethernet.exclude, sources.pcie.exclude) == ((), (), ("gpu7",))


def test_tier_words_are_those_of_the_model() -> None:
    """The config package imports nothing of ours, so the words stand twice; here they are held together."""
    assert tuple(tier.name.lower() for tier in Tier) == TIERS


def test_series_cap_is_that_of_the_limits() -> None:
    """The same for the cap."""
    assert Config().exposition.series_cap == SERIES_CAP


def test_the_kubelets_socket_without_its_packages_is_refused_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At start, and not with the first pass; a source that is off needs nothing."""
    file = config_file(tmp_path, "jobs:\n  pod_resources: /var/lib/kubelet/pod-resources/kubelet.sock\n")
    there = load(file).config.jobs.pod_resources
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    with pytest.raises(ConfigError) as caught:
        load(file)
    off = load(file, {"FABRIC_JOBS_ENABLED": "false"}).config.jobs

    assert there == off.pod_resources == "/var/lib/kubelet/pod-resources/kubelet.sock"
    assert str(caught.value) == (
        "jobs.pod_resources: the kubelet's socket needs the packages grpcio and protobuf: "
        f"pip install 'fabric-exporter[kubernetes]' ({file}:2)"
    )


@pytest.mark.parametrize("missing", ["grpc", "google", "google.protobuf"])
def test_one_of_the_two_packages_is_not_enough(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even another package of Google's is installed, looking for the second raises."""
    there = importlib.util.find_spec

    def find_spec(name: str) -> object:
        if name == missing or name.startswith(f"{missing}."):
            if missing == "google":
                raise ModuleNotFoundError(name)
            return None
        return there(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)

    assert "fabric-exporter[kubernetes]" in complaint({"FABRIC_JOBS_POD_RESOURCES": "/kubelet.sock"})
