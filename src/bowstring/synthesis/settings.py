"""Synthesis settings that all benchmarks share: which model writes, and how a synthesis runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from bowstring.files.writing import check_file
from bowstring.models.names import AS_OPENAI_HELP
from bowstring.settings import check_settings, option
from bowstring.synthesis.seeds import FIELD

TEMPERATURE = option("Sampling temperature of the writing models.", min=0, max=2)
SEED = option("Random seed; the same seed gives the same set if models answer the same.")


class SynthesisKeywords(TypedDict, total=False):
    """The fields of `SynthesisOptions` as keywords of `bowstring.synthesize`."""

    seeds: str | None
    seeds_field: str
    preview: int | None
    out: str | Path | None
    store: str | Path | None
    concurrency: int | None
    fresh: bool
    max_cost: float | None
    prices: str | Path | None
    prompts: str | Path | None
    timeout: float
    attempts: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    as_openai: Sequence[str]
    served_as: Sequence[str]


@dataclass(frozen=True, slots=True)
class SynthesisOptions:
    """How a synthesis runs: seeds, speed, output, cost."""

    seeds: str | None = field(
        default=None,
        metadata=option("Persona seeds: a text or JSONL file, or a hub id.", shown_default="a bundled list"),
    )
    seeds_field: str = field(default=FIELD, metadata=option("The field of --seeds that contains the text."))
    preview: int | None = field(
        default=None, metadata=option("Generate only the first N, show them, and write nothing.", min=1, metavar="N")
    )
    out: Path | None = field(
        default=None, metadata=option("The folder to write into.", shown_default="a folder in sets/")
    )
    store: Path | None = field(default=None, metadata=option("The store of responses.", shown_default="beside the set"))
    concurrency: int | None = field(
        default=None,
        metadata=option("Requests in flight per model; if it has several servers, per server.", min=1),
    )
    fresh: bool = field(default=False, metadata=option("Send all requests again, even those in the store."))
    max_cost: float | None = field(
        default=None, metadata=option("Stop before the cost exceeds this many dollars.", min=0)
    )
    prices: Path | None = field(default=None, metadata=option("A YAML file of prices that override the built-in ones."))
    prompts: Path | None = field(default=None, metadata=option("A folder of prompts that override the built-in ones."))
    timeout: float = field(default=600.0, metadata=option("Seconds to wait for one response.", min=1))
    attempts: int = field(default=6, metadata=option("Attempts per request.", min=1))
    requests_per_minute: float | None = field(
        default=None, metadata=option("Requests sent to each model per minute, spread evenly.", above=0)
    )
    tokens_per_minute: float | None = field(
        default=None, metadata=option("Tokens of prompts and answers of each model per minute.", above=0)
    )
    as_openai: tuple[str, ...] = field(
        default=(), metadata=option(f"{AS_OPENAI_HELP}; repeatable.", metavar="ROLE", shown_default="")
    )
    served_as: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Name of the model that a server has; required with several servers (openai/NAME@URL1,URL2); ROLE=NAME for "
            "a role other than model; repeatable.",
            metavar="[ROLE=]NAME",
            shown_default="",
        ),
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_file("--store", self.store)
