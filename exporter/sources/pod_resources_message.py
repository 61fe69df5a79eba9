"""What the kubelet's pod-resources API v1 answers, as protobuf has it: a table of field numbers, and the way from an answer to allocations.

The numbers are those of the public API (kubernetes/kubelet pkg/apis/podresources/v1/api.proto, up to 1.34); fields that are not in the
table (processors, memory, topology) are passed over. Messages are made of the table at run time: no generated code, which would be bound to
one release of protobuf. Together with pod_resources.py the only place that imports it; knows no GPU.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from exporter.sources.kubelet_jobs import DRA_DRIVER, Allocation

PACKAGE = "v1"
_TEXT = ""
_MESSAGES: Mapping[str, Mapping[str, tuple[int, str, bool]]] = {
    "ListPodResourcesResponse": {"pod_resources": (1, "PodResources", True)},
    "PodResources": {"name": (1, _TEXT, False), "namespace": (2, _TEXT, False), "containers": (3, "ContainerResources", True)},
    "ContainerResources": {"name": (1, _TEXT, False), "devices": (2, "ContainerDevices", True),
                           "dynamic_resources": (5, "DynamicResource", True)},
    "ContainerDevices": {"resource_name": (1, _TEXT, False), "device_ids": (2, _TEXT, True)},
    "DynamicResource": {"claim_resources": (4, "ClaimResource", True)},
    "ClaimResource": {"cdi_devices": (1, "CDIDevice", True), "driver_name": (2, _TEXT, False), "device_name": (4, _TEXT, False)},
    "CDIDevice": {"name": (1, _TEXT, False)},
}  # fmt: skip
"""Message → field → number, what it holds (a message's name, or _TEXT), and whether there may be several."""

_CDI_NAME = re.compile(r"k8s\.gpu\.nvidia\.com/(?:claim|device)=(?:[0-9a-f-]{36}-)?(gpu-.+)")
"""How NVIDIA's driver names a device of a claim for the container runtime (kubernetes-sigs/dra-driver-nvidia-gpu cdi.go): all that
kubelets tell that do not name driver and device yet."""


def allocations_in(raw: bytes) -> Iterator[Allocation]:
    """Every device that a container has, in the answer's order, of every kind. Raises ValueError for what is no such answer."""
    answer = _ANSWER()
    try:
        answer.ParseFromString(raw)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    for pod in answer.pod_resources:
        for container in pod.containers:
            for resource, device in _devices(container):
                yield Allocation(pod.namespace, pod.name, container.name, resource, device)


def _devices(container: Any) -> Iterator[tuple[str, str]]:
    """(resource, id) by device plugins, then (driver, name) by claims."""
    for devices in container.devices:
        for device in devices.device_ids:
            yield devices.resource_name, device
    for dynamic in container.dynamic_resources:
        for claimed in dynamic.claim_resources:
            if claimed.driver_name:
                yield claimed.driver_name, claimed.device_name
                continue
            for device in claimed.cdi_devices:
                match = _CDI_NAME.fullmatch(device.name)
                if match is not None:
                    yield DRA_DRIVER, match[1]


def _answer_class() -> Any:
    """The class of ListPodResourcesResponse, in a pool of its own: another library in this process may know the real file."""
    file = descriptor_pb2.FileDescriptorProto(name="fabric_exporter/pod_resources.proto", package=PACKAGE, syntax="proto3")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, holds, several) in fields.items():
            field = described.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if several else field.LABEL_OPTIONAL
            field.type = field.TYPE_MESSAGE if holds else field.TYPE_STRING
            if holds:
                field.type_name = f".{PACKAGE}.{holds}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.ListPodResourcesResponse"))


_ANSWER = _answer_class()
