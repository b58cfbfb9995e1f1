"""What a reader is asked about HiCUPID data that a model wrote: can the user's side be read where it should be, and
only there?

dialogues   the persona can be read from its dialogue, and nobody states it
answers     the persona can be read from question and personalized answer, and not from question and general answer
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bowstring.benchmarks.hicupid.known import ANSWERS, DIALOGUES, KNOWN, PROFILES, STATEMENTS
from bowstring.benchmarks.hicupid.reader_options import (
    STATED_OPTIONS,
    as_text,
    fact_of,
    persona_options,
    profile_options,
    with_profile,
)
from bowstring.benchmarks.hicupid.types import Persona, Profile, Schedule
from bowstring.benchmarks.hicupid.users import QuestionDraft, Turns
from bowstring.prompts import PromptFolder, Template
from bowstring.records import Message, Prompt, Trunk, fields_of
from bowstring.synthesis.making import Maker
from bowstring.synthesis.quality import STATED, Flaw
from bowstring.synthesis.rates import Check
from bowstring.synthesis.reader import Choice, Reader

NOTHING = "(nothing of it was kept)"
_UNREAD_FACTS = 1  # values of a profile that may stay unread: personality and gender show less than the others
_SHOWN = Check("persona, from its dialogue")
_BLIND = Check("persona, without the dialogue", "chance")
_ASSISTANT = Check("persona, from the assistant's turns alone", "any")
_UNSTATED = Check("persona is not stated in its dialogue")
_UNSTATED_WORDS = Check("persona is not stated in its dialogue, by words")
_FACTS = Check("profile value, from its dialogue")
_EVENTS = Check("appointment, from its dialogue")
READER = "reader"  # the role
STATED_DRAWS = 3  # there are only two orders of its options
USELESS_SCHEDULE = Flaw("the answers do not show the clash, or both do", "")
UNSHOWN = Flaw("the dialogue does not show the persona", "")
UNSHOWN_PROFILE = Flaw("the dialogues do not show the profile", "")
UNSHOWN_EVENT = Flaw("the dialogue does not show the appointment", "")


@dataclass(frozen=True, slots=True)
class _Answers:
    """The checks of a question's texts, and the flaws that they find."""

    gold: Check
    general: Check
    alone: Check
    needless: Flaw
    telling: Flaw

    @classmethod
    def of(cls, what: str) -> _Answers:
        return cls(
            Check(f"{what}, from question and personalized answer"),
            Check(f"{what}, from question and general answer", "chance"),
            Check(f"{what}, from the question alone", "chance"),
            Flaw(f"the personalized answer does not show the {what}", ""),
            Flaw(f"the general answer shows the {what}", ""),
        )


_PERSONA, _BOTH, _EVENT = map(_Answers.of, ("persona", "persona and profile", "appointment"))


class HicupidReader:
    """Reads what a model wrote; None and empty results where the reader is not able to."""

    def __init__(self, maker: Maker, prompts: PromptFolder, draws: int, seed: int) -> None:
        self._fact = prompts.get("hicupid/synthesis/reader_fact", needs=frozenset({"text", "options"}))
        self._stated = prompts.get("hicupid/synthesis/reader_stated", needs=frozenset({"text", "fact", "options"}))
        known = {kind: partial(build, self._about, self._states) for kind, build in KNOWN.items()}
        self._reader = Reader(maker, READER, known)
        self._draws = draws
        self._seed = seed

    def _about(self, text: str, right: str, wrong: Sequence[str]) -> Choice:
        return Choice(partial(_prompt, self._fact, {"text": text}), right, tuple(wrong))

    def _states(self, text: str, fact: str, *, stated: bool) -> Choice:
        right, wrong = STATED_OPTIONS if stated else STATED_OPTIONS[::-1]
        return Choice(partial(_prompt, self._stated, {"text": text, "fact": fact}), right, (wrong,))

    def _rng(self, *what: object) -> random.Random:
        return random.Random("/".join(map(str, (self._seed, "reader", *what))))  # noqa: S311 - repeatable on purpose

    def _sure(self, right: int) -> bool:
        """Whether so many readings show that it can be read: a coin that has one in four right seldom gets there."""
        return 4 * right > 3 * self._draws

    def count_stated(self, key: str, *, stated: bool) -> None:
        """Count whether the words of a dialogue that was written first state the persona."""
        if self._reader.begins("words", key):
            self._reader.rates.add(_UNSTATED_WORDS, "first", key, key, not stated, 0.0)

    async def flaw_of_dialogue(
        self, key: str, persona: Persona, others: Sequence[Persona], turns: Turns
    ) -> Flaw | None:
        """A flaw if the persona is stated, or cannot be read."""
        first = self._reader.begins("dialogue", key)
        whole, replies = as_text(turns), as_text([("…", answered) for _, answered in turns])

        def choices(text: str, n: int, kind: str = "") -> list[Choice]:
            rng = self._rng("dialogue", key, kind)
            return [self._about(text, *persona_options(persona, others, rng)) for _ in range(n)]

        if await self._reader.able(STATEMENTS):
            fact = fact_of(persona.relation, persona.entity)
            one = self._states(whole, fact, stated=False)
            unstated = await self._reader.read(_UNSTATED, key, [one] * STATED_DRAWS, first=first)
            if 2 * unstated <= STATED_DRAWS:
                return Flaw(STATED, "")
        if await self._reader.able(DIALOGUES):
            shown = await self._reader.read(_SHOWN, key, choices(whole, self._draws), first=first)
            if first:
                await self._reader.read(_BLIND, key, choices(NOTHING, 1, "blind"), first=True)
                await self._reader.read(_ASSISTANT, key, choices(replies, 1, "replies"), first=True)
            if not self._sure(shown):
                return UNSHOWN
            await self._reader.read(_SHOWN, f"{key}/kept", choices(whole, 1, "kept"), cluster=key, kept=True)
        return None

    async def flaw_of_question(
        self, user: str, key: str, persona: Persona, others: Sequence[Persona], draft: QuestionDraft
    ) -> Flaw | None:
        """A flaw if the persona cannot be read from the personalized answer, or can be from the general one."""

        def options(rng: random.Random) -> tuple[str, tuple[str, ...]]:
            return persona_options(persona, others, rng)

        return await self._flaw_of_answers(_PERSONA, user, key, draft, options)

    async def flaw_of_profile_question(
        self,
        user: str,
        key: str,
        persona: Persona,
        others: Sequence[Persona],
        profile: Profile,
        profiles: Sequence[Profile],
        draft: QuestionDraft,
    ) -> Flaw | None:
        """As for a persona; persona and profile must both be read."""

        def options(rng: random.Random) -> tuple[str, tuple[str, ...]]:
            return with_profile(persona, others, profile, profiles, rng)

        return await self._flaw_of_answers(_BOTH, user, key, draft, options)

    async def flaw_of_schedule_question(
        self, user: str, key: str, schedule: Schedule, events: Sequence[str], draft: QuestionDraft
    ) -> Flaw | None:
        return await self._flaw_of_answers(_EVENT, user, key, draft, partial(_event_options, schedule, events))

    async def _flaw_of_answers(
        self,
        of: _Answers,
        user: str,
        key: str,
        draft: QuestionDraft,
        options: Callable[[random.Random], tuple[str, tuple[str, ...]]],
    ) -> Flaw | None:
        if not await self._reader.able(ANSWERS):
            return None
        first = self._reader.begins(of.gold.name, key)
        texts = {
            "gold": f"Question: {draft.question}\nAnswer for this person: {draft.personalized}",
            "general": f"Question: {draft.question}\nAnswer for this person: {draft.general}",
            "alone": f"Question: {draft.question}",
        }

        def choices(what: str, n: int, kept: str = "") -> list[Choice]:
            rng = self._rng(of.gold.name, key, what, kept)
            return [self._about(texts[what], *options(rng)) for _ in range(n)]

        read = partial(self._reader.read, cluster=user)
        gold = await read(of.gold, key, choices("gold", self._draws), first=first)
        general = await read(of.general, key, choices("general", self._draws), first=first)
        if first:
            await read(of.alone, key, choices("alone", 1), first=True)
        if not self._sure(gold):
            return of.needless
        if self._sure(general):
            return of.telling
        for check, what in ((of.gold, "gold"), (of.general, "general")):
            await read(check, f"{key}/kept", choices(what, 1, "kept"), kept=True)
        return None

    async def unread_facts(
        self, key: str, profile: Profile, others: Sequence[Profile], dialogues: Sequence[Turns]
    ) -> int:
        """How many values of a profile cannot be read from their dialogues, beyond those that may be unread."""
        if not await self._reader.able(PROFILES):
            return 0
        first, unread = self._reader.begins("profile", key), 0
        for (name, _), turns in zip(fields_of(profile).items(), dialogues, strict=True):
            rng = self._rng("profile", key, name)
            choices = [
                self._about(as_text(turns), *profile_options(name, profile, others, rng)) for _ in range(self._draws)
            ]
            shown = await self._reader.read(_FACTS, f"{key}/{name}", choices, cluster=key, first=first)
            unread += not self._sure(shown)
        return max(0, unread - _UNREAD_FACTS)

    async def shows_event(self, user: str, key: str, schedule: Schedule, events: Sequence[str], turns: Turns) -> bool:
        """Whether the event can be read from its dialogue."""
        if not await self._reader.able(ANSWERS):
            return True
        rng, first = self._rng("event", key), self._reader.begins("event", key)
        choices = [self._about(as_text(turns), *_event_options(schedule, events, rng)) for _ in range(self._draws)]
        return self._sure(await self._reader.read(_EVENTS, key, choices, cluster=user, first=first))


def _event_options(schedule: Schedule, events: Sequence[str], rng: random.Random) -> tuple[str, tuple[str, ...]]:
    others = rng.sample([event for event in events if event != schedule.event], 3)
    right, *wrong = (f"At {schedule.datetime} they have: {event}." for event in (schedule.event, *others))
    return right, tuple(wrong)


def _prompt(template: Template, values: dict[str, str], options: str) -> Prompt:
    return Prompt(Trunk(()), (Message("user", template.user_pieces(options=options, **values)),))
