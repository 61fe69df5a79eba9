"""Template variables that boards share. Each lists what the exporters of the nodes chosen so far show. Data."""

from dashboards.board import Variable
from dashboards.promql import scoped
from exporter.catalog import infiniband, internals, jobs, nvlink, pcie, signals
from exporter.model.metric import Metric


def _variable(name: str, title: str, row: Metric, label: str, text: str, *, many: bool = True, every: str | None = ".*") -> Variable:
    return Variable(name, title, scoped(row), label, text, many, every, row)


POOL = _variable("pool", "Pool", internals.BUILD_INFO, "pool", "Pools, by the label that the scrape configuration sets.")
NODES = _variable("node", "Node", internals.BUILD_INFO, "node", "Nodes of the pools, by the label that the scrape configuration sets.")
NODE = _variable("node", "Node", internals.BUILD_INFO, "node", "The node.", many=False)
FABRIC = _variable("fabric", "Fabric", signals.HEALTH, "fabric", "Kinds of links that the node has.", many=False)
LINK_DEVICE = _variable("device", "Device", signals.HEALTH, "device", "Devices with links of that kind.", many=False)
LINK_PORT = _variable("port", "Port", signals.HEALTH, "port", "Links of the device.", many=False)
GPUS = _variable("device", "GPU", nvlink.STATE, "device", "GPUs with NVLinks.")
RDMA = _variable("device", "Device", infiniband.STATE, "device", "RDMA devices.")
PCIE = _variable("device", "Device", pcie.INFO, "device", "GPUs, RDMA devices and NICs on PCIe.")
JOB = _variable("job_id", "Job", jobs.JOB_INFO, "job_id", "Jobs within the time range, by the batch system's number or the pod's uid.",
                many=False)  # fmt: skip
JOB_NODES = _variable(
    "node", "Node", jobs.JOB_INFO, "node", "Nodes of the job: queries ask for these alone, however large the fleet.", every=None
)
