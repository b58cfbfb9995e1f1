"""What a stage is, what it shows, and how it asks models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bowstring.records import Completion, Dialogue, History, Prompt, Sampling


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question is shown of a history: dialogues as they were, or texts that stand for them.

    `sources` are the ids of the dialogues that it comes from; None if nobody knows, and then no recall is measured.
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
    """Asks the model of a stage's role: stored, budgeted and counted. `expect` is about how long the answer will be, in
    tokens, for a dry run."""

    async def __call__(self, prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion: ...


class Stage(Protocol):
    """One user's history on its way to a prompt. An instance serves one user."""

    name: str  # in failures: what failed
    per_question: bool  # whether two questions of a user may be shown different things

    async def open(self, user: str) -> None:
        """Begin with a user of whom nothing is known."""
        ...

    async def ingest(self, dialogue: Dialogue) -> None:
        """Take in the next dialogue, oldest first; `dialogue.when` is its date, where the data has one."""
        ...

    async def expect(self, questions: Sequence[str]) -> None:
        """The questions that will be asked of this user; a stage may prepare for all of them at once."""
        ...

    async def retrieve(self, question: str) -> Shown:
        """What to show for a question."""
        ...
