"""What a scraper asked to see: sources, names, tier. Knows the query's grammar and its limits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from exporter.model.metric import Tier

EXPORTER = "exporter"
"""The name under which `?collect[]=` selects the exporter's own series."""

VALUES_MAX = 64
"""Values of one parameter, at most: a selection is a key of the page cache."""


class SelectionError(ValueError):
    """A query that cannot be answered; the text is one line for the person who sent it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A subset of the page. Empty `sources` or `names` means all."""

    tier: Tier
    sources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def wants_source(self, source: str) -> bool:
        """Whether series of this source belong to the page."""
        return not self.sources or source in self.sources

    def wants_name(self, name: str) -> bool:
        """Whether the metric of this public name belongs to the page."""
        return not self.names or name in self.names


def selection_of(query: Mapping[str, Sequence[str]], known_sources: Collection[str], default_tier: Tier) -> Selection:
    """The Selection for `?collect[]=SOURCE&name[]=METRIC&tier=…`. Raises SelectionError for an unknown source, tier or parameter flood."""
    if not query:
        return _whole_page(default_tier)
    sources, names, tiers = query.get("collect[]", ()), query.get("name[]", ()), query.get("tier", ())
    if len(sources) > VALUES_MAX or len(names) > VALUES_MAX or len(tiers) > 1:
        raise SelectionError(f"too many parameters: at most {VALUES_MAX} collect[], {VALUES_MAX} name[] and one tier")
    unknown = sorted(set(sources) - set(known_sources) - {EXPORTER})
    if unknown:
        raise SelectionError(f"unknown source {unknown[0]!r} in collect[]; known: {', '.join(sorted({*known_sources, EXPORTER}))}")
    try:
        tier = Tier[tiers[0].upper()] if tiers else default_tier
    except KeyError:
        raise SelectionError(f"unknown tier {tiers[0]!r}; known: {', '.join(t.name.lower() for t in Tier)}") from None
    return Selection(tier, frozenset(sources), frozenset(names))


@lru_cache(len(Tier))
def _whole_page(tier: Tier) -> Selection:
    return Selection(tier)
