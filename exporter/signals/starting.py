"""Grace: whether the node, a driver or the NVLink domain is still starting, when links that are not up are no news. Pure.

214 of 288 nodes of one site raised a false NVLink-down at planned reboots, each from one look (NVIDIA/NVSentinel#1701). So nothing is
raised for `grace_s` after a boot, after all devices of a driver appeared or vanished at once, and after GPUs began to join their NVLink
domain. It ends sooner only once every expected link has been up for SETTLED_S without a break. "All are up" for one moment is no end: a
driver may not have brought its devices yet, and links that form go up, down and up again. A fault of these minutes is raised when grace
ends, and it ends in any case: a cause lasts `grace_s`, and one that begins more than BEGINS_MAX times in BEGINS_WITHIN_S is a fault itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

SETTLED_S = 120.0
"""So long every expected link is up before an early end: longer than any pause between the steps of a start [D]."""
BEGINS_MAX = 3
BEGINS_WITHIN_S = 3600.0
"""A driver that is loaded anew four times an hour crashes [D]."""
NOT_STARTED, IN_PROGRESS = 1, 2
"""States of a GPU that has yet to join its NVLink domain (nvml.h, NVML_GPU_FABRIC_STATE_…)."""
BOOT, FABRIC = "boot", "fabric"


class Facts(NamedTuple):
    """The node now. `uptime_s` since the kernel started (None: unknown). `devices` counts those of each source whose driver can be loaded
    alone; one that has not answered yet is missing. `fabric_states` are those of its GPUs. `all_up`: every expected link was seen and is
    up; None if nobody can say."""

    monotonic_s: float
    uptime_s: float | None = None
    devices: Mapping[str, int] = {}
    fabric_states: Sequence[int] = ()
    all_up: bool | None = None


class Cause(NamedTuple):
    """Something that starts: the last times (monotonic) when it began, oldest first, and how many devices it had last (-1: never looked
    at; 0 for what has none)."""

    name: str
    begins_s: tuple[float, ...] = ()
    devices: int = -1
    is_on: bool = False
    """A driver's devices are gone, or the fabric forms: a return or another look is no further beginning."""


class Starting(NamedTuple):
    """What is remembered: causes, since when every expected link has been up, and until when causes are settled: those that began before
    ended early."""

    causes: tuple[Cause, ...] = ()
    up_since_s: float | None = None
    settled_s: float | None = None


def step(state: Starting | None, facts: Facts, grace_s: float) -> tuple[Starting, bool, str]:
    """Next state, if the node is in grace, and by what, in words ("" if not). A state is of this process, so of this boot of the machine,
    and its times lie behind."""
    now_s = facts.monotonic_s
    before = Starting() if state is None else state
    causes = tuple(_causes(before, facts, grace_s))
    up_since_s = _up_since(before, facts)
    settled_s = before.settled_s
    if up_since_s is not None and not any(cause.is_on for cause in causes):
        newest_s = max((cause.begins_s[-1] for cause in causes if cause.begins_s), default=up_since_s)
        settled_s = now_s if now_s - max(up_since_s, newest_s) >= SETTLED_S else settled_s
    after = Starting(causes, up_since_s, settled_s)
    active = [cause for cause in causes if _is_active(cause, settled_s, now_s, grace_s)]
    return after, bool(active), "; ".join(_words(cause, now_s) for cause in active)


def _causes(before: Starting, facts: Facts, grace_s: float) -> Iterator[Cause]:
    known = {cause.name: cause for cause in before.causes}
    now_s = facts.monotonic_s
    boot = known.pop(BOOT, Cause(BOOT))
    if not boot.begins_s and facts.uptime_s is not None and 0.0 <= facts.uptime_s < grace_s:
        boot = boot._replace(begins_s=(now_s - facts.uptime_s,))
    yield boot
    yield _fabric(known.pop(FABRIC, Cause(FABRIC)), facts)
    for name, count in facts.devices.items():
        yield _driver(known.pop(name, Cause(name)), count, now_s)
    yield from known.values()


def _fabric(cause: Cause, facts: Facts) -> Cause:
    """A domain that forms at first sight may have done so for weeks (NVIDIA/NVSentinel#891: no fabric manager for 20 days); boot and driver
    have their own grace."""
    if not facts.fabric_states:
        return cause
    forms = any(number in (NOT_STARTED, IN_PROGRESS) for number in facts.fabric_states)
    begins = forms and not cause.is_on and cause.devices >= 0
    return (_begun(cause, facts.monotonic_s) if begins else cause)._replace(devices=0, is_on=forms)


def _driver(cause: Cause, count: int, now_s: float) -> Cause:
    """All of a driver's devices vanish at once when it is unloaded, and appear when it is loaded. Those that were there at first sight
    did not appear just now; some of several that go are lost, not unloaded. The only one looks like both, and its loss waits for the
    end of grace."""
    vanished, appeared = count == 0 < cause.devices, cause.devices == 0 < count
    if vanished:
        cause = _begun(cause, now_s)._replace(is_on=True)
    elif appeared and cause.is_on:
        cause = cause._replace(begins_s=(*cause.begins_s[:-1], now_s), is_on=False)
    elif appeared:
        cause = _begun(cause, now_s)
    return cause._replace(devices=count)


def _begun(cause: Cause, now_s: float) -> Cause:
    return cause._replace(begins_s=(*cause.begins_s, now_s)[-BEGINS_MAX - 1 :])


def _is_active(cause: Cause, settled_s: float | None, now_s: float, grace_s: float) -> bool:
    begins_s = cause.begins_s
    if not begins_s or not now_s - begins_s[-1] < grace_s or (settled_s is not None and begins_s[-1] <= settled_s):
        return False
    return len(begins_s) <= BEGINS_MAX or begins_s[-1] - begins_s[0] > BEGINS_WITHIN_S


def _up_since(before: Starting, facts: Facts) -> float | None:
    """Since when every expected link has been up; None if one is not, or nobody can say."""
    if not facts.all_up:
        return None
    return facts.monotonic_s if before.up_since_s is None else before.up_since_s


def _words(cause: Cause, now_s: float) -> str:
    ago = f"{now_s - cause.begins_s[-1]:.0f} s ago"
    if cause.name == BOOT:
        return f"the machine started {ago}"
    if cause.name == FABRIC:
        return f"GPUs began to join their NVLink domain {ago}"
    return f"devices of {cause.name} {'vanished' if cause.is_on else 'appeared'} {ago}"
