"""CUPID data written by models, in four steps: a persona, its context factors, its sessions, the conversations.

The simulated user scores each reply with a hidden checklist and hints at one item at a time. The closing message
touches all items that were not mentioned before, so that even a perfect first reply leaves evidence.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bowstring.benchmarks.cupid.attributes import Attributes, balanced
from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    PersonaOut,
    ScenarioOut,
    Series,
    Simulated,
    build_instances,
    read_factors,
    read_persona,
    read_series,
    read_simulated,
    structure,
)
from bowstring.benchmarks.cupid.types import Instance
from bowstring.concurrency import gather_in_order
from bowstring.judging.structured import Unreadable, read_checklist
from bowstring.prompts import PromptFolder, Template
from bowstring.records import Message, Prompt, Trunk
from bowstring.synthesis import quality
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Flaw

if TYPE_CHECKING:
    from bowstring.benchmarks.cupid.synthesis import CupidSynthesisSettings

_SATISFIED = 10
_LAST_REPLY = "\n\n(This is the last response you get: END now, with a closing message.)"


class CupidPipeline:
    """Generates personas one by one, with three instances each."""

    def __init__(self, settings: CupidSynthesisSettings, seeds: Sequence[str], prompts: PromptFolder) -> None:
        self.settings = settings
        self._seeds = seeds
        self._attributes: list[Attributes] = balanced(settings.personas, settings.seed)
        get = prompts.get
        self._persona = get("cupid/synthesis/persona_generator", needs=frozenset({"seed_descriptions"}))
        self._factors = get("cupid/synthesis/context_factors_generator", needs=frozenset({"n_factors", "user_persona"}))
        self._sessions = get(
            "cupid/synthesis/sessions_generator",
            needs=frozenset({"n_sessions", "user_persona", "context_factors"}),
            may=frozenset({"series_structure", "first_factor", "second_factor"}),
        )
        self._decomposer = get("cupid/synthesis/preference_decomposer", needs=frozenset({"preferences"}))
        self._user = get(
            "cupid/synthesis/user_simulator",
            needs=frozenset({"preference", "checklist"}),
            may=frozenset({"user_profile", "context_factor"}),
        )
        self._assistant = get("cupid/synthesis/assistant_simulator")

    async def make(self, number: int, maker: Maker) -> list[Instance]:
        """The instances of one persona. Raises Dropped if a part could not be generated."""
        key = f"persona {number}"
        rng = random.Random(f"{self.settings.seed}/cupid/{number}")  # noqa: S311 - repeatable on purpose
        persona = await self._make_persona(number, key, maker)
        factors = await maker.make(
            "model",
            "context factors",
            key=key,
            prompt=_prompt(self._factors, n_factors=str(self.settings.factors), user_persona=persona.description),
            read=partial(read_factors, n=self.settings.factors),
            check=lambda found: quality.contains_personal_data(
                t for f in found for t in (f.factor, f.background, f.preference)
            ),
            max_tokens=4000,
        )
        series = await self._make_series(key, persona, factors, rng, maker)
        checklists = await self._make_checklists(key, series, maker)
        conversations = await gather_in_order(
            *(self._converse(key, persona, s, checklists[s.preference], maker) for s in series.scenarios[:-1])
        )
        main = next(f for f in factors if f.factor == series.main)
        name = "_".join(persona.occupation.lower().replace("/", " ").split())
        try:
            return build_instances(f"{number}+{name}", series, conversations, checklists, main.category)
        except Unreadable as error:
            raise Dropped("instances", key, str(error)) from error

    async def _make_persona(self, number: int, key: str, maker: Maker) -> PersonaOut:
        described = self._attributes[number].described(self._seeds[number % len(self._seeds)])
        return await maker.make(
            "model",
            "persona",
            key=key,
            prompt=_prompt(self._persona, seed_descriptions=f"1. {described}"),
            read=read_persona,
            check=lambda found: quality.contains_personal_data([found.description]),
            max_tokens=800,
        )

    async def _make_series(
        self, key: str, persona: PersonaOut, factors: Sequence[FactorOut], rng: random.Random, maker: Maker
    ) -> Series:
        n = self.settings.sessions
        order = structure(n, factors, rng)
        listed = "\n".join(f"- {f.factor}: {f.preference}" for f in factors)
        return await maker.make(
            "model",
            "sessions",
            key=key,
            prompt=_prompt(
                self._sessions,
                n_sessions=str(n),
                series_structure="\n".join(
                    f"{k}. {factor}, with {which}" for k, (factor, which) in enumerate(order, 1)
                ),
                first_factor=factors[-1].factor,
                second_factor=factors[-2].factor,
                user_persona=persona.description,
                context_factors=listed,
            ),
            read=partial(read_series, n=n, factors=factors),
            check=_flaw_of_series,
            max_tokens=8000,
        )

    async def _make_checklists(self, key: str, series: Series, maker: Maker) -> dict[str, tuple[str, ...]]:
        preferences = list(dict.fromkeys(s.preference for s in series.scenarios))
        made = await gather_in_order(
            *(
                maker.make(
                    "judge",
                    "checklist",
                    key=f"{key}: {preference}",
                    prompt=_prompt(self._decomposer, preferences=preference),
                    read=_read_long_checklist,
                    max_tokens=500,
                )
                for preference in preferences
            )
        )
        return dict(zip(preferences, made, strict=True))

    async def _converse(
        self, key: str, persona: PersonaOut, scenario: ScenarioOut, checklist: tuple[str, ...], maker: Maker
    ) -> list[Message]:
        """The messages of a session, from the request to the user's closing message."""
        at = f"{key}, session {scenario.id}"
        numbered = "\n".join(f"{n}. {item}" for n, item in enumerate(checklist, 1))
        values = {
            "user_profile": persona.description,
            "context_factor": scenario.context_factor,
            "preference": scenario.preference,
            "checklist": numbered,
        }
        system = Message("system", (self._user.system_text(**values),))
        helper = Message("system", (self._assistant.system_text(),))
        said = [Message("user", (scenario.request,))]
        thought = [Message("assistant", (f"#### Your Message\n{scenario.request}",))]
        touched: set[int] = set()
        for turn in range(1, self.settings.turns + 1):
            reply = await maker.make_text(
                "assistant", f"{at}/{turn}", _chat(helper, said), _flaw_of_reply, max_tokens=700
            )
            said.append(Message("assistant", (reply,)))
            last = turn == self.settings.turns
            thought.append(Message("user", (reply + _LAST_REPLY if last else reply,)))
            check = _SimulatedCheck(checklist, frozenset(touched), last=last)
            found = await maker.make(
                "judge_user",
                "user message",
                key=f"{at}/{turn}",
                prompt=_chat(system, thought),
                read=partial(read_simulated, items=len(checklist)),
                check=check,
                max_tokens=900,
            )
            touched |= found.selected
            said.append(Message("user", (found.message,)))
            thought.append(Message("assistant", (_simulator_message(found),)))
            if found.ends or last:
                break
        return said


class _SimulatedCheck:
    """Check of a simulated user's message: it hints at one new item, and by the end every item has been touched."""

    def __init__(self, checklist: tuple[str, ...], touched: frozenset[int], *, last: bool) -> None:
        self._checklist = checklist
        self._touched = touched
        self._last = last

    def __call__(self, found: Simulated) -> Flaw | None:
        seen = found.message[:120]
        if found.ends and found.score < _SATISFIED and not self._last:
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
        quoted = quality.quotes_checklist(found.message, self._checklist)
        return quoted or quality.contains_personal_data([found.message])


def _flaw_of_reply(reply: str) -> Flaw | None:
    return quality.too_long(reply) or quality.contains_personal_data([reply])


def _flaw_of_series(series: Series) -> Flaw | None:
    for s in series.scenarios:
        leak = quality.leaks_preference(s.request_with_factor, s.preference, f"{s.context_factor} {s.task_type}")
        if leak is not None:
            return leak
    requests = [s.request_with_factor for s in series.scenarios]
    repeated = (quality.repeats(r, requests[:n]) for n, r in enumerate(requests))
    return quality.first_flaw(*repeated) or quality.contains_personal_data(s.request for s in series.scenarios)


def _read_long_checklist(text: str) -> tuple[str, ...]:
    """Parse a checklist; it must have two to four items, as published ones do."""
    found = read_checklist(text)
    if len(found) < 2:
        raise Unreadable("expected 2 to 4 items; there is 1")
    return found


def _simulator_message(found: Simulated) -> str:
    """A parsed message of the simulated user in the simulator's own format, without its reasoning."""
    items = ", ".join(map(str, sorted(found.selected))) or "none"
    return f"#### Selected Checklist Items\n{items}\n\n#### Your Message\n{found.message}"


def _chat(system: Message, messages: Sequence[Message]) -> Prompt:
    """The prompt of a growing chat: all messages but the last are the trunk."""
    return Prompt(Trunk((system, *messages[:-1])), (messages[-1],))


def _prompt(template: Template, **values: str) -> Prompt:
    user = Message("user", template.user_pieces(**values))
    system = (Message("system", (template.system_text(**values),)),) if template.system else ()
    return Prompt(Trunk(()), (*system, user))
