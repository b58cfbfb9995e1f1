"""What every benchmark says of itself, so that one evaluation can run any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bowstring.errors import UsageError
from bowstring.records import Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that a run would make: of which role, and about how long its answer is. `estimated` where the
    prompt depends on answers that are not there yet."""

    role: str
    prompt: Prompt
    sampling: Sampling
    answer_tokens: int
    estimated: bool = False


# What is stored of a role's answer to a prompt, so that a plan can see further.
Known = Callable[[str, Prompt, Sampling], str | None]


def check_sampling(max_tokens: object, temperature: object, seed: object) -> None:
    if not isinstance(max_tokens, int) or max_tokens < 1:
        raise UsageError(f"max_tokens is {max_tokens!r}; expected a whole number from 1")
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise UsageError(f"temperature is {temperature!r}; expected a number from 0 to 2")
    if not isinstance(seed, int):
        raise UsageError(f"seed is {seed!r}; expected a whole number")


class Benchmark(Protocol):
    """The items of a run, how one becomes a record, and what the records come to."""

    data: Any  # the set that they are from

    def groups(self, limit: int | None) -> list[list[Any]]:
        """Items in the order of the data, those together that share a trunk."""
        ...

    def open_group(self, group: Sequence[Any], askers: Mapping[str, Asker]) -> Work[Any]:
        """What turns the items of a group into records. A role without an asker is the builtin judge's."""
        ...

    def plan(self, group: Sequence[Any], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        """The requests of a group; those whose prompts depend on answers that are not there yet, estimated."""
        ...

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        """Metrics, groups and counts; `shown` has the mean characters of history that an item saw."""
        ...

    def texts(self) -> Iterator[str]:
        """What is said in the histories, one message after another."""
        ...

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        ...
