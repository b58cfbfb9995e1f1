"""How a benchmark's data is made: what `bowstring synth` and `synthesize()` learn from a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bowstring.benchmarks.interface import Noun
from bowstring.datasets.display import Block
from bowstring.prompts import PromptFolder
from bowstring.synthesis.making import Maker
from bowstring.synthesis.quality import Quality

Watch = Callable[[int, int], None]  # told how many things are made, and of how many


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one thing is likely to take of a role: requests, prompt tokens, answer tokens."""

    role: str
    requests: int
    prompt: int
    completion: int


class SynthesisSettings(Protocol):
    """A frozen dataclass of everything that changes a set; `bowstring.settings` makes options of its fields."""

    @property
    def temperature(self) -> float: ...

    @property
    def seed(self) -> int: ...

    def configuration(self) -> dict[str, Any]:
        """The settings as the set's record has them (made.json)."""
        ...


class Pipeline(Protocol):
    async def make(self, number: int, maker: Maker) -> Any:
        """One thing; raises Dropped where a part of it could not be made."""
        ...


class OfflineSet(Protocol):
    """A set that can be made without a model: its settings are checked."""

    @property
    def configuration(self) -> Mapping[str, Any]:
        """What it depends on besides the seed."""
        ...

    def write(self, folder: Path, watch: Watch) -> Quality:
        """Write its data, and count what was made and what is wrong with it."""
        ...


class OfflineGenerator(Protocol):
    """Makes sets from word banks, without a model."""

    settings: tuple[str, ...]  # names of the settings that it uses; others are refused
    made_by: str  # how its sets were made, for the dataset card

    def open(self, settings: Any) -> OfflineSet: ...


class Synthesis(Protocol):
    """How a benchmark's data is made, thing by thing."""

    about: str  # in one line: what is made
    thing: Noun  # what is made one by one
    settings: type[Any]  # of SynthesisSettings
    roles: type[Any]  # a dataclass of models by role, with by_role(): WriterRole, or more
    role_titles: Mapping[str, str]  # what the roles of a pipeline do, in a word or two
    offline: OfflineGenerator | None

    def count(self, settings: Any) -> int:
        """How many things are made."""
        ...

    def estimates(self, settings: Any) -> Sequence[Estimate]:
        """What one thing is likely to take, by role."""
        ...

    def pipeline(self, settings: Any, seeds: Sequence[str], prompts: PromptFolder) -> Pipeline: ...

    def write(self, made: Sequence[Any], folder: Path) -> None:
        """Write what a pipeline made, in the published layout."""
        ...

    def show(self, thing: Any) -> Sequence[Block]:
        """One thing, to read in a preview."""
        ...
