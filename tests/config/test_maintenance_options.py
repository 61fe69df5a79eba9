"""The maintenance section: who is asked, how often, and what is refused."""

from pathlib import Path

import pytest

from exporter.config.load import load
from exporter.config.maintenance_options import CORDON_TAINT
from exporter.config.mistake import ConfigError
from exporter.config.options import OPTIONS
from exporter.config.schema import Config
from exporter.model.maintenance import SLURM
from exporter.runtime.slurm_node import NODE


def loaded_from(folder: Path, text: str) -> Config:
    """The configuration of a file with this section."""
    (folder / "config.yaml").write_text(f"maintenance: {{{text}}}\n")
    return load(str(folder / "config.yaml")).config


def test_nobody_is_asked_unless_switched_on() -> None:
    """And a cordon alone is no maintenance."""
    config = Config().maintenance

    assert (config.slurm.enabled, config.kubernetes.enabled) == (False, False)
    assert CORDON_TAINT not in config.kubernetes.taints


def test_a_site_may_set_them(tmp_path: Path) -> None:
    """By file; lists of words as lists."""
    config = loaded_from(tmp_path, 'slurm: {enabled: true, interval: 2m, command: [/opt/ask, "{node}"], own_reasons: [AutoTriage, "HC:"]}, '
                                   'kubernetes: {enabled: true, server: "[fd00::1]:6443", taints: [a/b], node: gpu-1.example}')  # fmt: skip

    assert config.maintenance.slurm.interval_s == 120.0
    assert config.maintenance.slurm.command == ("/opt/ask", NODE)
    assert config.maintenance.kubernetes.server == "[fd00::1]:6443"
    assert config.maintenance.kubernetes.taints == ("a/b",)


def test_variables_name_them_too() -> None:
    """As in a pod's manifest."""
    variables = {"FABRIC_MAINTENANCE_KUBERNETES_ENABLED": "true", "FABRIC_MAINTENANCE_KUBERNETES_TAINTS": f"a/b,{CORDON_TAINT}",
                 "FABRIC_MAINTENANCE_SLURM_COMMAND": "ask,{node}"}  # fmt: skip
    config = load(environ=variables).config.maintenance

    assert config.kubernetes.enabled
    assert config.kubernetes.taints == ("a/b", CORDON_TAINT)
    assert config.slurm.command == ("ask", "{node}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("slurm: {interval: 1s}", "maintenance.slurm.interval: expected 30s to 1h, got 1s"),
        ("slurm: {timeout: 1m}", "maintenance.slurm.timeout: expected 1s to 20s, got 1m"),
        ("slurm: {node: --help}", "maintenance.slurm.node: expected the name of one node"),
        ('slurm: {node: "gpu-[1-8]"}', "maintenance.slurm.node: expected the name of one node"),
        ("slurm: {command: scontrol}", "maintenance.slurm.command: "),
        ("kubernetes: {server: 'https://10.0.0.1'}", "maintenance.kubernetes.server: expected "),
        ("kubernetes: {server: ':443'}", "maintenance.kubernetes.server: expected host and port such as 10.96.0.1:443"),
        ("kubernetes: {server: 'unix:///x'}", "maintenance.kubernetes.server: expected host and port such as 10.96.0.1:443"),
        ("kubernetes: {server: 'a:0'}", "maintenance.kubernetes.server: expected host and port such as 10.96.0.1:443"),
        ("kubernets: {}", "maintenance.kubernets"),
    ],
)
def test_a_mistake_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(ConfigError) as caught:
        loaded_from(tmp_path, text)

    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("section", [SLURM, "kubernetes"])
def test_one_origin_cannot_make_the_other_s_word_grow_old(section: str) -> None:
    """Both may take as long as they may, and a word still outlives the pause to the next: they are asked by one thread."""
    bounds = {}
    for name, texts in (("interval", ("30s", "29999ms")), ("timeout", ("20s", "20001ms"))):
        kind = OPTIONS[f"maintenance.{section}.{name}"].kind
        bounds[name] = kind.parse(texts[0])
        with pytest.raises(ValueError, match="expected"):
            kind.parse(texts[1])

    assert 3 * float(str(bounds["interval"])) > float(str(bounds["interval"])) + 2 * float(str(bounds["timeout"]))
