"""A simulated node's NVML with an open session, a clock that is set by hand, and short ways to ask it."""

import pytest

from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.profiles import Profile
from exporter.sources.nvml_session import WHOLE_GPU, Answers, NvmlError


class Driver(FakeNvml):
    """One that is open, with a clock that is set by hand."""

    def __init__(self, profile: Profile, seed: int = 1, elapsed_s: float = 600.0) -> None:
        self.elapsed_s = elapsed_s
        super().__init__(profile, seed, lambda: self.elapsed_s)
        self.open()

    def one(self, number: int, scope: int = WHOLE_GPU, gpu: int = 0) -> int:
        """One field's value; minus its nvmlReturn where it is refused."""
        answers = self.many(gpu, [(number, scope)])
        return -answers.refused[0] if answers.refused else int(answers.numbers[0])

    def many(self, gpu: int, pairs: list[tuple[int, int]]) -> Answers:
        """Several in one call."""
        return self.batch(gpu, pairs).read()


def code_of(call: object, *arguments: object) -> int:
    """The nvmlReturn with which a call fails."""
    with pytest.raises(NvmlError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.code


def returned_by(call: object, *arguments: object) -> int:
    """The nvmlReturn of a call: 0 if it answers."""
    try:
        call(*arguments)  # type: ignore[operator]
    except NvmlError as error:
        return error.code
    return 0
