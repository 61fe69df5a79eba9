"""A page of one node made into a page of another: other counters, other serial numbers, the same shape. Bytes only; knows no metric.

A copy costs one formatting of the page and no more, so that a thousand nodes can be served by one process. Busy counters stand higher by a
constant of the node, so rates, and what rules made of them, stay as they were on the node that was copied.
"""

import re
from collections.abc import MutableMapping, Sequence
from typing import NamedTuple

BUSY = 1_000_000
"""Counters that have come as far when they are first seen are moved: traffic. Counts of errors and events are left as they are:
a node where nothing happened must not count from five thousand."""
STEP = 1_000_003
"""Times the number of the node: how much higher its busy counters stand."""
NODE_MARK = "@node@"
"""Stands for the name of a node in a page that is to be copied."""
_SERIAL_MARK = b"@serial@"
_SERIAL = re.compile(rb"GPU-[0-9a-f]{8}")
_COUNTER = re.compile(rb"# TYPE (\S+) counter")
_SERIAL_STEP = 2_654_435_761
"""Knuth's multiplier: neighbours get serial numbers that look nothing alike."""


class Mould(NamedTuple):
    """`shape` is the page with a `%d` for each busy counter, `numbers` are those of the node it is of."""

    shape: bytes
    numbers: Sequence[int]

    def page(self, number: int, name: str) -> bytes:
        """The page of the node of that number and name. Number 0 has the counters of the node itself."""
        offset = number * STEP
        body = self.shape % tuple([counted + offset for counted in self.numbers])
        serial = b"%08x" % ((number + 1) * _SERIAL_STEP & 0xFFFFFFFF)
        return body.replace(_SERIAL_MARK, serial).replace(NODE_MARK.encode(), name.encode())


def mould_of(page: bytes, busy: MutableMapping[bytes, bool]) -> Mould:
    """A mould of a page in text format 0.0.4. `busy` remembers of each series whether it is moved, from one page of a node to the next."""
    numbers: list[int] = []
    lines: list[bytes] = []
    counter = b"\n"
    for line in _SERIAL.sub(b"GPU-" + _SERIAL_MARK, page).replace(b"%", b"%%").split(b"\n"):
        if line.startswith(b"# TYPE "):
            found = _COUNTER.fullmatch(line)
            counter = found[1] if found else b"\n"
        elif line.startswith(counter):
            series, _, value = line.rpartition(b" ")
            if value.isdigit() and busy.setdefault(series, int(value) >= BUSY):
                numbers.append(int(value))
                lines.append(series + b" %d")
                continue
        lines.append(line)
    return Mould(b"\n".join(lines), numbers)
