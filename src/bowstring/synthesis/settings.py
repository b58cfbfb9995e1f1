"""Settings of making data that all benchmarks share: which model writes, and how a synthesis is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bowstring.settings import check_settings, option
from bowstring.synthesis.seeds import FIELD

TEMPERATURE = option("Sampling temperature of the models that write.", min=0, max=2)
SEED = option("The same seed gives the same set, as far as models answer the same.")


@dataclass(frozen=True, slots=True)
class WriterRole:
    """Models by role where one model writes everything: a name, or an object of the caller's."""

    model: Any = field(default=None, metadata=option("The model that writes."))

    def by_role(self) -> dict[str, Any]:
        """The models that a pipeline asks, by role."""
        return {"model": self.model}


@dataclass(frozen=True, slots=True)
class SynthesisOptions:
    """How a synthesis is run: from which seeds, how fast, where to, at what cost."""

    seeds: str | None = field(
        default=None,
        metadata=option("Persona seeds: a text or JSONL file, or a hub id.", shown_default="a bundled list"),
    )
    seeds_field: str = field(default=FIELD, metadata=option("The field of --seeds that has the text."))
    preview: int | None = field(
        default=None, metadata=option("Make only the first N, show them, and write nothing.", min=1, metavar="N")
    )
    out: Path | None = field(
        default=None, metadata=option("The folder to write into.", shown_default="a folder in sets/")
    )
    store: Path | None = field(default=None, metadata=option("The store of responses.", shown_default="beside the set"))
    concurrency: int | None = field(default=None, metadata=option("Requests in flight per model.", min=1))
    fresh: bool = field(default=False, metadata=option("Ask everything again, whatever the store has."))
    max_cost: float | None = field(
        default=None, metadata=option("Stop before the cost exceeds this many dollars.", min=0)
    )
    prices: Path | None = field(default=None, metadata=option("A YAML file of prices that override the built-in ones."))
    prompts: Path | None = field(default=None, metadata=option("A folder of prompts that override the built-in ones."))
    timeout: float = field(default=600.0, metadata=option("Seconds to wait for one answer.", min=1))
    attempts: int = field(default=6, metadata=option("How often a failing request is tried.", min=1))

    def __post_init__(self) -> None:
        check_settings(self)
