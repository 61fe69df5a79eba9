"""A simulated node with planned faults, moved to times of the scenario, and short ways to look at what its hardware shows."""

from collections.abc import Callable

from exporter.simulator.hardware import ScenarioHardware
from exporter.simulator.layout import port_folder
from exporter.simulator.nvlink_counters import Counter, counter_of
from exporter.simulator.scenario import PlannedFault, Scenario, Traffic
from exporter.simulator.traffic_patterns import PATTERNS
from exporter.simulator.tree_ethtool import TreeEthtool

NODE = "hgx-h100"


def planned(kind: str, target: str = "", at_s: float = 60.0, until_s: float | None = 120.0, number: int = 0,
            **values: float | str) -> PlannedFault:  # fmt: skip
    """One fault, from 60 s to 120 s unless said otherwise."""
    return PlannedFault(number, kind, at_s, until_s, target, values)


def traffic(name: str = "training", to_s: float = 7200.0, **values: float) -> Traffic:
    """One pattern all the time."""
    pattern = PATTERNS[name]
    return Traffic(0.0, to_s, pattern.flows({**pattern.keys, **values}))


def scenario(*faults: PlannedFault, node: str = NODE, seed: int = 1, pattern: str = "training") -> Scenario:
    """These faults, numbered, on a node for two hours."""
    numbered = tuple(PlannedFault(number, one.kind, one.at_s, one.until_s, one.target, one.values) for number, one in enumerate(faults))
    return Scenario(node, 7200.0, seed, traffic=(traffic(pattern),), faults=numbered)


class Watched:
    """The hardware of a scenario at a time of it."""

    def __init__(self, *faults: PlannedFault, node: str = NODE, pattern: str = "training") -> None:
        self.hardware = ScenarioHardware(scenario(*faults, node=node, pattern=pattern))

    def at(self, t_s: float) -> "Watched":
        """Moved to that time."""
        self.hardware.advance(self.hardware.head_start_s + t_s)
        return self

    def text(self, path: str) -> str | None:
        """What a file of /sys says; None if it is not there."""
        content = self.hardware.tree.content(path)
        return None if content is None else content.decode().rstrip("\n")

    def port(self, name: str, device: str = "mlx5_3") -> str | None:
        """What a file of a port says."""
        return self.text(f"class/infiniband/{device}/ports/1/{name}")

    def count(self, name: str, device: str = "mlx5_3") -> int:
        """A counter of a port."""
        return int(self.port(name, device) or -1)

    def statistic(self, name: str, device: str = "mlx5_8") -> int:
        """A statistic of the driver of an Ethernet port."""
        netdev = next(hca.netdev for hca in self.hardware.profile.hcas if hca.name == device)
        ethtool = TreeEthtool(self.hardware.tree)
        names = ethtool.names(netdev)
        return dict(zip(names, ethtool.values(netdev, len(names)), strict=True))[name]

    def netdev(self, name: str, device: str = "mlx5_3") -> str | None:
        """What a file of a port's interface says."""
        hca = next(hca for hca in self.hardware.profile.hcas if hca.name == device)
        return self.text(f"{port_folder(hca).partition('/infiniband/')[0]}/net/{hca.netdev}/{name}")

    def nvlink(self, gpu: int, link: int, counter: Counter) -> int:
        """A counter of an NVLink, by its field."""
        gpus = self.hardware.nvml.gpus
        found = gpus.counter(gpus.moment(gpu), link, counter_of(counter) if isinstance(counter, int) else counter)
        assert found is not None
        return found

    def field(self, gpu: int, number: int, link: int) -> int:
        """A field of an NVLink as the driver answers it; minus its nvmlReturn where it is refused."""
        nvml = self.hardware.nvml
        if not nvml.is_open:
            nvml.open()
        answers = nvml.batch(gpu, [(number, link)]).read()
        return -answers.refused[0] if answers.refused else int(answers.numbers[0])

    def growth(self, read: Callable[[], int], from_s: float, to_s: float) -> int:
        """How much a number grows between two times."""
        self.at(from_s)
        before = read()
        self.at(to_s)
        return read() - before
