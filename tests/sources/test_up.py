"""What `fabric_exporter_source_up` says: 0 as soon as something that is there cannot be read at all."""

import errno

from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.sources.infiniband import InfiniBandSource
from tests.machine import INTERVALS, Machine, everything, machine
from tests.sources.small_hca import UP, Refused, hca, machine_of


class Unlistable:
    """A tree whose folders may not be listed."""

    def __init__(self, code: int) -> None:
        self._code = code

    def listdir(self, path: str) -> list[str]:
        """Refused."""
        raise OSError(self._code, "refused", path)


def infiniband_up(seen: Machine) -> bool | None:
    """The source's state on the page."""
    return next(status.up for status in seen.scene.sources if status.source == "infiniband")


def test_a_class_folder_that_may_not_be_listed_is_not_up() -> None:
    """A source that sees nothing because it may not look must not say that all is well."""
    clock, board = ManualClock(), Board()
    source = InfiniBandSource(Unlistable(errno.EACCES), everything)  # type: ignore[arg-type]  # nothing but listing is reached
    Sampler([(source, INTERVALS)], clock, Inline(clock), board).tick()

    status = board.current(0.0).sources[0]
    assert (status.up, status.devices) == (False, 0)


def test_a_device_whose_port_is_unreadable_is_not_up_though_its_identity_is() -> None:
    """Also while its files rest and give no further fault."""
    refused = {name: Refused(errno.EACCES) for name in UP}
    seen = machine_of(hca("mlx5_0", refused, device_files={"fw_ver": "28.1"})).run(20)

    assert infiniband_up(seen) is False


def test_drivers_without_counters_are_up() -> None:
    """What the hardware does not offer is no failure: N/A in every counter, EINVAL in every counter, no counters folder."""
    assert [infiniband_up(machine(name).run(20)) for name in ("no-pma", "bnxt-re", "irdma", "compat-devices", "no-hardware")] == [True] * 5
