"""The pages on deployment say nothing that is not so: files, commands, variables, series, figures and links; what can be run is run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter.catalog import CATALOGUE
from exporter.cli.verbs import VERBS, leaves, options_of, parser_of
from exporter.config.options import OPTIONS
from helm.values_file import read, values
from tests.deploy.unit_files import FOLDER, exposure, lay_out
from tests.real.daemon import command, environment
from tests.requires import need

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / f"docs/deploy-{name}.md").read_text(encoding="utf-8") for name in ("systemd", "container", "kubernetes", "slurm")}
SECTIONS = ("Sizing", "Upgrade", "Uninstall", "Troubleshooting", "Permissions, and what is lost without each")
EACH_PAGE = pytest.mark.parametrize("page", sorted(PAGES))


def blocks(page: str, language: str) -> list[str]:
    """Its code blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)


@EACH_PAGE
def test_each_page_has_what_an_operator_looks_for(page: str) -> None:
    """From the first step to the last."""
    headings = re.findall(r"^## (.+)$", PAGES[page], re.MULTILINE)

    assert [section for section in SECTIONS if section not in headings] == []


@EACH_PAGE
def test_each_command_exists_with_its_flags(page: str) -> None:
    """In code and in running text."""
    lines = re.findall(rf"(?<![\w/.-])fabric-exporter ((?:{'|'.join(VERBS)})\b[^`\n|>;)]*)", PAGES[page])
    assert lines
    for line in lines:
        verb, *words = line.partition(" #")[0].split()
        known = {option for leaf in leaves(parser_of(verb)[0]) for option in options_of(leaf)}
        assert [word for word in words if re.match(r"--[a-z]", word) and word.partition("=")[0] not in known] == [], line


@EACH_PAGE
def test_each_variable_and_option_exists(page: str) -> None:
    """FABRIC_… and dotted paths of the configuration."""
    variables = set(re.findall(r"\bFABRIC_[A-Z_]*[A-Z]\b", PAGES[page]))
    paths = set(re.findall(r"`((?:web|state|sources|jobs|recorder|control|maintenance)\.[a-z_.]*[a-z])`", PAGES[page]))

    assert variables - {option.variable for option in OPTIONS.values()} - {"FABRIC_CONFIG"} == set()
    assert paths - set(OPTIONS) - {".".join(value.path) for value in values(read())} == set()


@EACH_PAGE
def test_each_series_is_in_the_catalogue(page: str) -> None:
    """A name that ends in `*` is a family's beginning."""
    names = {row.name for row in CATALOGUE.values()}
    whole = set(re.findall(r"\bfabric_[a-z_]*[a-z]\b(?!\*|_\*)", PAGES[page]))
    families = set(re.findall(r"\b(fabric_[a-z_]+_)\*", PAGES[page]))

    assert whole - names == set()
    assert [family for family in families if not any(name.startswith(family) for name in names)] == []


@EACH_PAGE
def test_each_file_of_the_repository_that_is_named_is_there(page: str) -> None:
    """Below systemd/, and drop-ins and scripts by their own name."""
    globs = set(re.findall(r"(?<![\w/])systemd/[\w./*-]+", PAGES[page]))
    names = set(re.findall(r"`([\w-]+\.(?:conf|sh))\b", PAGES[page])) - {"slurm.conf"}

    assert [name for name in globs if not list(ROOT.glob(name))] == []
    assert [name for name in names if not list(FOLDER.rglob(name))] == []


@EACH_PAGE
def test_each_link_leads_somewhere(page: str) -> None:
    """To a page, and to a heading of it."""
    for target, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", PAGES[page]):
        text = (ROOT / "docs" / target).read_text(encoding="utf-8") if target else PAGES[page]
        headings = [re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert not anchor or anchor in headings, f"{target}#{anchor}"


@EACH_PAGE
def test_every_shell_block_is_sh(page: str) -> None:
    """A real shell parses it."""
    for block in blocks(page, "sh"):
        done = subprocess.run(
            [need("sh", "apt-get install dash"), "-n"], input=block, capture_output=True, text=True, timeout=20, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), block


def test_every_drop_in_and_script_is_on_a_page() -> None:
    """Who installs by the page finds them all."""
    text = "\n".join(PAGES.values())

    assert [path.name for path in FOLDER.rglob("*.*") if path.is_file() and path.name not in text] == []


def test_the_exposures_on_the_page_are_the_real_ones(tmp_path: Path) -> None:
    """As systemd 252 counts; a later one may count anew, and then no more than is promised elsewhere."""
    version = subprocess.run([need("systemd-analyze", "apt-get install systemd"), "--version"], capture_output=True, text=True, timeout=20,
                             check=True).stdout.split()[1]  # fmt: skip
    claimed = re.findall(r"drop-in `([\w-]+\.conf)`, exposure ([0-9.]+)", PAGES["systemd"])
    real = [(name, f"{exposure(lay_out(tmp_path / name, [FOLDER / 'drop-ins' / name])):.1f}") for name, _ in claimed]
    alone = exposure(lay_out(tmp_path / "alone"))

    assert len(claimed) == 3
    if version == "252":
        assert real == claimed
        assert f"an exposure score of {alone:.1f} " in PAGES["systemd"]


def test_the_prometheus_of_the_page_takes_the_rules_that_ship(tmp_path: Path) -> None:
    """Its promtool reads the configuration, and the rules that `assets export` writes where the page puts them."""
    (config,) = blocks("systemd", "yaml")
    subprocess.run([*command("assets", "export"), f"--dir={tmp_path / 'fabric-assets'}"], env=environment(), check=True, timeout=60,
                   capture_output=True)  # fmt: skip
    place = tmp_path / "etc"
    place.mkdir()
    for path in (tmp_path / "fabric-assets/prometheus").glob("*.rules.yaml"):
        shutil.copy(path, place)
    (tmp_path / "prometheus.yml").write_text(config.replace("/etc/prometheus/fabric-exporter", str(place)))

    done = subprocess.run([need("promtool", "apt-get install prometheus"), "check", "config", str(tmp_path / "prometheus.yml")],
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "rules found" in done.stdout


def test_the_slurm_page_s_own_steps_install_scripts_that_run(tmp_path: Path) -> None:
    """Its first block, below a root of the test's own; the prolog at its end lets a job start on this machine."""
    steps = blocks("slurm", "sh")[0].replace("/usr/local/libexec", f"{tmp_path}/libexec").replace("/etc/default", f"{tmp_path}/default")
    (tmp_path / "default").mkdir()
    env = {**environment(), "GPU_JOBS": f"{tmp_path}/jobs", "FABRIC_CONTROL_SOCKET": f"{tmp_path}/none.sock", "WINDOW": "100ms",
           "FABRIC_STATE_DIR": f"{tmp_path}/state", "FABRIC_SOURCES_SYSFS_ROOT": f"{tmp_path}/sys", "PATH": bin_path()}  # fmt: skip
    (tmp_path / "sys").mkdir()

    done = subprocess.run(["sh", "-e", "-c", steps], cwd=ROOT, env=env, capture_output=True, text=True, timeout=90, check=True)

    assert done.stdout.splitlines()[-1] == "0"
    assert sorted(path.name for path in (tmp_path / "libexec/fabric-exporter").iterdir()) == sorted(
        path.name for path in (FOLDER / "slurm").glob("*.sh")
    )


def bin_path() -> str:
    """With the program as it is installed for the tests."""
    return f"{Path(command()[0]).parent}:/usr/bin:/bin"
