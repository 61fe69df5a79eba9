"""What the nodes of a simulated fleet live through: a scenario for each node that runs the whole pipeline, most with something wrong.

Scenarios only (cli/scenario_file.py reads them); which node lives which is plan.py's. A fleet shows them from AHEAD_S on, so what is to be
found on its first page begins before, and what is to happen before a person's eyes comes later, again and again.
"""

from typing import NamedTuple

AHEAD_S = 300.0
"""How far into its story a node is when the fleet starts: rules have settled on what befell it before."""
_LONG = "duration: 300d\nburst: 10Hz\n"


class Story(NamedTuple):
    """`pool` is the nodes' kind in the fleet; `text` the scenario; `is_well` whether nothing is wrong, so that many may live it."""

    pool: str
    text: str
    is_well: bool = False


TRAINING = Story("h100", f"title: well, a training job\nnode: hgx-h100\nseed: 1\n{_LONG}", is_well=True)
MIXED = Story("h100", f"title: well, small jobs\nnode: hgx-h100\nseed: 2\n{_LONG}traffic: [{{pattern: mixed}}]\n", is_well=True)
LOSSLESS = Story("h200-roce", f"title: well, a training job over RoCE\nnode: roce-h200\nseed: 3\n{_LONG}", is_well=True)
TRAY = Story("gb200", f"title: well, a compute tray\nnode: gb200-tray\nseed: 4\n{_LONG}", is_well=True)

_XIDS = "".join(
    f"  - {{at: {second}s, kind: xid, device: gpu1, xid: 74, port: 6}}\n" for second in (*range(320, 600, 20), *range(600, 18_000, 300))
)
"""Often at first: whoever begins to look, however late, sees the count rise within the first minute."""
NVLINKS = Story("h100", f"""\
title: NVLink gpu2/7 is down, gpu6/3 and gpu1/2 count errors, Xids on gpu1
node: hgx-h100
seed: 5
{_LONG}
faults:
  - {{at: 90s, kind: down, link: nvlink/gpu2/7}}
  - {{at: 90s, kind: counter_rate, link: nvlink/gpu6/3, counter: crc, per_second: 200}}
  - {{at: 90s, kind: counter_rate, link: nvlink/gpu1/2, counter: replay, per_second: 0.5}}
  - {{at: 90s, kind: counter_rate, link: nvlink/gpu4/5, counter: recovery, per_second: 0.1}}
  - {{at: 3m, kind: xid, device: gpu1, xid: 74, port: 6}}
  - {{at: 7m, kind: xid, device: gpu5, xid: 79}}
{_XIDS}""")  # fmt: skip
PORTS = Story("h100", f"""\
title: mlx5_3 is down, mlx5_0 flaps, mlx5_5 trained at half speed, mlx5_6 counts symbol errors
node: hgx-h100
seed: 6
{_LONG}
faults:
  - {{at: 90s, kind: down, link: infiniband/mlx5_3/1}}
  - {{at: 1m10s, kind: flap, link: infiniband/mlx5_0/1, period: 75s, count: 9000, down: 3s}}
  - {{at: 90s, kind: rate, link: infiniband/mlx5_5/1, to: 200 Gb/sec (4X HDR)}}
  - {{at: 90s, kind: counter_rate, link: infiniband/mlx5_6/1, counter: symbol_error, per_second: 20}}
  - {{at: 90s, kind: counter_rate, link: infiniband/mlx5_6/1, counter: port_rcv_remote_physical_errors, per_second: 2}}
  - {{at: 90s, kind: width, link: infiniband/mlx5_7/1, to: 2}}
""")  # fmt: skip
CONGESTION = Story("h100", f"""\
title: mlx5_1 is held back, the rail of mlx5_4 is slow, mlx5_2 sends again, GPUDirect RDMA is off
node: hgx-h100
seed: 7
{_LONG}
faults:
  - {{at: 1m, kind: stall, link: infiniband/mlx5_1/1, ratio: 0.2}}
  - {{at: 90s, kind: slow, link: infiniband/mlx5_4/1, factor: 3}}
  - {{at: 90s, kind: counter_rate, link: infiniband/mlx5_2/1, counter: packet_seq_err, per_second: 20}}
  - {{at: 90s, kind: counter_rate, link: infiniband/mlx5_2/1, counter: out_of_buffer, per_second: 5}}
  - {{at: 90s, kind: counter_rate, link: infiniband/mlx5_2/1, counter: req_transport_retries_exceeded, per_second: 0.1}}
  - {{at: 90s, kind: gdr_off}}
""")  # fmt: skip
ROCE = Story("h200-roce", f"""\
title: mlx5_2 sees ECN marks, mlx5_0 is paused, mlx5_6 pauses its switch, mlx5_7 ignores CNPs, mlx5_3 storms, mlx5_4 flaps
node: roce-h200
seed: 8
{_LONG}
faults:
  - {{at: 90s, kind: ecn, link: roce/mlx5_2/1, ratio: 0.05}}
  - {{at: 90s, kind: pause, link: roce/mlx5_0/1, ratio: 0.1}}
  - {{at: 90s, kind: pause, link: roce/mlx5_6/1, ratio: 0.1, direction: transmit}}
  - {{at: 90s, kind: counter_rate, link: roce/mlx5_7/1, counter: rp_cnp_ignored, per_second: 2}}
  - {{at: 90s, kind: counter_rate, link: roce/mlx5_3/1, counter: tx_pause_storm_error_events, per_second: 0.1}}
  - {{at: 90s, kind: counter_rate, link: roce/mlx5_5/1, counter: rx_prio3_discards, per_second: 5}}
  - {{at: 1m10s, kind: flap, link: roce/mlx5_4/1, period: 25s, count: 20000, down: 2s}}
""")  # fmt: skip
SLOTS = Story("a100", f"""\
title: PCIe of mlx5_4 at half speed, of mlx5_1 at half width; gpu3 and mlx5_2 report PCIe errors
node: hgx-a100
seed: 9
{_LONG}
traffic: [{{pattern: steady, load: 0.5}}]
faults:
  - {{at: 1m, kind: pcie, link: pcie/mlx5_4/upstream, speed: 8.0 GT/s}}
  - {{at: 1m, kind: pcie, link: pcie/mlx5_1/upstream, width: 8}}
  - {{at: 90s, kind: aer, link: pcie/mlx5_2/upstream, severity: correctable, error: BadTLP, count: 15, times: 20000, every: 15s}}
  - {{at: 90s, kind: aer, link: pcie/gpu3/upstream, severity: nonfatal, error: CmpltTO, count: 1, times: 5000, every: 60s}}
""")  # fmt: skip
DOMAIN = Story("gb200", f"""\
title: gpu2 says that its NVLink domain is not well, gpu1 does not get into it
node: gb200-tray
seed: 10
{_LONG}
faults:
  - {{at: 90s, kind: domain, device: gpu2, says: unhealthy}}
  - {{at: 2m, kind: domain, device: gpu1, says: in_progress}}
""")  # fmt: skip
WORKED_ON = Story("h100", f"""\
title: somebody works on it, and mlx5_2 is down meanwhile
node: hgx-h100
seed: 11
{_LONG}
traffic: [{{pattern: idle}}]
faults:
  - {{at: 1m, kind: maintenance}}
  - {{at: 90s, kind: down, link: infiniband/mlx5_2/1}}
""")  # fmt: skip
LOST = Story("h100", f"""\
title: mlx5_5 is gone; the node reboots now and then
node: hgx-h100
seed: 12
{_LONG}
faults:
  - {{at: 3m, kind: unplug, device: mlx5_5}}
  - {{at: 14m, until: 15m, kind: reboot, links_after: 30s}}
  - {{at: 74m, until: 76m, kind: reboot, links_after: 30s}}
  - {{at: 134m, until: 136m, kind: reboot, links_after: 30s}}
""")  # fmt: skip
UNREADABLE = Story("h100", f"""\
title: files of mlx5_7 cannot be read, reads of mlx5_2 hang
node: hgx-h100
seed: 13
{_LONG}
traffic: [{{pattern: mixed}}]
faults:
  - {{at: 90s, kind: read_error, link: infiniband/mlx5_7/1, errno: EIO}}
  - {{at: 4m, kind: hang, source: infiniband, device: mlx5_2}}
""")  # fmt: skip

STORIES = (TRAINING, NVLINKS, PORTS, LOSSLESS, CONGESTION, ROCE, TRAY, SLOTS, DOMAIN, WORKED_ON, LOST, UNREADABLE, MIXED)
"""Those of the first nodes of a fleet, in their order: a small one has the most telling."""
