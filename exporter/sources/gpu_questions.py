"""Questions that only some drivers and GPUs answer: asked until one says that there is no such thing, then never again in the session.

Knows the bookkeeping of answers; what is asked is the caller's.
"""

from collections.abc import Callable
from typing import TypeVar

from exporter.sources.fault_list import FaultList
from exporter.sources.field_family import END_OF_GPU, WITHOUT
from exporter.sources.nvml_session import WHOLE_GPU, Nvml, NvmlError, reason_of_code, words_of_code

T = TypeVar("T")


class Questions:
    """Of one GPU (`subject` in Faults), for as long as the session lasts."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._without: set[str] = set()

    def ask(self, what: str, call: Callable[[], T], faults: FaultList) -> T | None:
        """The answer; None where there is none, with a Fault if there should be one. Raises NvmlError if the GPU is gone."""
        if what in self._without:
            return None
        try:
            return call()
        except NvmlError as error:
            if error.code in END_OF_GPU:
                raise
            if error.code in WITHOUT:
                self._without.add(what)
            else:
                faults.add(self._subject, error.reason, f"{what}: {words_of_code(error.code)}")
            return None

    def fields(self, nvml: Nvml, gpu: int, numbers: tuple[int, ...], faults: FaultList, scope: int = WHOLE_GPU) -> dict[int, int]:
        """Whole numbers of these fields in one call, of the GPU or of one of its links, by field; those it does not have are missing and
        not asked for again."""
        asked = [number for number in numbers if f"field {number}" not in self._without]
        pairs = [(number, scope) for number in asked]
        answers = self.ask(f"fields {numbers}", lambda: nvml.batch(gpu, pairs).read(), faults) if asked else None
        if answers is None:
            return {}
        for at, code in answers.refused.items():
            if code in WITHOUT:
                self._without.add(f"field {asked[at]}")
            else:
                faults.add(self._subject, reason_of_code(code), f"field {asked[at]}: {words_of_code(code)}")
        return {number: int(answers.numbers[at]) for at, number in enumerate(asked) if at not in answers.refused}
