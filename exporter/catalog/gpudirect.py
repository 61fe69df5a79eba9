"""Rows of GPUDirect RDMA: whether a NIC reaches the memory of the GPUs beside it without the CPU, and what that takes. Data, no behaviour.

Requirements and their values: exporter/sources/gpudirect.py reads them, exporter/signals/gpudirect.py judges.
"""

from exporter.model.metric import Cadence, Kind, Metric, Tier, Unit

NAME = "fabric_gpudirect_rdma_"
SOFTWARE, PATH, ACS_OFF = "software", "path", "acs_off"
REQUIREMENTS = (SOFTWARE, PATH, ACS_OFF)
"""Values of `requirement`."""


def _flag(key: str, tier: Tier, help_text: str, absent: str, labels: tuple[str, ...] = (), raw: str = "") -> Metric:
    return Metric("gpudirect_" + key, NAME + key, Kind.GAUGE, Unit.COUNT, ("device", *labels), help_text, tier, raw,
                  cadence=Cadence.NORMAL, absent=absent, captured=False)  # fmt: skip


AVAILABLE = _flag("available", Tier.BASIC,
    "1 if the NIC reaches the memory of GPUs beside it without the CPU (GPUDirect RDMA), as far as can be told without using it, else 0.",
    "there is no GPU beside the NIC, or it cannot be told: a virtual machine hides the path, a container the kernel's modules")  # fmt: skip
EXPECTED = _flag("expected", Tier.BASIC,
    "1 if GPUDirect RDMA should be available to the NIC: it is configured so, or was available before; else 0.",
    "there is no GPU beside the NIC")  # fmt: skip
REQUIREMENT = _flag("requirement", Tier.FULL,
    "1 if this requirement of GPUDirect RDMA is met, else 0: software (nvidia-peermem is loaded, or the open driver and the kernel pass "
    "DMA-BUF), path (at most PCIe switches between NIC and GPU), acs_off (those do not redirect requests to the CPU).",
    "it cannot be told; what switches redirect is told to root, and by an IOMMU group that NIC and GPU share",
    ("requirement",), "proc/modules, driver/nvidia/version, config, iommu_group")  # fmt: skip

ROWS = (AVAILABLE, EXPECTED, REQUIREMENT)
