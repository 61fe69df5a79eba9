"""The queries and scripts of docs/jobs.md do what the page says: asked of Prometheus' own engine, run by a real shell."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from exporter.model.job import GpuJob
from exporter.sources.fault_list import FaultList
from exporter.sources.job_directory import JobDirectory
from exporter.sources.sysfs import RealFiles
from tests.real.promtool import INSTALL
from tests.requires import need

PAGE = (Path(__file__).parents[2] / "docs/jobs.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```promql\n(.*?)```", PAGE, re.DOTALL)
PROLOG, EPILOG = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
IN_FULL, EVENLY, INFINIBAND, ERRORS, BAD_LINKS, SHARED = range(6)

JOB_A = 'fabric_gpu_job_info{instance="a",device="gpu%d",job_id="%s"%s}'
NVLINK = 'fabric_nvlink_transmit_bytes_total{instance="%s",device="%s",port="%d"}'
PORT = 'instance="%s",device="%s",port="1"'
SERIES = {
    # Node a: job 4242 on gpu0 and gpu1, job 77 shares gpu0 and was renamed meanwhile; node b: job 4242 on gpu0, gpu1 is idle.
    JOB_A % (0, "4242", ""): "1x10",
    JOB_A % (1, "4242", ""): "1x10",
    JOB_A % (0, "77", ""): "1x10",
    JOB_A % (0, "77", ',workload_pod="worker-0"'): "1x10",
    'fabric_gpu_job_info{instance="b",device="gpu0",job_id="4242"}': "1x10",
    NVLINK % ("a", "gpu0", 0): "0+600x10",
    NVLINK % ("a", "gpu0", 1): "0+600x10",
    NVLINK % ("a", "gpu1", 0): "0+1800x10",
    NVLINK % ("b", "gpu0", 0): "0+2400x10",
    NVLINK % ("b", "gpu1", 0): "0+4200x10",
    "fabric_infiniband_port_data_transmitted_bytes_total{" + PORT % ("a", "mlx5_0") + "}": "0+6000x10",
    "fabric_infiniband_port_data_transmitted_bytes_total{" + PORT % ("a", "mlx5_1") + "}": "0+12000x10",
    "fabric_infiniband_port_data_transmitted_bytes_total{" + PORT % ("a", "mlx5_9") + "}": "0+54000x10",
    "fabric_infiniband_port_data_transmitted_bytes_total{" + PORT % ("b", "mlx5_0") + "}": "0+18000x10",
    "fabric_infiniband_port_info{" + PORT % ("a", "mlx5_0") + ',gpu="gpu0",role="compute"}': "1x10",
    "fabric_infiniband_port_info{" + PORT % ("a", "mlx5_1") + ',gpu="gpu1",role="compute"}': "1x10",
    "fabric_infiniband_port_info{" + PORT % ("a", "mlx5_9") + ',gpu="",role="storage"}': "1x10",
    "fabric_infiniband_port_info{" + PORT % ("b", "mlx5_0") + ',gpu="gpu0",role="compute"}': "1x10",
    'fabric_nvlink_errors_total{instance="a",device="gpu0",port="0",kind="crc"}': "0+60x10",
    'fabric_nvlink_errors_total{instance="a",device="gpu1",port="3",kind="crc"}': "0+120x10",
    'fabric_nvlink_errors_total{instance="b",device="gpu1",port="3",kind="crc"}': "0+180x10",
    'fabric_link_health_status{instance="a",fabric="nvlink",device="gpu0",port="0"}': "2x10",
    'fabric_link_health_status{instance="a",fabric="nvlink",device="gpu1",port="0"}': "0x10",
    'fabric_link_health_status{instance="b",fabric="nvlink",device="gpu1",port="0"}': "3x10",
}

ANSWERS = {
    IN_FULL: {'{job_id="4242"}': 20 + 30 + 40, '{job_id="77"}': 20},
    EVENLY: {'{job_id="4242"}': 10 + 30 + 40, '{job_id="77"}': 10},
    INFINIBAND: {'{job_id="4242"}': 100 + 200 + 300, '{job_id="77"}': 100},
    ERRORS: {
        '{instance="a",device="gpu0",port="0",kind="crc"}': 1,
        '{instance="a",device="gpu1",port="3",kind="crc"}': 2,
    },
    BAD_LINKS: {'{instance="a",device="gpu0",job_id="4242"}': 2, '{instance="a",device="gpu0",job_id="77"}': 2},
    SHARED: {'{instance="a",device="gpu0"}': 2},
}


def promtool_says(folder: Path, query: str, expected: dict[str, float]) -> tuple[int, str]:
    """Exit status and output of promtool's unit test of one query, ten minutes into SERIES."""
    test = {
        "rule_files": [],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in SERIES.items()],
                "promql_expr_test": [
                    {
                        "expr": query,
                        "eval_time": "10m",
                        "exp_samples": [{"labels": labels, "value": value} for labels, value in expected.items()],
                    }
                ],
            }
        ],
    }
    (folder / "test.yaml").write_text(json.dumps(test), encoding="utf-8")  # JSON is YAML
    argv = [need("promtool", INSTALL), "test", "rules", str(folder / "test.yaml")]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


@pytest.mark.parametrize("number", ANSWERS, ids=lambda number: ("in full", "evenly", "infiniband", "errors", "bad links", "shared")[number])
def test_each_query_of_the_page_answers_as_it_says(tmp_path: Path, number: int) -> None:
    """Two nodes, a job over both, a GPU that two jobs share, an idle GPU, a storage port that is nobody's."""
    code, output = promtool_says(tmp_path, QUERIES[number], {labels: float(value) for labels, value in ANSWERS[number].items()})

    assert code == 0, output


def test_every_query_of_the_page_is_tried() -> None:
    """A new one must come with its answer."""
    assert len(QUERIES) == len(ANSWERS)


def test_the_join_that_comes_to_mind_first_fails_on_a_shared_gpu(tmp_path: Path) -> None:
    """Why the page sums first."""
    naive = "rate(fabric_nvlink_transmit_bytes_total[5m]) * on (instance, device) group_left (job_id) fabric_gpu_job_info"
    code, output = promtool_says(tmp_path, naive, {})

    assert code != 0
    assert "many-to-many matching not allowed" in output or "duplicate series" in output


def test_a_wrong_answer_is_noticed(tmp_path: Path) -> None:
    """The check is not idle."""
    assert promtool_says(tmp_path, QUERIES[SHARED], {'{instance="a",device="gpu0"}': 3.0})[0] != 0


def run_script(script: str, folder: Path, job: str, gpus: str) -> None:
    """A script of the page, run as slurmd runs a prolog, as strict as a shell can be."""
    environ = {"PATH": os.environ["PATH"], "GPU_JOBS": str(folder), "SLURM_JOB_ID": job, "SLURM_JOB_GPUS": gpus}
    subprocess.run(["sh", "-uc", script], env=environ, check=True, timeout=30, capture_output=True)


def test_the_prolog_and_epilog_of_the_page_keep_the_directory_as_it_is_read(tmp_path: Path) -> None:
    """Two jobs, one GPU shared; after the first one's epilog the second is left, and no file is taken for junk."""
    need("flock", "apt-get install util-linux")
    folder = tmp_path / "gpu-jobs"
    directory = JobDirectory(RealFiles(str(folder), 10), lambda: {0: "gpu0", 1: "gpu1", 2: "gpu2"}, root=str(folder))
    faults = FaultList("jobs")
    run_script(PROLOG, folder, "4242", "0,1")
    run_script(PROLOG, folder, "77", "1")
    both = directory.read(faults)
    run_script(EPILOG, folder, "4242", "")
    left = directory.read(faults)

    assert both == {"gpu0": (_job(0, "4242"),), "gpu1": (_job(1, "4242"), _job(1, "77")), "gpu2": ()}
    assert left == {"gpu0": (), "gpu1": (_job(1, "77"),), "gpu2": ()}
    assert faults.faults == []


def _job(gpu: int, job_id: str) -> GpuJob:
    """A job of the directory."""
    return GpuJob(f"gpu{gpu}", job_id, "slurm")
