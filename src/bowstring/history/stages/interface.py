"""The interface of stages: what a stage is, what it shows, and how it calls models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bowstring.records import Completion, Dialogue, History, Prompt, Sampling


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question is shown of a history: original dialogues, or texts that replace them.

    `sources` are the ids of the dialogues it comes from; None if unknown, and then no recall is measured.
    """

    dialogues: History = ()
    notes: tuple[str, ...] | None = None
    sources: tuple[int, ...] | None = None

    @property
    def turns(self) -> int:
        return sum(message.role == "user" for dialogue in self.dialogues for message in dialogue.messages)

    @property
    def characters(self) -> int:
        return sum(len(message.text) for dialogue in self.dialogues for message in dialogue.messages)


class Ask(Protocol):
    """Calls the model of a stage's role: stored, budgeted and counted. `expect` is the approximate answer length in
    tokens, for a dry run."""

    async def __call__(self, prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion: ...


class Stage(Protocol):
    """Prepares one user's history for prompts. An instance serves one user."""

    name: str  # name of the stage in failures

    async def open(self, user: str) -> None:
        """Start with a new user."""
        ...

    async def ingest(self, dialogue: Dialogue) -> None:
        """Add the next dialogue, oldest first; `dialogue.when` is its date, if the data has one."""
        ...

    async def expect(self, questions: Sequence[str]) -> None:
        """Announce the questions that will be asked for this user; a stage may prepare for all of them at once."""
        ...

    async def retrieve(self, question: str) -> Shown:
        """Return what to show for a question."""
        ...
