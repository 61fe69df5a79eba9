"""What goes wrong with NVML's calls on a simulated node, because somebody wants it to: refusals by call, field and GPU, and waits.

Knows names of methods and nvmlReturns; what goes wrong with the hardware is simulated_gpus.py's.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from exporter.sources.nvml_session import Answers, NvmlError

_Key = TypeVar("_Key")


class NvmlTroubles:
    """`calls` counts every call by the method's name, failed ones included (`read` for a batch's). `before_call`, if set, is told each
    method's name and GPU index (None for the node) before it answers; it may wait or raise."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.before_call: Callable[[str, int | None], None] | None = None
        self.gone: int | None = None
        """While set, every call fails with this nvmlReturn: there is no driver to answer."""
        self._calls_failing: dict[tuple[str, int | None], int] = {}
        self._fields_failing: dict[tuple[int, int | None, int | None], int] = {}

    def fail(self, call: str, code: int | None, gpu: int | None = None) -> None:
        """From now on the method of that name fails with this nvmlReturn, for one GPU (by its number) or all; None ends it."""
        _put(self._calls_failing, (call, gpu), code)

    def fail_field(self, number: int, code: int | None, gpu: int | None = None, link: int | None = None) -> None:
        """The same for one field, of one link or all: its values carry this nvmlReturn."""
        _put(self._fields_failing, (number, gpu, link), code)

    def announce(self, call: str, index: int | None) -> None:
        """A call begins. Raises NvmlError if it fails for every GPU."""
        self.calls[call] += 1
        if self.before_call is not None:
            self.before_call(call, index)
        if self.gone is not None:
            raise NvmlError(call, self.gone)
        self.check(call, None)

    def check(self, call: str, gpu: int | None) -> None:
        """Raises NvmlError if the call fails for this GPU alone."""
        code = self._calls_failing.get((call, gpu))
        if code is not None:
            raise NvmlError(call, code)

    def spoilt(self, gpu: int, pairs: Sequence[tuple[int, int]], answers: Answers) -> Answers:
        """The answers less those that are refused."""
        if not self._fields_failing:
            return answers
        codes = {at: self._field_code(number, gpu, link) for at, (number, link) in enumerate(pairs)}
        return Answers(answers.numbers, {**answers.refused, **{at: code for at, code in codes.items() if code is not None}})

    def _field_code(self, number: int, gpu: int, link: int) -> int | None:
        wanted = ((number, gpu, link), (number, gpu, None), (number, None, link), (number, None, None))
        return next((self._fields_failing[key] for key in wanted if key in self._fields_failing), None)


def _put(codes: dict[_Key, int], key: _Key, code: int | None) -> None:
    if code is None:
        codes.pop(key, None)
    else:
        codes[key] = code
