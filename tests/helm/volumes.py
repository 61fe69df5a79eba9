"""The volumes of a pod as a kubelet makes them: files of a ConfigMap or Secret swapped as one, folders of the node, empty folders.

Knows owners and modes; who mounts them where is kubelet.py's.
"""

import os
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

NODE_TYPES = ("Directory", "DirectoryOrCreate")
DEFAULT_MODE = 0o644
_GENERATIONS = count()

Files = Mapping[str, bytes]
"""File name → content."""


def publish(folder: Path, files: Files, mode: int = DEFAULT_MODE, group: int | None = None) -> None:
    """Put the files into a new folder and let `..data` lead there, in one step; each file is a link through it. Readers see all of the old
    or all of the new. `group` is the pod's fsGroup: it may read whatever the mode says."""
    folder.mkdir(exist_ok=True)
    made = folder / f"..generation_{next(_GENERATIONS)}"
    made.mkdir()
    for name, content in files.items():
        path = made / name
        path.write_bytes(content)
        path.chmod(mode if group is None else mode | 0o440)
        if group is not None:
            os.chown(path, 0, group)
    aside, current = folder / "..data_tmp", folder / "..data"
    before = current.resolve() if current.exists() else None
    aside.symlink_to(made.name)
    os.replace(aside, current)
    for name in files:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    if before is not None:
        shutil.rmtree(before)
    if group is not None:
        for path in (folder, made):
            os.chown(path, 0, group)
            path.chmod(0o2775)


def files_of(source: Mapping[str, Any], data: Files) -> Files:
    """What a ConfigMap or Secret of that data shows through a volume with these `items`; all of it without. KeyError for a key that is not
    there: the pod would wait for it for ever."""
    items = source.get("items")
    return data if items is None else {item["path"]: data[item["key"]] for item in items}


def node_folder(root: Path, source: Mapping[str, Any]) -> Path:
    """A folder of the node below `root`; one that may be made is made for root, as kubelets do."""
    path = Path(root, source["path"].lstrip("/"))
    assert source.get("type") in NODE_TYPES, f"this kubelet knows no hostPath of type {source.get('type')}"
    if source["type"] == "DirectoryOrCreate" and not path.exists():
        path.mkdir(mode=0o755, parents=True)
    assert path.is_dir(), f"{source['path']} is no folder of the node"
    return path


def empty_folder(folder: Path, group: int | None) -> Path:
    """An emptyDir: anybody's, and the pod's fsGroup's in particular."""
    folder.mkdir()
    folder.chmod(0o777)
    if group is not None:
        os.chown(folder, 0, group)
        folder.chmod(0o2777)
    return folder
