"""What Slurm says of the node, by a scontrol that is a program of the test."""

import time
from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.model.maintenance import Claim
from exporter.runtime.clock import SystemClock
from exporter.runtime.origin import OriginError
from exporter.runtime.slurm_node import SlurmNode
from tests.runtime.fake_scontrol import DRAINED, DRAINED_JSON, IDLE, REFUSES_JSON, FakeScontrol, on_path
from tests.runtime.fakes import PATIENCE_S

SAID_IN_TEXT = Claim("slurm", "swap optics [root@2026-03-01T09:00:00]")


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScontrol:
    """On the PATH."""
    return on_path(tmp_path, monkeypatch)


def slurm(timeout_s: float = PATIENCE_S, command: tuple[str, ...] = (), own_reasons: tuple[str, ...] = ()) -> SlurmNode:
    """Of node gpu-1."""
    return SlurmNode("gpu-1", 60.0, timeout_s, SystemClock(), command, own_reasons)


def failure(origin: SlurmNode) -> OriginError:
    """Why it claims nothing."""
    with pytest.raises(OriginError) as caught:
        origin.ask()
    assert "\n" not in caught.value.detail
    return caught.value


def test_json_is_asked_for_first(scontrol: FakeScontrol) -> None:
    """One call is enough where this scontrol prints it."""
    scontrol.prints(DRAINED_JSON)

    assert slurm().ask() == Claim("slurm", "swap optics")
    assert scontrol.calls == ["show node gpu-1 --json"]


def test_an_older_scontrol_is_asked_for_text_from_then_on(scontrol: FakeScontrol) -> None:
    """Its refusal is no failure."""
    scontrol.prints(DRAINED, before=REFUSES_JSON)
    origin = slurm()
    claims = [origin.ask(), origin.ask()]

    assert claims == [SAID_IN_TEXT, SAID_IN_TEXT]
    assert scontrol.calls == ["show node gpu-1 --json", "show node gpu-1", "show node gpu-1"]


def test_a_controller_that_is_away_does_not_make_scontrol_old(scontrol: FakeScontrol) -> None:
    """JSON is asked for again."""
    scontrol.does("echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n")
    origin = slurm()
    error = failure(origin)
    scontrol.prints(DRAINED_JSON)

    assert error.reason is Reason.IO
    assert error.detail.startswith('scontrol ended with exit status 1: "slurm_load_node error: Unable to contact slurm controller')
    assert origin.ask() == Claim("slurm", "swap optics")


def test_an_idle_node_is_not_in_maintenance(scontrol: FakeScontrol) -> None:
    """An answer, and no claim."""
    scontrol.prints(IDLE)

    assert slurm().ask() is None


@pytest.mark.parametrize("reason", ["Kill task failed", "gres/gpu count reported lower than configured (7 < 8)", "fabric-exporter: down"])
def test_a_drain_that_a_fault_made_is_no_maintenance(reason: str, scontrol: FakeScontrol) -> None:
    """Its alert must ring."""
    scontrol.prints(DRAINED.replace("swap optics", reason))

    assert slurm().ask() is None


def test_nor_one_that_a_program_of_the_site_made(scontrol: FakeScontrol) -> None:
    """As configured."""
    scontrol.prints(DRAINED.replace("swap optics", "AutoTriage #17"))

    assert slurm(own_reasons=("autotriage",)).ask() is None
    assert slurm().ask() == Claim("slurm", "AutoTriage #17 [root@2026-03-01T09:00:00]")


def test_a_slow_scontrol_is_killed_by_the_deadline(scontrol: FakeScontrol) -> None:
    """Both forms share it; text is not asked for where JSON took it all."""
    scontrol.does("sleep 1000\n")
    began_s = time.monotonic()
    error = failure(slurm(timeout_s=0.5))

    assert error.reason is Reason.TIMEOUT
    assert time.monotonic() - began_s < PATIENCE_S
    assert len(scontrol.calls) == 1


@pytest.mark.parametrize("text", ["", "garbage\n", "NodeName=gpu-2 State=DRAIN\n", '{"nodes": []}\n', "{\n"])
def test_an_answer_that_says_nothing_of_the_node_is_a_failure(text: str, scontrol: FakeScontrol) -> None:
    """Not the news that nobody works on it."""
    scontrol.prints(text)
    error = failure(slurm())

    assert error.reason is Reason.PARSE
    assert error.detail.startswith("what scontrol prints makes no sense: it ")


def test_without_scontrol_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon whose PATH does not lead there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failure(slurm())

    assert (error.reason, error.detail) == (Reason.ABSENT, "there is no command scontrol on this daemon's PATH")


def test_a_site_names_its_own_command(scontrol: FakeScontrol) -> None:
    """Word by word, with the node's name where the site wants it; scontrol is not asked."""
    scontrol.prints(IDLE)

    assert slurm(command=("echo", "State=MAINT Reason=window of {node}; $(reboot)")).ask() == Claim("slurm", "window of gpu-1; $(reboot)")
    assert scontrol.calls == []
