"""The synthesis interface of a benchmark, for `bowstring synth` and `synthesize()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bowstring.benchmarks.interface import Noun
from bowstring.datasets.display import Block
from bowstring.models.interface import Model
from bowstring.prompts import PromptFolder
from bowstring.synthesis.making import Maker
from bowstring.synthesis.quality import Quality

Watch = Callable[[int, int], None]  # called with the number of finished things and the total


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated requests, prompt tokens and answer tokens of a role, per thing or once per set."""

    role: str
    requests: int
    prompt: int
    completion: int
    once: bool = False


class SynthesisSettings(Protocol):
    """A frozen dataclass of everything that changes a set; its fields become command options."""

    @property
    def temperature(self) -> float | None:
        """Of all requests; None leaves it to each part."""
        ...

    @property
    def seed(self) -> int: ...

    def configuration(self) -> dict[str, Any]:
        """The settings for the record of the set (made.json)."""
        ...


class Pipeline(Protocol):
    """May have `checking`: what was done about flaws, for the dataset card, if parts are not generated again; and
    `settings`: those that it was made with, with dependent defaults filled in."""

    async def make(self, number: int, maker: Maker) -> Any:
        """Generate one thing; raises Dropped if a part of it could not be generated."""
        ...


class OfflineSet(Protocol):
    """A set that can be generated without a model; its settings are checked."""

    @property
    def configuration(self) -> Mapping[str, Any]:
        """What the set depends on besides the seed."""
        ...

    def write(self, folder: Path, watch: Watch) -> Quality:
        """Write the data, and count items and their flaws."""
        ...


class OfflineGenerator(Protocol):
    """Generates sets from word banks, without a model."""

    settings: tuple[str, ...]  # names of the supported settings; others are rejected
    made_by: str  # origin text for the dataset card

    def open(self, settings: Any) -> OfflineSet: ...


class Synthesis(Protocol):
    """Generation of a benchmark's data, thing by thing."""

    about: str  # one line for help
    thing: Noun  # what is generated one by one
    settings: type[Any]  # of SynthesisSettings
    roles: type[Any]  # a dataclass of models by role, with by_role()
    role_titles: Mapping[str, str]  # short titles of the roles of a pipeline
    offline: OfflineGenerator | None

    def count(self, settings: Any) -> int:
        """The number of things to generate."""
        ...

    def estimates(self, settings: Any) -> Sequence[Estimate]:
        """The estimated usage per thing, by role."""
        ...

    def remarks(self, models: Mapping[str, Model]) -> Sequence[str]:
        """What the user should know about the choice of models before anything is asked, a line each."""
        ...

    def pipeline(self, settings: Any, seeds: Sequence[str], prompts: PromptFolder) -> Pipeline: ...

    def finish(self, made: Sequence[Any], quality: Quality) -> Sequence[Any]:
        """What is left of the output of a pipeline after checks that need all of it; what they drop is counted."""
        ...

    def write(self, made: Sequence[Any], folder: Path) -> None:
        """Write the output of a pipeline in the published layout."""
        ...

    def show(self, thing: Any) -> Sequence[Block]:
        """One thing, for a preview."""
        ...
