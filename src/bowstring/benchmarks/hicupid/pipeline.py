"""HiCUPID data written by models: a table of personas; then profile, schedules, dialogues and questions of each user.

Requests for parts that depend only on a persona name no user, so users who share a persona share these requests.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from bowstring.benchmarks.hicupid import banks
from bowstring.benchmarks.hicupid.banks import DIMENSIONS
from bowstring.benchmarks.hicupid.known import invented_events, known_lives
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
from bowstring.benchmarks.hicupid.reader import (
    READER,
    UNSHOWN_EVENT,
    UNSHOWN_PROFILE,
    USELESS_SCHEDULE,
    HicupidReader,
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

M = TypeVar("M")
_OTHER_PROFILES = 3
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

    def __init__(self, sizes: Sizes, seed: int, seeds: Sequence[str], prompts: PromptFolder, draws: int) -> None:
        self._sizes = sizes
        self._open_reader = partial(HicupidReader, prompts=prompts, draws=draws, seed=seed)
        self._reader: HicupidReader | None = None
        self._profiles: dict[int, asyncio.Future[Profile | Dropped]] = {}
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
        if self._reader is None and READER in maker.askers:
            self._reader = self._open_reader(maker)
        key = f"user {number}"
        sizes = self._sizes
        rng = random.Random(f"{self._seed}/hicupid/{number}")  # noqa: S311 - repeatable on purpose
        with_profile = set(rng.sample(range(len(self._dimensions)), sizes.profile_questions))
        tables = await self._all_tables(maker)
        profile = await self._profile(number, maker)
        if isinstance(profile, Dropped):
            raise profile
        others = await self._other_profiles(number, profile, maker)
        parts: list[Any] = await gather_in_order(
            self._profile_turns(key, profile, others, maker),
            self._schedules(key, profile, maker),
            self._personas(number, key, (profile, others), with_profile, tables, rng, maker),
        )
        (profile_turns, profile_shows), schedules, personas = parts
        if not profile_shows:
            personas = [self._without_profile(part, key, maker) for part in personas]
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

    async def _profile(self, number: int, maker: Maker) -> Profile | Dropped:
        """The profile of a user. It is generated once: readings of other users' data need it, too."""
        if number not in self._profiles:
            self._profiles[number] = asyncio.ensure_future(self._try_profile(number, maker))
        return await asyncio.shield(self._profiles[number])

    async def _try_profile(self, number: int, maker: Maker) -> Profile | Dropped:
        try:
            return await self._make_profile(number, f"user {number}", maker)
        except Dropped as dropped:
            return dropped

    async def _other_profiles(self, number: int, profile: Profile, maker: Maker) -> list[Profile]:
        """Profiles of other users, for the options of a reader, and after them invented ones."""
        if self._reader is None:
            return []
        users = self._sizes.users
        near = list(dict.fromkeys((number + k) % users for k in range(1, _OTHER_PROFILES + 1)))
        made = await gather_in_order(*(self._profile(n, maker) for n in near if n != number))
        found = [other for other in made if isinstance(other, Profile) and other != profile]
        return found + [life.record for life in known_lives()]  # for values that these users have in common

    def _without_profile(self, part: PersonaPart, key: str, maker: Maker) -> PersonaPart:
        if part.profile_asked is not None:
            maker.quality.drop("profile question", f"{key}, {part.persona.category}", UNSHOWN_PROFILE.kind)
        return replace(part, profile_asked=None)

    async def _make_profile(self, number: int, key: str, maker: Maker) -> Profile:
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

    async def _profile_turns(
        self, key: str, profile: Profile, others: Sequence[Profile], maker: Maker
    ) -> tuple[list[list[tuple[str, str]]], bool]:
        """The dialogues, and whether they show the profile."""
        stated = [profile.occupation, profile.personality, profile.income_range]

        def check(made: Sequence[TurnOut]) -> Flaw | None:
            for turn in made:
                if any(value.lower() in turn.user.lower() for value in stated):
                    return Flaw("the dialogue states the profile", turn.user[:120])
            return quality.contains_personal_data(t for turn in made for t in (turn.user, turn.assistant))

        async def unshown(made: Sequence[TurnOut]) -> range:
            if self._reader is None or not self._sizes.profile_questions:
                return range(0)  # nothing depends on what they show
            turns = [[(turn.user, turn.assistant)] for turn in made]
            return range(await self._reader.unread_facts(key, profile, others, turns))

        made, missing = await self._make_all(
            maker,
            "profile dialogues",
            key,
            self._prompt("profile_dialogues", **fields_of(profile)),
            partial(read_list, key="dialogues", model=TurnOut, n=5),
            check,
            unshown,
            UNSHOWN_PROFILE,
            max_tokens=1500,
        )
        return [[(turn.user, turn.assistant)] for turn in made], not missing

    async def _make_all(
        self,
        maker: Maker,
        what: str,
        key: str,
        prompt: Prompt,
        read: Callable[[str], list[M]],
        check: Callable[[Sequence[M]], Flaw | None],
        failing: Callable[[Sequence[M]], Awaitable[Collection[int]]],
        flaw: Flaw,
        *,
        max_tokens: int,
    ) -> tuple[Sequence[M], Collection[int]]:
        """Parts that are written together, and the numbers of those that a reader cannot use. They are requested again
        while there are any; in the end the best attempt is used, and what fails in it is left out."""
        best: tuple[Sequence[M], Collection[int]] | None = None

        async def check_all(made: Sequence[M]) -> Flaw | None:
            nonlocal best
            if found := check(made):
                return found
            missing = await failing(made)
            if best is None or len(missing) < len(best[1]):
                best = (made, missing)
            return flaw if missing else None

        try:
            made = await maker.make(
                "model", what, key=key, prompt=prompt, read=read, check=check_all, max_tokens=max_tokens
            )
        except Dropped:
            if best is None:
                raise
            maker.quality.made[what] += 1
            return best
        return made, ()

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
        events = [s.event for s in schedules]
        events += [event for event in invented_events() if event not in events][: max(0, 4 - len(events))]

        async def unshown(made: Sequence[TurnOut]) -> list[int]:
            if self._reader is None:
                return []
            reads = self._reader.shows_event
            turns = [[(turn.user, turn.assistant)] for turn in made]
            shown = await gather_in_order(
                *(
                    reads(key, f"{key}, appointment {k}", s, events, t)
                    for k, (s, t) in enumerate(zip(schedules, turns, strict=True))
                )
            )
            return [k for k, one in enumerate(shown) if not one]

        async def useless(made: Sequence[QuestionOut]) -> list[int]:
            if self._reader is None:
                return []
            reads = self._reader.flaw_of_schedule_question
            flaws = await gather_in_order(
                *(
                    reads(key, f"{key}, appointment {k}", s, events, q.draft)
                    for k, (s, q) in enumerate(zip(schedules, made, strict=True))
                )
            )
            return [k for k, flaw in enumerate(flaws) if flaw is not None]

        parts: list[Any] = await gather_in_order(
            self._make_all(
                maker,
                "schedule dialogues",
                key,
                self._prompt("schedule_dialogues", schedules=listed),
                partial(read_list, key="dialogues", model=TurnOut, n=n),
                lambda made: flaw_of_schedule_dialogues(made, schedules),
                unshown,
                UNSHOWN_EVENT,
                max_tokens=3000,
            ),
            self._make_all(
                maker,
                "schedule questions",
                key,
                self._prompt("schedule_questions", schedules=listed),
                partial(read_list, key="questions", model=QuestionOut, n=n),
                lambda made: flaw_of_schedule_questions(made, schedules),
                useless,
                USELESS_SCHEDULE,
                max_tokens=3000,
            ),
        )
        (dialogues, unread), (questions, unfit) = parts
        found = []
        for k, (schedule, turn, question) in enumerate(zip(schedules, dialogues, questions, strict=True)):
            if k in unread:
                maker.quality.drop("schedule dialogue", f"{key}, appointment {k}", UNSHOWN_EVENT.kind)
                continue
            if k in unfit:
                maker.quality.drop("schedule question", f"{key}, appointment {k}", USELESS_SCHEDULE.kind)
            asked = None if k in unfit else question.draft
            found.append(SchedulePart(schedule, [(turn.user, turn.assistant)], asked))
        return found

    async def _personas(
        self,
        user: int,
        key: str,
        profiles: tuple[Profile, Sequence[Profile]],
        with_profile: set[int],
        tables: Mapping[str, list[Persona] | Dropped],
        rng: random.Random,
        maker: Maker,
    ) -> list[PersonaPart]:
        """The persona parts; a dialogue that could not be generated is left out with its questions."""
        parts: list[PersonaPart] = []
        asked: list[QuestionOut] = []
        for n, dimension in enumerate(self._dimensions):
            occasions = rng.sample(banks.dimension(dimension).situations, 2)
            table = tables[dimension]
            if isinstance(table, Dropped):
                continue
            persona = table[self._deal.persona(user, dimension)]
            others = [p for p in table if p != persona]
            try:
                turns = await self._dialogue(persona, others, maker)
            except Dropped as dropped:
                maker.quality.drop(dropped.what, f"{key}, {dropped.key}", dropped.reason)
                continue
            # Users who share a persona get different questions, so that no test question is in the training data.
            own = {"occasion": occasions[0]}
            question = await self._question("persona_question", key, (persona, others), own, asked, maker)
            about = None
            if n in with_profile:
                known = fields_of(profiles[0]) | {"occasion": occasions[1]}
                of = (persona, others)
                about = await self._question("profile_question", key, of, known, asked, maker, profiles)
            parts.append(PersonaPart(persona, turns, question, about))
        return parts

    async def _dialogue(self, persona: Persona, others: Sequence[Persona], maker: Maker) -> list[tuple[str, str]]:
        n = self._sizes.turns
        key = f"{persona.category}, {persona.relation} {persona.entity}"

        async def check(made: Sequence[TurnOut]) -> Flaw | None:
            said, answered = [turn.user for turn in made], [turn.assistant for turn in made]
            stated = quality.states_persona(said, answered, persona.relation, persona.entity)
            if self._reader is not None:
                self._reader.count_stated(key, stated=stated is not None)
            flaw = stated or quality.contains_personal_data([*said, *answered])
            if flaw is not None or self._reader is None:
                return flaw
            return await self._reader.flaw_of_dialogue(key, persona, others, list(zip(said, answered, strict=True)))

        made = await maker.make(
            "model",
            "persona dialogue",
            key=key,
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
        of: tuple[Persona, Sequence[Persona]],
        more: Mapping[str, str],
        asked: list[QuestionOut],
        maker: Maker,
        profiles: tuple[Profile, Sequence[Profile]] | None = None,
    ) -> QuestionDraft | None:
        """A question with its answers; None, with a note, if it could not be generated. `of` is its persona with those
        of other users; `profiles`, for a question that needs one, likewise."""
        persona, others = of
        about = f"{persona.category}, {persona.relation} {persona.entity}"

        async def check(made: QuestionOut) -> Flaw | None:
            flaw = quality.first_flaw(
                quality.gives_away(made.question, persona.entity),
                quality.indistinct(made.personalized_answer, made.general_answer),
                quality.repeats(made.question, [q.question for q in asked]),
                quality.repeats_answer(made.general_answer, [q.general_answer for q in asked]),
                quality.contains_personal_data([made.question, made.personalized_answer, made.general_answer]),
            )
            if flaw is not None or self._reader is None:
                return flaw
            named = f"{key}: {about}"
            if profiles is None:
                return await self._reader.flaw_of_question(key, named, persona, others, made.draft)
            return await self._reader.flaw_of_profile_question(key, named, persona, others, *profiles, made.draft)

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
        asked.append(made)
        return made.draft

    def _prompt(self, name: str, **values: str) -> Prompt:
        fixed, rest = self._templates[name].user_parts(**values)
        return Prompt(Trunk(()), (Message("user", (fixed, rest)),))
