"""What the boards cannot show, said on the boards. Data."""

from dashboards.board import Section
from dashboards.panels import words

CANNOT_SEE = """\
A node sees its own side of its links, and nothing else:

- **Switch ports** are not here. `port_transmit_wait` says that this node, as a sender, was held back; who held it back is known to the
  switch.
- **NVSwitch counters** are not in the driver's interface. SXid lines of the kernel log are counted, no more.
- **The receiver's side**: a slow receiver shows on the switch port that faces it, and here only as its senders' congestion and pause.
- **A slow rail that carries the same bytes** looks like its sisters in every mean. Only the burst sampler
  (`--sources.bursts.enabled`) sees it, and only bursts longer than about two samples.
- **A rail that is equally slow on every node** has no faster sister on its node; compare rails across nodes.
- **Counters that stand at their ceiling** say nothing until somebody clears them; what is derived from them is missing, never 0.

An empty panel means: no such hardware, not read (its description says what it needs), or nothing of the kind happened.
"""


def what_a_node_cannot_see() -> Section:
    """The last row of boards that show links."""
    return Section("What these numbers cannot say", (words("What a node cannot see", "The limits of what is shown.", CANNOT_SEE, h=8),))
