"""Request costs: a dated table of list prices, which a user's file can override.

# prices.yaml: dollars per million tokens
openai/my-model: {input: 1.0, cached: 0.25, output: 4.0}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from bowstring.errors import UsageError
from bowstring.files.redaction import error_line, redact
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.models.addresses import public_url
from bowstring.models.interface import Model
from bowstring.records import Usage

_LOCAL = ("embedded/", "python:", "hf/", "vllm/")
_MOST = 1e9  # dollars; larger prices could overflow sums


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens; `cached` applies to prompt tokens served from a prefix cache."""

    input: float
    cached: float
    output: float

    def in_batches(self, factor: float) -> Price:
        """Return the batch API price, where cached tokens cost the same as others."""
        return Price(self.input * factor, self.input * factor, self.output * factor)

    def of(self, usage: Usage) -> float:
        cached = min(usage.cached, usage.prompt)  # a server may count them differently
        fresh = usage.prompt - cached
        return (fresh * self.input + cached * self.cached + usage.completion * self.output) / 1e6


class Prices:
    def __init__(self, table: dict[str, Price], dated: str) -> None:
        self.dated = dated
        self._table = table

    def of(self, model: Model) -> Price | None:
        """Return the price of a model by its name as given, its identity, or its name with the server's host and path
        alone; None if unknown. Local models are free."""
        names = (model.name, model.identity, _without_port(model.name))
        listed = (price for name in names if (price := self._table.get(_public(name))) is not None)
        return next(listed, Price(0, 0, 0) if model.identity.startswith(_LOCAL) else None)

    def named(self, name: str) -> list[str]:
        """Return the listed models that have this name at some provider."""
        return [model for model in self._table if model.partition("/")[2] == name]


def load_prices(override: Path | None = None) -> Prices:
    built_in = yaml.safe_load((files("bowstring.models") / "prices.yaml").read_text(encoding="utf-8"))
    table = {name: Price(**row) for name, row in built_in["prices"].items()}
    dated = str(built_in["dated"])
    if override is None:
        return Prices(table, dated)
    try:
        rows: Any = parse_safe_yaml(override.read_text(encoding="utf-8"))
    except (OSError, ParseError, UnicodeDecodeError) as error:
        raise UsageError(f"{override} cannot be read as prices: {error_line(error)}") from error
    if not isinstance(rows, dict):
        raise UsageError(
            f"{override}: expected one line per model: openai/NAME: {{input: 1.0, cached: 0.5, output: 4.0}}"
        )
    for name, row in rows.items():
        table[_public(str(name))] = _price(override, redact(str(name)), row)
    return Prices(table, f"{dated}, with {override.name}")


def _public(name: str) -> str:
    """Return a model name as models carry it, with its server's URL in one spelling."""
    model, url = _model_and_url(name)
    try:
        url = public_url(url).removesuffix("/chat/completions")
    except ValueError:  # not a URL
        return name
    return f"{model}@{url}" if url else name


def _without_port(name: str) -> str:
    """Return a model name with its server's host and path: one price for a server on any port."""
    model, url = _model_and_url(name)
    parts = urlsplit(url)
    return f"{model}@{parts.hostname or ''}{parts.path.rstrip('/')}" if url else name


def _model_and_url(name: str) -> tuple[str, str]:
    model, *url = re.split(r"@(?=https?://)", name, maxsplit=1)
    return model, "".join(url)


def _price(path: Path, name: str, row: Any) -> Price:
    try:
        price = Price(float(row["input"]), float(row.get("cached", row["input"])), float(row["output"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"{path}: {name}: expected input and output, and cached if it differs") from error
    if not all(0 <= dollars <= _MOST for dollars in (price.input, price.cached, price.output)):
        raise UsageError(f"{path}: {name}: a price is negative, too large, or not a number")
    return price
