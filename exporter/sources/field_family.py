"""One family of NVML fields of one GPU: which of them it answers (asked once, each alone), and one call for all links in each pass.

Knows no series' meaning: the table is catalog/nvlink_fields.py.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.catalog.nvlink_fields import Family, Field
from exporter.model.bit_error_ratio import bit_error_ratio
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.nvml_session import (
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    PROCESS_WIDE,
    FieldBatch,
    Nvml,
    NvmlError,
)

WITHOUT = frozenset({INVALID_ARGUMENT, NOT_SUPPORTED, FUNCTION_NOT_FOUND})
"""Codes by which a driver says that there is no such thing; a driver older than a field says InvalidArgument."""
END_OF_GPU = PROCESS_WIDE | {GPU_IS_LOST, 16, 28}
"""Codes after which it makes no sense to ask this GPU anything further in this pass."""


class Refusal(NamedTuple):
    """A number that did not come: of which link, by which field, with which nvmlReturn."""

    link: int
    field: Field
    code: int


class FamilyPass(NamedTuple):
    """What one pass brought: for each of `links` in turn one number under each of `keys`, in base units, flat. Numbers at positions in
    `refused` are meaningless."""

    links: tuple[int, ...]
    keys: tuple[SeriesKey, ...]
    numbers: Sequence[Number]
    refused: Mapping[int, Refusal]


class FamilyReader:
    """Of one GPU, for as long as its session lasts."""

    def __init__(self, nvml: Nvml, gpu: int, family: Family) -> None:
        self.family = family
        self.fields: tuple[Field, ...] | None = None
        """Those the GPU answers, one for each series; None until it was asked."""
        self._nvml = nvml
        self._gpu = gpu
        self._asked_active = False
        self._batch: FieldBatch | None = None
        self._links: tuple[int, ...] = ()

    def probe(self, links: Sequence[int], active: Sequence[int]) -> None:
        """Ask for each field alone, on an active link if there is one; again once there is one, if there was none before. Raises NvmlError
        if the GPU is gone."""
        if self.fields is not None and (self._asked_active or not active):
            return
        if not links or (self.family.spares_inactive and not active):
            return
        link = active[0] if active else links[0]
        found: dict[SeriesKey, Field] = {}
        for field in self.family.fields:
            if field.key not in found and self.answers(field, link):
                found[field.key] = field
        self.fields = tuple(found.values())
        self._asked_active = bool(active)
        self._batch = None

    def read(self, links: tuple[int, ...]) -> FamilyPass | None:
        """One call for all these links; if it fails whole, one for each of them. None if the GPU has none of the fields, or no link is
        asked for. Raises NvmlError if the GPU is gone."""
        fields = self.fields
        if not fields or not links:
            return None
        if self._batch is None or links != self._links:
            self._links = links
            self._batch = self._nvml.batch(self._gpu, [(field.number, link) for link in links for field in fields])
        try:
            numbers, refused = self._batch.read()
        except NvmlError as error:
            if error.code in END_OF_GPU:
                raise
            return self._one_by_one(links, fields)
        named = {at: Refusal(links[at // len(fields)], fields[at % len(fields)], code) for at, code in refused.items()}
        return FamilyPass(links, tuple([field.key for field in fields]), _scaled(numbers, fields, len(links)), named)

    def _one_by_one(self, links: tuple[int, ...], fields: tuple[Field, ...]) -> FamilyPass:
        """A call for each link: a link that spoils its call costs only itself."""
        numbers: list[Number] = []
        refused: dict[int, Refusal] = {}
        for link in links:
            at = len(numbers)
            try:
                answers = self._nvml.batch(self._gpu, [(field.number, link) for field in fields]).read()
            except NvmlError as error:
                if error.code in END_OF_GPU:
                    raise
                refused |= {at + i: Refusal(link, field, error.code) for i, field in enumerate(fields)}
                numbers += [0] * len(fields)
                continue
            refused |= {at + i: Refusal(link, fields[i], code) for i, code in answers.refused.items()}
            numbers += answers.numbers
        return FamilyPass(links, tuple([field.key for field in fields]), _scaled(numbers, fields, len(links)), refused)

    def answers(self, field: Field, link: int) -> bool:
        """Whether the GPU has the field. A refusal that may pass (no permission, a busy driver) counts as yes: it is a Fault each time."""
        try:
            refused = self._nvml.batch(self._gpu, [(field.number, link)]).read().refused
        except NvmlError as error:
            if error.code in END_OF_GPU:
                raise
            return error.code not in WITHOUT
        return refused.get(0, 0) not in WITHOUT


def _scaled(numbers: Sequence[Number], fields: Sequence[Field], links: int) -> Sequence[Number]:
    """In base units; the same sequence if they are."""
    if all(field.scale == 1 and not field.is_ratio for field in fields):
        return numbers
    if any(field.is_ratio for field in fields):
        repeated = [field for _ in range(links) for field in fields]
        return [bit_error_ratio(int(n)) if field.is_ratio else n * field.scale for n, field in zip(numbers, repeated, strict=True)]
    scales = [field.scale for field in fields] * links
    return [number * scale for number, scale in zip(numbers, scales, strict=True)]
