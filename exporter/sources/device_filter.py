"""Which devices a site wants read: include and exclude patterns, decided by name alone, before anything of the device is opened.

(node_exporter filtered after reading: prometheus/node_exporter#3823.)
"""

import re
from collections.abc import Sequence


class DeviceFilter:
    """Patterns are anchored regular expressions. A device is wanted if some include (none means all) and no exclude matches."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = [re.compile(pattern) for pattern in include]
        self._exclude = [re.compile(pattern) for pattern in exclude]

    def wants(self, device: str) -> bool:
        """Whether to read the device of that name."""
        if any(pattern.fullmatch(device) for pattern in self._exclude):
            return False
        return not self._include or any(pattern.fullmatch(device) for pattern in self._include)
