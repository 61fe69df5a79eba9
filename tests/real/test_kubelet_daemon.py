"""The daemon and a kubelet's pod-resources socket: a real process, a real gRPC server, and pods on the page."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.machine import Samples, parsed
from tests.nvml_library import FakeDriver, profile
from tests.nvml_library.scenario import Value
from tests.real.daemon import DaemonProcess, daemon
from tests.real.listener import poll
from tests.sources.kubelet import Kubelet, answering, claim, container, devices, listed, pod

BOUND_S = 60.0
UID = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566"
JOBS = """
sources:
  infiniband: {{enabled: false}}
  ethernet: {{enabled: false}}
  pcie: {{enabled: false}}
  kernel_log: {{enabled: false}}
  gpudirect: {{enabled: false}}
  nvlink: {{fast_interval: 1s, normal_interval: 1s, slow_interval: 1s}}
jobs: {{interval: 1s, processes: false, pod_logs_dir: {logs}{more}}}
"""


def options(folder: Path, *, asks: bool = True) -> list[str]:
    """A daemon that looks for jobs every second, by the kubelet alone if it `asks` one."""
    more = f", pod_resources: {folder / 'kubelet.sock'}" if asks else ""
    (folder / "quick.yaml").write_text(JOBS.format(logs=folder / "logs", more=more))
    return [f"--config={folder / 'quick.yaml'}"]


def pods(samples: Samples) -> set[tuple[str, ...]]:
    """(GPU, job id, namespace, pod, container) of every job on the page."""
    names = ("device", "job_id", "workload_namespace", "workload_pod", "workload_container")
    found = [dict(labels) for name, labels in samples if name == "fabric_gpu_job_info"]
    assert all(labels["scheduler"] == "kubernetes" for labels in found)
    return {tuple(labels[name] for name in names) for labels in found}


def wait_for(running: DaemonProcess, expected: set[tuple[str, ...]]) -> None:
    """Until the page shows exactly these jobs."""
    seen: list[set[tuple[str, ...]]] = [set()]

    def look() -> bool | None:
        seen[0] = pods(parsed(running.get("/metrics")))
        return seen[0] == expected or None

    try:
        poll(look, BOUND_S, "the jobs")
    except TimeoutError:
        assert seen[0] == expected


def uuids(running: DaemonProcess) -> Mapping[str, str]:
    """UUID of each GPU by its name, as the page tells."""

    def look() -> Mapping[str, str] | None:
        infos = [dict(labels) for name, labels in parsed(running.get("/metrics")) if name == "fabric_gpu_info"]
        return {labels["device"]: labels["uuid"] for labels in infos} or None

    return poll(look, BOUND_S, "the GPUs")


def faults(running: DaemonProcess) -> set[str]:
    """Reasons for which the jobs source has missed anything so far."""
    labels = [dict(pairs) for name, pairs in parsed(running.get("/metrics")) if name == "fabric_exporter_source_faults_total"]
    return {one["reason"] for one in labels if one["source"] == "jobs"}


def test_a_simulated_node_shows_the_pods_of_its_gpus(tmp_path: Path) -> None:
    """Two pods share a GPU, one has two; a uid where the kubelet's folders of logs tell it."""
    (tmp_path / f"logs/pods/batch_worker-0_{UID}/trainer").mkdir(parents=True)
    with Kubelet(tmp_path / "kubelet.sock") as kubelet, daemon(tmp_path, ["--simulate=hgx-h100", *options(tmp_path)]) as running:
        gpus = uuids(running)
        kubelet.answer = listed(
            pod("batch", "worker-0", container("trainer", devices("nvidia.com/gpu", gpus["gpu0"], gpus["gpu5"]))),
            pod("web", "llm-7f", container("server", devices("nvidia.com/gpu.shared", f"{gpus['gpu5']}::1"))),
            pod("web", "claimed", container("server", claim("gpu.nvidia.com", "gpu-3"))),
            pod("kube-system", "dns", container("dns")),
        )
        worker = (UID, "batch", "worker-0", "trainer")
        wait_for(running, {("gpu0", *worker), ("gpu5", *worker), ("gpu5", "web/llm-7f", "web", "llm-7f", "server"),
                           ("gpu3", "web/claimed", "web", "claimed", "server")})  # fmt: skip
        kubelet.answer = b""
        wait_for(running, set())

    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A board with a partitioned GPU; the daemon's child finds the stand-in of the library by this process's environment."""
    parts: dict[str, Value] = {"g2.mig": 1, "g2.mig_uuids": ("MIG-1111", "MIG-2222")}
    made = FakeDriver(tmp_path / "driver").write({**profile("mixed-mig"), **parts})
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    return made


def test_mig_devices_a_kubelet_that_hangs_and_one_that_comes_back(tmp_path: Path, driver: FakeDriver) -> None:
    """Two pods on one partitioned GPU, made known by the driver. A kubelet that is stopped takes its pods along, and the next one brings
    them back over a socket of its own; while it hangs, scrapes and everything else go on."""
    (tmp_path / "sys").mkdir()
    answer = listed(pod("a", "one", container("c", devices("nvidia.com/mig-1g.10gb", "MIG-1111"))),
                    pod("a", "two", container("c", devices("nvidia.com/mig-1g.10gb", "MIG-2222::3"))))  # fmt: skip
    expected = {("gpu2", f"a/{name}", "a", name, "c") for name in ("one", "two")}
    arguments = [f"--nvml-library={driver.library}", f"--sysfs-root={tmp_path / 'sys'}", *options(tmp_path)]
    with daemon(tmp_path, arguments) as running:
        poll(lambda: "absent" in faults(running) or None, BOUND_S, "no kubelet yet")
        with answering(tmp_path / "kubelet.sock", answer):
            wait_for(running, expected)
        wait_for(running, set())
        with answering(tmp_path / "kubelet.sock", answer) as kubelet:
            wait_for(running, expected)
            kubelet.hangs = True
            wait_for(running, set())
            assert len(uuids(running)) == 8
            assert "timeout" in faults(running)

    assert running.process.returncode == 0
    log = running.log.read_text()
    assert [said for said in ("is not there: the kubelet", "did not answer within 1 s") if said not in log] == []


def test_a_daemon_that_is_not_told_of_a_kubelet_does_not_load_grpc(tmp_path: Path) -> None:
    """17 MB that other sites do not pay; what is told, loads it."""

    def loaded(folder: Path, *, asks: bool) -> bool:
        folder.mkdir()
        with daemon(folder, ["--simulate=hgx-h100", *options(folder, asks=asks)]) as running:
            return "grpc" in Path(f"/proc/{running.process.pid}/maps").read_text()

    assert [loaded(tmp_path / "with", asks=True), loaded(tmp_path / "without", asks=False)] == [True, False]
