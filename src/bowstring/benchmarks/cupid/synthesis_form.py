"""What a pipeline asks for and how it reads the answers: our own form. `published_form.py` has the authors'."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bowstring.benchmarks.cupid.attributes import Attributes, balanced
from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    PersonaOut,
    Series,
    Simulated,
    read_factors,
    read_persona,
    read_series,
    read_simulated,
    structure,
)
from bowstring.judging.structured import Unreadable, read_checklist
from bowstring.synthesis import quality
from bowstring.synthesis.quality import Flaw

_SATISFIED = 10
_LAST_REPLY = "\n\n(This is the last response you get: END now, with a closing message.)"


@dataclass(frozen=True, slots=True)
class Step:
    """Settings of the requests for one kind of part."""

    max_tokens: int
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class Steps:
    persona: Step
    factors: Step
    sessions: Step
    checklist: Step
    reply: Step
    user: Step


class SynthesisForm(Protocol):
    steps: Steps
    verbatim: bool  # requests are the authors': no seed, no repair, and flaws are accepted
    batch: int  # personas per request
    last_reply: str | None  # added to the last reply that the simulated user gets; None if it does not get that one

    def attributes(self, n: int, seed: int) -> list[Attributes]: ...

    def seed_descriptions(self, drawn: Sequence[tuple[int, str, Attributes]]) -> str:
        """Number, seed and attributes of the personas of a request, as text."""
        ...

    def read_personas(self, text: str, n: int) -> tuple[PersonaOut, ...]: ...

    def persona_id(self, number: int, occupation: str) -> str: ...

    def read_factors(self, text: str, n: int) -> tuple[FactorOut, ...]: ...

    def session_values(self, n: int, factors: Sequence[FactorOut], rng: random.Random) -> Mapping[str, str]:
        """What is filled into the prompt for sessions, besides the persona."""
        ...

    def read_series(self, text: str, n: int, factors: Sequence[FactorOut]) -> Series: ...

    def read_checklist(self, text: str) -> tuple[str, ...]: ...

    def simulated_preference(self, preference: str) -> str:
        """What the simulated user's instruction says where it names the preference."""
        ...

    def opening(self, request: str) -> str:
        """The simulated user's first message, as its own output."""
        ...

    def read_simulated(self, text: str, items: int) -> Simulated: ...

    def check_simulated(
        self, checklist: tuple[str, ...], touched: frozenset[int], *, last: bool
    ) -> Callable[[Simulated], Flaw | None]: ...

    def simulator_message(self, found: Simulated) -> str:
        """A message of the simulated user, as it is shown to the simulator later."""
        ...


class BowstringForm:
    steps = Steps(
        persona=Step(800),
        factors=Step(4000),
        sessions=Step(8000),
        checklist=Step(500),
        reply=Step(700),
        user=Step(900),
    )
    verbatim = False
    batch = 1
    last_reply: str | None = _LAST_REPLY

    def attributes(self, n: int, seed: int) -> list[Attributes]:
        return balanced(n, seed)

    def seed_descriptions(self, drawn: Sequence[tuple[int, str, Attributes]]) -> str:
        return "\n".join(f"{k}. {attributes.described(seed)}" for k, (_, seed, attributes) in enumerate(drawn, 1))

    def read_personas(self, text: str, n: int) -> tuple[PersonaOut, ...]:  # noqa: ARG002 - one per request
        return read_persona(text)

    def persona_id(self, number: int, occupation: str) -> str:
        return f"{number}+{'_'.join(occupation.lower().replace('/', ' ').split())}"

    def read_factors(self, text: str, n: int) -> tuple[FactorOut, ...]:
        return read_factors(text, n)

    def session_values(self, n: int, factors: Sequence[FactorOut], rng: random.Random) -> Mapping[str, str]:
        order = structure(n, factors, rng)
        return {
            "series_structure": "\n".join(f"{k}. {factor}, with {which}" for k, (factor, which) in enumerate(order, 1)),
            "first_factor": factors[-1].factor,
            "second_factor": factors[-2].factor,
            "context_factors": "\n".join(f"- {f.factor}: {f.preference}" for f in factors),
        }

    def read_series(self, text: str, n: int, factors: Sequence[FactorOut]) -> Series:
        return read_series(text, n, factors)

    def read_checklist(self, text: str) -> tuple[str, ...]:
        """Parse a checklist; it must have two to four items, as published ones do."""
        found = read_checklist(text)
        if len(found) < 2:
            raise Unreadable("expected 2 to 4 items; there is 1")
        return found

    def simulated_preference(self, preference: str) -> str:  # noqa: ARG002 - the user goes by the checklist alone
        return "(only the checklist says what)"

    def opening(self, request: str) -> str:
        return f"#### Your Message\n{request}"

    def read_simulated(self, text: str, items: int) -> Simulated:
        return read_simulated(text, items)

    def check_simulated(
        self, checklist: tuple[str, ...], touched: frozenset[int], *, last: bool
    ) -> Callable[[Simulated], Flaw | None]:
        return _SimulatedCheck(checklist, touched, last=last)

    def simulator_message(self, found: Simulated) -> str:
        """The message in the simulator's own format, without its reasoning."""
        items = ", ".join(map(str, sorted(found.selected))) or "none"
        return f"#### Selected Checklist Items\n{items}\n\n#### Your Message\n{found.message}"


class _SimulatedCheck:
    """Check of a simulated user's message: it hints at one new item, and by the end every item has been touched."""

    def __init__(self, checklist: tuple[str, ...], touched: frozenset[int], *, last: bool) -> None:
        self._checklist = checklist
        self._touched = touched
        self._last = last

    def __call__(self, found: Simulated) -> Flaw | None:
        seen = found.message[:120]
        if found.ends and (found.score or 0) < _SATISFIED and not self._last:
            return Flaw("the user ends before being satisfied", seen)
        if self._last and not found.ends:
            return Flaw("the user does not close the conversation", seen)
        new = found.selected - self._touched
        if found.ends and set(range(1, len(self._checklist) + 1)) - self._touched - new:
            return Flaw("the closing message forgets an item", seen)
        if not found.ends and not found.selected:
            return Flaw("the feedback hints at nothing", seen)
        if not found.ends and len(new) > 1:
            return Flaw("the feedback hints at several things at once", seen)
        return flaw_of_message(found.message, self._checklist)


def flaw_of_message(message: str, checklist: Sequence[str]) -> Flaw | None:
    return quality.quotes_checklist(message, checklist) or quality.contains_personal_data([message])
