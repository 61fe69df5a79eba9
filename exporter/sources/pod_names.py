"""Which uid has which pod, and which pod which uid, from the names of the folders in which the kubelet keeps container logs. No kubelet or
API server is asked.

`pods/NAMESPACE_POD_UID/CONTAINER/` and `containers/POD_NAMESPACE_CONTAINER-ID.log` (kubernetes/kubernetes pkg/kubelet/kuberuntime); names
hold no underscore. Folders are listed, no log is opened. Knows those names only.
"""

import errno
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeAlias

from exporter.model.fault import Reason
from exporter.sources.fault_list import FaultList
from exporter.sources.sysfs import Files

PODS, CONTAINERS = "pods", "containers"
_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
NAME = re.compile(_NAME)
"""Of a namespace, a pod or a container."""
_FOLDER = re.compile(rf"({_NAME})_({_NAME})_([0-9a-f-]{{32,36}})")
_LOG = re.compile(rf"({_NAME})_({_NAME})_({_NAME})-([0-9a-f]{{64}})\.log")


class PodName(NamedTuple):
    """What people call a pod and the container in it; `container` is empty where it cannot be known."""

    namespace: str
    pod: str
    container: str = ""


Place: TypeAlias = tuple[str, str]
"""Uid of a pod, and id of a container in it ("" if unknown)."""


class PodNames:
    """Names by place, remembered as long as somebody asks for them. `files` is the folder that holds pods/ and containers/, called `root`
    before a person. Used by one thread."""

    def __init__(self, files: Files, *, root: str = "/var/log") -> None:
        self._files = files
        self._root = root.rstrip("/")
        self._known: dict[Place, PodName] = {}

    def names_of(self, places: Collection[Place], faults: FaultList) -> Mapping[Place, PodName]:
        """The names of those places for which there is a folder now; lists nothing if all are known from the last time."""
        known = {place: self._known[place] for place in places if place in self._known}
        missing = sorted(set(places) - known.keys())
        if missing:
            folders = {match[3]: match for name in self._listed(PODS, faults) if (match := _FOLDER.fullmatch(name))}
            for place in missing:
                folder = folders.get(place[0])
                if folder is not None:
                    known[place] = PodName(folder[1], folder[2], self._container(folder[0], place[1], faults))
        self._known = known
        return known

    def uids_of(self, pods: Collection[tuple[str, str]], faults: FaultList) -> Mapping[tuple[str, str], str]:
        """The uid of each of these pods (namespace, name) that has one folder; nothing for one that has none, or two: a StatefulSet's pod
        was made anew, and which one is meant nobody says. Without the folder of folders there are none, which is no Fault: the site need
        not show it."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in self._listed(PODS, faults, or_fault=False) if pods else []:
            match = _FOLDER.fullmatch(name)
            if match is not None:
                found.setdefault((match[1], match[2]), []).append(match[3])
        return {pod: found[pod][0] for pod in pods if len(found.get(pod, ())) == 1}

    def _container(self, folder: str, container_id: str, faults: FaultList) -> str:
        """The only container that the pod has a folder for; else the one whose log bears the id; else "", as two could be meant."""
        names = [name for name in self._listed(f"{PODS}/{folder}", faults) if NAME.fullmatch(name)]
        if len(names) == 1:
            return names[0]
        logs = self._listed(CONTAINERS, faults) if names and container_id else []
        return next((match[3] for log in logs if (match := _LOG.fullmatch(log)) and match[4] == container_id and match[3] in names), "")

    def _listed(self, folder: str, faults: FaultList, *, or_fault: bool = True) -> list[str]:
        """Names in a folder; none, and a Fault, if it cannot be listed. `or_fault` False: its absence is none."""
        try:
            return self._files.listdir(folder)
        except OSError as error:
            path = f"{self._root}/{folder}"
            if error.errno == errno.ENOENT and or_fault:
                faults.add(path, Reason.ABSENT, "is not there: let the container see the host's (read only); else pods go by their uid")
            elif error.errno != errno.ENOENT:
                faults.add_error(path, error)
            return []
