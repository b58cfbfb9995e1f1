"""Dataset cards: content, origin and known risks of a set."""

from __future__ import annotations

from collections.abc import Sequence

from bowstring.benchmarks import registry
from bowstring.datasets.card import Origin, origin_of, write_card
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.personal import Finding
from bowstring.models.tokens import TokenCounter


def known_origin(name: str, *, license: str | None = None, made: str | None = None) -> Origin:
    """The origin of a published set, with the given values instead; an error if it is unknown."""
    origins = {known: origin for b in registry.all_benchmarks() for known, origin in b.origins.items()}
    return origin_of(name, origins, license=license, made=made)


def card_of(
    data: DataSet, origin: Origin, findings: Sequence[Finding] | None, counter: TokenCounter | None, *, title: str
) -> str:
    """The card as Markdown; `findings` come from the search for personal information, None if there was none."""
    benchmark = registry.get(data.benchmark)
    described = data.describe(counter)
    return write_card(
        described, origin, findings, title=title, benchmark=benchmark.title, default=benchmark.default_config
    )
