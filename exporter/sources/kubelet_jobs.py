"""From the devices that the kubelet gave to containers to the pods on each GPU. A GPU that is not known here is counted, never guessed.

Knows how device plugins and drivers spell the id of a GPU or of a part of one, and what to do with a kubelet that does not answer; how it
is asked is pod_resources.py's, which GPU has which id the caller's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from exporter.catalog.jobs import ALLOCATIONS_MAX, POD_RESOURCES_REST_S
from exporter.model.fault import Reason
from exporter.model.job import KUBERNETES, GpuJob
from exporter.model.quoted import shown
from exporter.sources.fault_list import FaultList
from exporter.sources.pod_names import NAME, PodNames

RESOURCES = "nvidia.com/"
"""What NVIDIA's and GKE's device plugins call their resources begins so, however a site renames them (NVIDIA/k8s-device-plugin)."""
DRA_DRIVER = "gpu.nvidia.com"
"""The driver that hands out GPUs by claims (Dynamic Resource Allocation)."""

GPUS, PODS_GPUS = "gpus", "gpus of pods"
"""Subjects of Faults that are not the socket's: the log tells each subject and reason once."""

_GPU_RESOURCE = re.compile(r"nvidia\.com/(?:gpu|mig-).*")
_UUID = re.compile(r"((?:GPU|MIG)-[0-9A-Za-z-]{1,64})(?:::\d+)?")
"""A GPU or MIG device by NVIDIA's plugin; `::N` is a replica of a GPU that is shared by time slices or MPS."""
_OLD_MIG = re.compile(r"MIG-(GPU-[0-9A-Za-z-]{1,64})/\d+/\d+(?:::\d+)?")
"""Before driver 470: the GPU's UUID, then GPU and compute instance."""
_DEVICE_FILE = re.compile(r"(nvidia\d{1,4})(?:/gi\d+)?(?:/vgpu\d+)?")
"""By GKE's plugin: the GPU's device file, a MIG instance, a share (NVIDIA/dcgm-exporter internal/pkg/transformation/kubernetes.go)."""
_CLAIMED = re.compile(r"gpu-(\d{1,4})(?:-mig-.+)?")
"""By NVIDIA's DRA driver: the minor number of the device file, since v25.8; before, the driver's index
(kubernetes-sigs/dra-driver-nvidia-gpu deviceinfo.go, mig.go)."""
_NOBODY_TOLD = "nobody has told yet which GPUs there are: the driver does not answer, or sources.nvlink is off"


class Allocation(NamedTuple):
    """One device of one container, as the kubelet tells it. `resource` is the device plugin's resource or the DRA driver's name."""

    namespace: str
    pod: str
    container: str
    resource: str
    device: str


class PodListError(Exception):
    """The kubelet gave no list: `reason` and `detail` are for the Fault."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def is_nvidia(resource: str) -> bool:
    """Whether a device of that resource is NVIDIA's, by a device plugin or by a claim: a GPU, or something beside one."""
    return resource == DRA_DRIVER or resource.startswith(RESOURCES)


def gpu_id(resource: str, device: str) -> str | None:
    """The UUID or device file (`nvidia3`) by which the driver knows that GPU or MIG device; None for what is no GPU. A GPU's resource whose
    id has another grammar keeps its id: nobody knows it, and that is counted."""
    if resource == DRA_DRIVER:
        claimed = _CLAIMED.fullmatch(device)
        return device if claimed is None else f"nvidia{int(claimed[1])}"
    if not resource.startswith(RESOURCES):
        return None
    for grammar in (_OLD_MIG, _UUID, _DEVICE_FILE):
        match = grammar.fullmatch(device)
        if match is not None:
            return match[1]
    return device if _GPU_RESOURCE.fullmatch(resource) else None


class KubeletJobs:
    """Pods by the kubelet's list. `ask` gives it or raises PodListError; `gpus` maps UUIDs of GPUs and of their MIG devices, and device
    files, to the GPU's name, None while nobody knows; `pods` knows uids. `path` is the socket, before a person. Used by one thread.

    A kubelet that did not answer in time is left alone for POD_RESOURCES_REST_S: waiting for it in every pass would take more of the time
    than a source may.
    """

    def __init__(self, ask: Callable[[], Sequence[Allocation]], gpus: Callable[[], Mapping[str, str] | None], pods: PodNames, *,
                 path: str) -> None:  # fmt: skip
        self.path = path
        self._ask = ask
        self._gpus = gpus
        self._pods = pods
        self._rests: tuple[float, PodListError] | None = None
        """Until when, in monotonic time, and why."""

    def read(self, monotonic_s: float, faults: FaultList) -> Mapping[str, tuple[GpuJob, ...]]:
        """Pods of every GPU there is, none for one that nobody was given; nothing if the kubelet or the driver cannot be asked."""
        gpus = self._gpus()
        if gpus is None:
            faults.add(GPUS, Reason.ABSENT, _NOBODY_TOLD)
            return {}
        try:
            allocations = self._listed(monotonic_s)
        except PodListError as error:
            faults.add(self.path, error.reason, error.detail)
            return {}
        if len(allocations) > ALLOCATIONS_MAX:
            faults.add(self.path, Reason.LIMIT, f"lists more than {ALLOCATIONS_MAX} devices; the first {ALLOCATIONS_MAX} are looked at")
        placed = self._placed(allocations[:ALLOCATIONS_MAX], gpus, faults)
        uids = self._pods.uids_of({(one.namespace, one.pod) for _, one in placed}, faults)
        found: dict[str, dict[GpuJob, None]] = {gpu: {} for gpu in gpus.values()}
        for gpu, one in placed:
            job_id = uids.get((one.namespace, one.pod), f"{one.namespace}/{one.pod}")
            found[gpu][GpuJob(gpu, job_id, KUBERNETES, one.namespace, one.pod, one.container)] = None
        return {gpu: tuple(jobs) for gpu, jobs in found.items()}

    def _listed(self, monotonic_s: float) -> Sequence[Allocation]:
        if self._rests is not None and monotonic_s < self._rests[0]:
            raise self._rests[1]
        self._rests = None
        try:
            return self._ask()
        except PodListError as error:
            if error.reason is Reason.TIMEOUT:
                self._rests = monotonic_s + POD_RESOURCES_REST_S, error
            raise

    def _placed(self, allocations: Sequence[Allocation], gpus: Mapping[str, str], faults: FaultList) -> list[tuple[str, Allocation]]:
        """The allocations that are a GPU's, with its name. Those of a GPU that is not known, or of what cannot be a pod, are counted."""
        placed: list[tuple[str, Allocation]] = []
        unknown: list[Allocation] = []
        for one in allocations:
            key = gpu_id(one.resource, one.device)
            if key is None:
                continue
            names = (one.namespace, one.pod, one.container)
            if not all(NAME.fullmatch(name) for name in names):
                faults.add(self.path, Reason.PARSE, f"gives a GPU to {shown('/'.join(names))}, which Kubernetes could not name so")
            elif key in gpus:
                placed.append((gpus[key], one))
            else:
                unknown.append(one)
        if unknown:
            first = unknown[0]
            faults.add(PODS_GPUS, Reason.ABSENT, f"the kubelet gave {len(unknown)} GPUs or MIG devices to pods that the driver does not "
                       f"show here, the first {shown(first.device)} to {first.namespace}/{first.pod}; they are left out")  # fmt: skip
        return placed
