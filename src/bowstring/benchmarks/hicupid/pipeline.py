"""HiCUPID data written by models: a table of personas; then profile, schedules, dialogues and questions of each user.

Requests for parts that depend only on a persona name no user, so users who share a persona share these requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bowstring.benchmarks.hicupid import banks
from bowstring.benchmarks.hicupid.banks import DIMENSIONS
from bowstring.benchmarks.hicupid.pipeline_parts import (
    YEAR,
    ProfileOut,
    QuestionOut,
    TurnOut,
    flaw_of_schedule_dialogues,
    flaw_of_schedule_questions,
    read_list,
    read_one,
    read_personas,
    read_schedules,
)
from bowstring.benchmarks.hicupid.types import Persona, Profile, Schedule
from bowstring.benchmarks.hicupid.users import (
    PROFILE_FIELDS,
    PersonaAssignment,
    PersonaPart,
    QuestionDraft,
    SchedulePart,
    Sizes,
    User,
    assemble_user,
)
from bowstring.concurrency import gather_in_order
from bowstring.prompts import PromptFolder
from bowstring.records import Message, Prompt, Trunk, fields_of
from bowstring.synthesis import quality
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Flaw

_CHUNK = 20  # personas per request
_TEMPLATES = {
    "persona_table": {"dimension", "n", "known"},
    "profile": {"seed"},
    "schedules": {"n", "profile", "year"},
    "persona_dialogue": {"turns", "relation", "entity", "category"},
    "profile_dialogues": {"age", "gender", "personality", "occupation", "income_range"},
    "schedule_dialogues": {"schedules"},
    "persona_question": {"relation", "entity", "category", "occasion"},
    "profile_question": {"relation", "entity", "category", "occasion", *PROFILE_FIELDS},
    "schedule_questions": {"schedules"},
}


class HicupidPipeline:
    """Generates users one by one; the table of personas is generated with the first user."""

    def __init__(self, sizes: Sizes, seed: int, seeds: Sequence[str], prompts: PromptFolder) -> None:
        self._sizes = sizes
        self._seed = seed
        self._seeds = seeds
        self._dimensions = DIMENSIONS[: sizes.dimensions]
        self._deal = PersonaAssignment(sizes, seed, self._dimensions)
        self._tables: dict[str, asyncio.Future[list[Persona] | Dropped]] = {}
        self._templates = {
            name: prompts.get(f"hicupid/synthesis/{name}", needs=frozenset(needs)) for name, needs in _TEMPLATES.items()
        }

    async def make(self, number: int, maker: Maker) -> User:
        """Generate one user. Raises Dropped if the profile or the schedules could not be generated."""
        key = f"user {number}"
        sizes = self._sizes
        rng = random.Random(f"{self._seed}/hicupid/{number}")  # noqa: S311 - repeatable on purpose
        with_profile = set(rng.sample(range(len(self._dimensions)), sizes.profile_questions))
        tables = await self._all_tables(maker)
        profile = await self._profile(number, key, maker)
        parts: list[Any] = await gather_in_order(
            self._profile_turns(key, profile, maker),
            self._schedules(key, profile, maker),
            self._personas(number, key, profile, with_profile, tables, rng, maker),
        )
        profile_turns, schedules, personas = parts
        return assemble_user(
            number,
            profile,
            profile_turns,
            personas,
            schedules,
            unseen=number >= sizes.seen,
            rng=rng,
        )

    async def _all_tables(self, maker: Maker) -> dict[str, list[Persona] | Dropped]:
        """The personas of every dimension. The first call generates them; concurrent calls wait for it."""
        for dimension in self._dimensions:
            if dimension not in self._tables:
                self._tables[dimension] = asyncio.ensure_future(self._table(dimension, maker))
        made = await gather_in_order(*(asyncio.shield(self._tables[dimension]) for dimension in self._dimensions))
        return dict(zip(self._dimensions, made, strict=True))

    async def _table(self, dimension: str, maker: Maker) -> list[Persona] | Dropped:
        """The personas of a dimension. If it has none, it is left out for all users and noted once."""
        try:
            return await self._make_table(dimension, maker)
        except Dropped as dropped:
            maker.quality.drop(dropped.what, dropped.key, dropped.reason)
            return dropped

    async def _make_table(self, dimension: str, maker: Maker) -> list[Persona]:
        category = dimension.replace("_", " ")
        found: list[Persona] = []
        while len(found) < self._sizes.personas:
            n = min(_CHUNK, self._sizes.personas - len(found))
            known = [p.entity for p in found]
            made = await maker.make(
                "model",
                "personas",
                key=f"{category} {len(found)}",
                prompt=self._prompt("persona_table", dimension=category, n=str(n), known=", ".join(known) or "none"),
                read=partial(read_personas, n=n, known=frozenset(e.lower() for e in known)),
                check=lambda made: quality.contains_personal_data(p.entity for p in made),
                max_tokens=1500,
            )
            found += [Persona(category, p.relation.strip(), p.entity.strip(), p.sentiment) for p in made]
        return found

    async def _profile(self, number: int, key: str, maker: Maker) -> Profile:
        seed = self._seeds[number % len(self._seeds)]
        made = await maker.make(
            "model",
            "profile",
            key=key,
            prompt=self._prompt("profile", seed=seed),
            read=partial(read_one, key="occupation", model=ProfileOut),
            check=lambda made: quality.contains_personal_data(made.model_dump().values()),
            max_tokens=300,
        )
        return Profile(**{name: " ".join(value.split()) for name, value in made.model_dump().items()})

    async def _profile_turns(self, key: str, profile: Profile, maker: Maker) -> list[list[tuple[str, str]]]:
        stated = [profile.occupation, profile.personality, profile.income_range]

        def check(made: Sequence[TurnOut]) -> Flaw | None:
            for turn in made:
                if any(value.lower() in turn.user.lower() for value in stated):
                    return Flaw("the dialogue states the profile", turn.user[:120])
            return quality.contains_personal_data(t for turn in made for t in (turn.user, turn.assistant))

        made = await maker.make(
            "model",
            "profile dialogues",
            key=key,
            prompt=self._prompt("profile_dialogues", **fields_of(profile)),
            read=partial(read_list, key="dialogues", model=TurnOut, n=5),
            check=check,
            max_tokens=1500,
        )
        return [[(turn.user, turn.assistant)] for turn in made]

    async def _schedules(self, key: str, profile: Profile, maker: Maker) -> list[SchedulePart]:
        n = self._sizes.schedules
        if not n:
            return []
        described = "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in fields_of(profile).items())
        made = await maker.make(
            "model",
            "schedules",
            key=key,
            prompt=self._prompt("schedules", n=str(n), profile=described, year=str(YEAR)),
            read=partial(read_schedules, n=n),
            check=lambda made: quality.contains_personal_data(s.event for s in made),
            max_tokens=1200,
        )
        schedules = [Schedule(s.datetime, " ".join(s.event.split())) for s in made]
        listed = "\n".join(f"{k}. {s.event}, {s.datetime}" for k, s in enumerate(schedules, 1))
        parts: list[Any] = await gather_in_order(
            maker.make(
                "model",
                "schedule dialogues",
                key=key,
                prompt=self._prompt("schedule_dialogues", schedules=listed),
                read=partial(read_list, key="dialogues", model=TurnOut, n=n),
                check=lambda made: flaw_of_schedule_dialogues(made, schedules),
                max_tokens=3000,
            ),
            maker.make(
                "model",
                "schedule questions",
                key=key,
                prompt=self._prompt("schedule_questions", schedules=listed),
                read=partial(read_list, key="questions", model=QuestionOut, n=n),
                check=lambda made: flaw_of_schedule_questions(made, schedules),
                max_tokens=3000,
            ),
        )
        return [
            SchedulePart(schedule, [(turn.user, turn.assistant)], question.draft)
            for schedule, turn, question in zip(schedules, *parts, strict=True)
        ]

    async def _personas(
        self,
        user: int,
        key: str,
        profile: Profile,
        with_profile: set[int],
        tables: Mapping[str, list[Persona] | Dropped],
        rng: random.Random,
        maker: Maker,
    ) -> list[PersonaPart]:
        """The persona parts; a dialogue that could not be generated is left out with its questions."""
        parts: list[PersonaPart] = []
        asked: list[str] = []
        for n, dimension in enumerate(self._dimensions):
            occasions = rng.sample(banks.dimension(dimension).situations, 2)
            table = tables[dimension]
            if isinstance(table, Dropped):
                continue
            persona = table[self._deal.persona(user, dimension)]
            try:
                turns = await self._dialogue(persona, maker)
            except Dropped as dropped:
                maker.quality.drop(dropped.what, f"{key}, {dropped.key}", dropped.reason)
                continue
            # Users who share a persona get different questions, so that no test question is in the training data.
            own = {"occasion": occasions[0]}
            question = await self._question("persona_question", key, persona, own, asked, maker)
            about = None
            if n in with_profile:
                known = fields_of(profile) | {"occasion": occasions[1]}
                about = await self._question("profile_question", key, persona, known, asked, maker)
            parts.append(PersonaPart(persona, turns, question, about))
        return parts

    async def _dialogue(self, persona: Persona, maker: Maker) -> list[tuple[str, str]]:
        n = self._sizes.turns

        def check(made: Sequence[TurnOut]) -> Flaw | None:
            said, answered = [turn.user for turn in made], [turn.assistant for turn in made]
            stated = quality.states_persona(said, answered, persona.relation, persona.entity)
            return stated or quality.contains_personal_data([*said, *answered])

        made = await maker.make(
            "model",
            "persona dialogue",
            key=f"{persona.category}, {persona.relation} {persona.entity}",
            prompt=self._prompt(
                "persona_dialogue",
                turns=str(n),
                relation=persona.relation,
                entity=persona.entity,
                category=persona.category,
            ),
            read=partial(read_list, key="turns", model=TurnOut, n=n),
            check=check,
            max_tokens=200 + 160 * n,
        )
        return [(turn.user, turn.assistant) for turn in made]

    async def _question(
        self,
        template: str,
        key: str,
        persona: Persona,
        more: Mapping[str, str],
        asked: list[str],
        maker: Maker,
    ) -> QuestionDraft | None:
        """A question with its answers; None, with a note, if it could not be generated."""

        def check(made: QuestionOut) -> Flaw | None:
            return quality.first_flaw(
                quality.gives_away(made.question, persona.entity),
                quality.indistinct(made.personalized_answer, made.general_answer),
                quality.repeats(made.question, asked),
                quality.contains_personal_data([made.question, made.personalized_answer, made.general_answer]),
            )

        about = f"{persona.category}, {persona.relation} {persona.entity}"
        values = {"relation": persona.relation, "entity": persona.entity, "category": persona.category, **more}
        try:
            made = await maker.make(
                "model",
                template.replace("_", " "),
                key=f"{key}: {about}",
                prompt=self._prompt(template, **values),
                read=partial(read_one, key="question", model=QuestionOut),
                check=check,
                max_tokens=400,
            )
        except Dropped as dropped:
            maker.quality.drop(dropped.what, f"{key}, {about}", dropped.reason)
            return None
        asked.append(made.question)
        return made.draft

    def _prompt(self, name: str, **values: str) -> Prompt:
        fixed, rest = self._templates[name].user_parts(**values)
        return Prompt(Trunk(()), (Message("user", (fixed, rest)),))
