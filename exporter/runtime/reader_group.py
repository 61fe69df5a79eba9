"""Quick devices of one source, read as one errand: what a pass costs beside its reads is then paid once and not for each device.

If one of them holds the thread, the group is abandoned: the held thread stops after the read that holds it, and the others can be read by
another thread at once. Knows no schedule; the ledger decides who belongs to a group.
"""

from collections.abc import Sequence

from exporter.model.metric import Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.collect import DeviceReader, Source, read_guarded

GROUP = "(group)"
"""Subject of a group while it is whole. No device can be named so."""


class ReaderGroup:
    """A DeviceReader of several DeviceReaders. Its Snapshots are those of its members, in their order."""

    cadences: Sequence[Cadence] = tuple(Cadence)

    def __init__(self, source: Source, members: Sequence[DeviceReader]) -> None:
        self.members = tuple(members)
        self._read_many = getattr(source, "read_many", None)
        self._source = source
        self._at: DeviceReader | None = None
        self._held_by: DeviceReader | None = None
        self.abandoned = False

    @property
    def subject(self) -> str:
        """GROUP; once abandoned, the member that held the thread."""
        return self._held_by.subject if self._held_by is not None else GROUP

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """Not how a group is read: it has a Snapshot for each member."""
        raise NotImplementedError

    def read_together(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One Snapshot for each member and cadence; less if the group was abandoned meanwhile."""
        if self._read_many is not None:
            try:
                return tuple(self._read_many(self.members, cadences, self._enter, wall_s, monotonic_s))
            except Exception:  # noqa: BLE001  # one by one below, whoever raises gets a Fault of his own
                if self.abandoned:
                    return ()
        found: list[Snapshot] = []
        for position, member in enumerate(self.members):
            if not self._enter(position):
                break
            found += read_guarded(self._source, member, cadences, wall_s, monotonic_s)
        return tuple(found)

    def _enter(self, position: int) -> bool:
        """Before a member is read: note which one it is; False if the group was abandoned. No lock: noting comes before looking here, and
        looking after noting in `abandon`, so that no member is read whom `abandon` does not know."""
        self._at = self.members[position]
        return not self.abandoned

    def abandon(self) -> None:
        """Let no further member be read by the thread that is in here now."""
        self.abandoned = True
        self._held_by = self._at

    def close(self) -> None:
        """Members close themselves."""
