"""Ways from a number to the board that explains it. They keep the time range, the data source and the pool. Data."""

from typing import NamedTuple

FLEET, NODE, LINK, NVLINK, INFINIBAND, PCIE, PROBES, JOB, EXPORTER = (
    "fabric-fleet", "fabric-node", "fabric-link", "fabric-nvlink", "fabric-infiniband", "fabric-pcie", "fabric-probes", "fabric-job",
    "fabric-exporter",
)  # fmt: skip
"""Uids of the boards. They never change: links and bookmarks of users hold on to them."""
TAG = "fabric-exporter"
"""Tag of every board; the bar of links shows the boards that carry it."""
KEPT = "${__url_time_range}&${datasource:queryparam}&${pool:queryparam}"


class Way(NamedTuple):
    """A data link: shown as `title`, to the board `uid`, whose variables take their values from labels of the same name; `also` is what
    the board that one comes from knows without a label."""

    title: str
    uid: str
    labels: tuple[str, ...]
    also: str = ""

    def from_table(self) -> dict[str, object]:
        """The link on a cell: labels are columns of the row."""
        return self._link("${__data.fields.%s}")

    def from_series(self) -> dict[str, object]:
        """The link on a series: labels are the series' own."""
        return self._link("${__field.labels.%s}")

    def _link(self, source: str) -> dict[str, object]:
        wanted = "".join(f"&var-{label}={source % label}" for label in self.labels)
        return {"title": self.title, "url": f"/d/{self.uid}?{KEPT}{self.also}{wanted}", "targetBlank": False}


TO_NODE = Way("Node ${__data.fields.node}", NODE, ("node",))
TO_NODE_OF_SERIES = Way("This node", NODE, ("node",))
TO_LINK = Way("This link", LINK, ("node", "fabric", "device", "port"))
TO_LINK_OF_NODE = Way("This link", LINK, ("fabric", "device", "port"), "&${node:queryparam}")
TO_PCIE_OF_NODE = Way("This link", LINK, ("device", "port"), "&${node:queryparam}&var-fabric=pcie")
"""From the board of one node, whose tables have no column for it."""
TO_JOB = Way("This job", JOB, ("job_id",))
TO_EXPORTER = Way("This node's exporter", EXPORTER, ("node",))
