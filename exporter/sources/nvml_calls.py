"""Calls of NVML through pynvml: the only file that imports it. An nvmlReturn becomes an NvmlError here, once.

A call may hang in the kernel for ever (NVIDIA/open-gpu-kernel-modules#1333): use it in a process that may be given up (runtime/worker.py).
pynvml keeps a loaded library, and each symbol it once found, as long as the process lives.
"""

from collections.abc import Callable
from typing import Any

import pynvml

from exporter.sources.nvml_session import FUNCTION_NOT_FOUND, NvmlError
from exporter.sources.pci_text import sysfs_address

FIELD_VALUE = pynvml.c_nvmlFieldValue_t
"""One entry of a field call."""


def call(name: str, *arguments: Any) -> Any:
    """What pynvml's wrapper of that name returns. Raises NvmlError, also where this pynvml or the library has no such call."""
    try:
        return wrapper(name)(*arguments)
    except pynvml.NVMLError as error:
        raise NvmlError(name, int(error.value)) from None
    except UnicodeDecodeError as error:
        return text(error.object)  # the binding insists on UTF-8; a GPU with a broken name is still a GPU


def wrapper(name: str) -> Callable[..., Any]:
    """Pynvml's own function or structure of that name. Raises NvmlError where this pynvml is older than it."""
    found: Callable[..., Any] | None = getattr(pynvml, name, None)
    if found is None:
        raise NvmlError(name, FUNCTION_NOT_FOUND)
    return found


def structure(name: str) -> Any:
    """A structure by name. Raises NvmlError where this pynvml is older than it."""
    return wrapper(name)


def function(name: str) -> Any:
    """The library's own function, without the wrapper, which builds an array at each call. Raises NvmlError."""
    try:
        return pynvml._nvmlGetFunctionPointer(name)  # noqa: SLF001  # through pynvml's handle of the library; it offers no other way
    except pynvml.NVMLError as error:
        raise NvmlError(name, int(error.value)) from None


def address(pci: Any) -> str:
    """As sysfs writes it; what is no address comes back as it is."""
    try:
        return sysfs_address(text(pci.busId))
    except UnicodeDecodeError as error:
        return text(error.object)


def text(value: bytes | str) -> str:
    """As Python's, whatever the driver's is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
