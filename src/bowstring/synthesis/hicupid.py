"""HiCUPID's data made by models: a table of personas, then for each user profile, schedules, dialogues and questions.

What depends on a persona alone is asked for with the persona alone, so users who share one share what was paid for.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from bowstring.benchmarks.benchmark import gather_in_order
from bowstring.judging.structured import Unreadable, read_keyed
from bowstring.prompts import PromptFolder
from bowstring.records import Message, Persona, Profile, Prompt, Schedule, Trunk, fields_of
from bowstring.synthesis import banks, quality
from bowstring.synthesis.banks import DIMENSIONS
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Flaw
from bowstring.synthesis.users import PROFILE_FIELDS, Asked, Deal, PersonaPart, SchedulePart, Sizes, User, put_together

M = TypeVar("M", bound=BaseModel)
_CHUNK = 20  # personas asked for at a time
_YEAR = 2025
_WHEN = re.compile(r"(\d{1,2}(?::\d\d)?) ?(AM|PM) on ([A-Z][a-z]+) (\d{1,2}), (\d{4})")
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


class _PersonaOut(BaseModel):
    relation: str = Field(min_length=2, max_length=80)
    entity: str = Field(min_length=2, max_length=80)
    sentiment: Literal["POS", "NEG"]


class _ProfileOut(BaseModel, coerce_numbers_to_str=True):
    age: str = Field(min_length=1, max_length=20)
    gender: str = Field(min_length=1, max_length=40)
    personality: str = Field(min_length=3, max_length=120)
    occupation: str = Field(min_length=3, max_length=80)
    income_range: str = Field(min_length=2, max_length=60)


class _ScheduleOut(BaseModel):
    datetime: str
    event: str = Field(min_length=4, max_length=120)


class _TurnOut(BaseModel):
    user: str = Field(min_length=10)
    assistant: str = Field(min_length=10)


class _QuestionOut(BaseModel):
    question: str = Field(min_length=10, max_length=300)
    personalized_answer: str = Field(min_length=20, max_length=600)
    general_answer: str = Field(min_length=20, max_length=600)

    @property
    def asked(self) -> Asked:
        return Asked(*(" ".join(t.split()) for t in (self.question, self.personalized_answer, self.general_answer)))


@dataclass(frozen=True, slots=True)
class HicupidSynthesis:
    """What changes the set."""

    sizes: Sizes
    temperature: float = 1.0
    seed: int = 0

    def configuration(self) -> dict[str, Any]:
        return {**asdict(self.sizes), "temperature": self.temperature, "seed": self.seed}


class HicupidPipeline:
    """Makes users one by one; the table of personas is made when the first needs it."""

    def __init__(self, settings: HicupidSynthesis, seeds: Sequence[str], prompts: PromptFolder) -> None:
        self.settings = settings
        self._seeds = seeds
        self._dimensions = DIMENSIONS[: settings.sizes.dimensions]
        self._deal = Deal(settings.sizes, settings.seed, self._dimensions)
        self._tables: dict[str, asyncio.Future[list[Persona] | Dropped]] = {}
        self._templates = {
            name: prompts.get(f"hicupid/synthesis/{name}", needs=frozenset(needs)) for name, needs in _TEMPLATES.items()
        }

    async def make(self, number: int, maker: Maker) -> User:
        """One user; raises Dropped where profile or schedules could not be made."""
        key = f"user {number}"
        sizes = self.settings.sizes
        rng = random.Random(f"{self.settings.seed}/hicupid/{number}")  # noqa: S311 - repeatable on purpose
        with_profile = set(rng.sample(range(len(self._dimensions)), sizes.profile_questions))
        tables = await self._all_tables(maker)
        profile = await self._profile(number, key, maker)
        parts: list[Any] = await gather_in_order(
            self._profile_turns(key, profile, maker),
            self._schedules(key, profile, maker),
            self._personas(number, key, profile, with_profile, tables, rng, maker),
        )
        profile_turns, schedules, personas = parts
        return put_together(
            number,
            profile,
            profile_turns,
            personas,
            schedules,
            unseen=number >= sizes.seen,
            rng=rng,
        )

    async def _all_tables(self, maker: Maker) -> dict[str, list[Persona] | Dropped]:
        """The personas of every dimension; whoever comes first has them made, the others wait."""
        for dimension in self._dimensions:
            if dimension not in self._tables:
                self._tables[dimension] = asyncio.ensure_future(self._table(dimension, maker))
        return {dimension: await asyncio.shield(self._tables[dimension]) for dimension in self._dimensions}

    async def _table(self, dimension: str, maker: Maker) -> list[Persona] | Dropped:
        """A dimension without personas is left out for everybody, and noted once."""
        try:
            return await self._make_table(dimension, maker)
        except Dropped as dropped:
            maker.quality.drop(dropped.what, dropped.key, dropped.reason)
            return dropped

    async def _make_table(self, dimension: str, maker: Maker) -> list[Persona]:
        category = dimension.replace("_", " ")
        found: list[Persona] = []
        while len(found) < self.settings.sizes.personas:
            n = min(_CHUNK, self.settings.sizes.personas - len(found))
            known = [p.entity for p in found]
            made = await maker.make(
                "model",
                "personas",
                key=f"{category} {len(found)}",
                prompt=self._prompt("persona_table", dimension=category, n=str(n), known=", ".join(known) or "none"),
                read=partial(_read_personas, n=n, known=frozenset(e.lower() for e in known)),
                check=lambda made: quality.personal(p.entity for p in made),
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
            read=partial(_read_one, key="occupation", model=_ProfileOut),
            check=lambda made: quality.personal(made.model_dump().values()),
            max_tokens=300,
        )
        return Profile(**{name: " ".join(value.split()) for name, value in made.model_dump().items()})

    async def _profile_turns(self, key: str, profile: Profile, maker: Maker) -> list[list[tuple[str, str]]]:
        stated = [profile.occupation, profile.personality, profile.income_range]

        def check(made: Sequence[_TurnOut]) -> Flaw | None:
            for turn in made:
                if any(value.lower() in turn.user.lower() for value in stated):
                    return Flaw("the dialogue states the profile", turn.user[:120])
            return quality.personal(t for turn in made for t in (turn.user, turn.assistant))

        made = await maker.make(
            "model",
            "profile dialogues",
            key=key,
            prompt=self._prompt("profile_dialogues", **fields_of(profile)),
            read=partial(_read_list, key="dialogues", model=_TurnOut, n=5),
            check=check,
            max_tokens=1500,
        )
        return [[(turn.user, turn.assistant)] for turn in made]

    async def _schedules(self, key: str, profile: Profile, maker: Maker) -> list[SchedulePart]:
        n = self.settings.sizes.schedules
        if not n:
            return []
        described = "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in fields_of(profile).items())
        made = await maker.make(
            "model",
            "schedules",
            key=key,
            prompt=self._prompt("schedules", n=str(n), profile=described, year=str(_YEAR)),
            read=partial(_read_schedules, n=n),
            check=lambda made: quality.personal(s.event for s in made),
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
                read=partial(_read_list, key="dialogues", model=_TurnOut, n=n),
                check=lambda made: _flaw_of_schedule_dialogues(made, schedules),
                max_tokens=3000,
            ),
            maker.make(
                "model",
                "schedule questions",
                key=key,
                prompt=self._prompt("schedule_questions", schedules=listed),
                read=partial(_read_list, key="questions", model=_QuestionOut, n=n),
                check=lambda made: _flaw_of_schedule_questions(made, schedules),
                max_tokens=3000,
            ),
        )
        return [
            SchedulePart(schedule, [(turn.user, turn.assistant)], question.asked)
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
        """The persona parts; a dialogue that could not be made is left out with its questions."""
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
            # Users who share a persona are asked different things: what is tested must not be what was trained on.
            own = {"occasion": occasions[0]}
            question = await self._question("persona_question", key, persona, own, asked, maker)
            about = None
            if n in with_profile:
                known = fields_of(profile) | {"occasion": occasions[1]}
                about = await self._question("profile_question", key, persona, known, asked, maker)
            parts.append(PersonaPart(persona, turns, question, about))
        return parts

    async def _dialogue(self, persona: Persona, maker: Maker) -> list[tuple[str, str]]:
        n = self.settings.sizes.turns

        def check(made: Sequence[_TurnOut]) -> Flaw | None:
            said, answered = [turn.user for turn in made], [turn.assistant for turn in made]
            stated = quality.states_persona(said, answered, persona.relation, persona.entity)
            return stated or quality.personal([*said, *answered])

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
            read=partial(_read_list, key="turns", model=_TurnOut, n=n),
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
    ) -> Asked | None:
        """A question with its answers; None, and a note, where none could be made."""

        def check(made: _QuestionOut) -> Flaw | None:
            return quality.first_flaw(
                quality.gives_away(made.question, persona.entity),
                quality.indistinct(made.personalized_answer, made.general_answer),
                quality.repeats(made.question, asked),
                quality.personal([made.question, made.personalized_answer, made.general_answer]),
            )

        about = f"{persona.category}, {persona.relation} {persona.entity}"
        values = {"relation": persona.relation, "entity": persona.entity, "category": persona.category, **more}
        try:
            made = await maker.make(
                "model",
                template.replace("_", " "),
                key=f"{key}: {about}",
                prompt=self._prompt(template, **values),
                read=partial(_read_one, key="question", model=_QuestionOut),
                check=check,
                max_tokens=400,
            )
        except Dropped as dropped:
            maker.quality.drop(dropped.what, f"{key}, {about}", dropped.reason)
            return None
        asked.append(made.question)
        return made.asked

    def _prompt(self, name: str, **values: str) -> Prompt:
        fixed, rest = self._templates[name].user_parts(**values)
        return Prompt(Trunk(()), (Message("user", (fixed, rest)),))


def _checked(model: type[M], raw: Any) -> M:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        raise Unreadable(f"{'.'.join(map(str, first['loc'])) or 'an entry'}: {first['msg'][:120]}") from error


def _read_one(text: str, key: str, model: type[M]) -> M:
    def convert(value: Any) -> M:
        if not isinstance(value, dict):
            raise Unreadable(f'expected one object with "{key}"')
        return _checked(model, value)

    return read_keyed(text, key, convert)


def _read_list(text: str, key: str, model: type[M], n: int) -> list[M]:
    def convert(value: Any) -> list[M]:
        entries = value[key] if isinstance(value, dict) else value
        if not isinstance(entries, list) or len(entries) != n:
            there = len(entries) if isinstance(entries, list) else "none"
            raise Unreadable(f'expected {n} entries under "{key}"; there are {there}')
        return [_checked(model, raw) for raw in entries]

    return read_keyed(text, key, convert)


def _read_personas(text: str, n: int, known: frozenset[str]) -> list[_PersonaOut]:
    """At least n that are new and differ; the first n of them."""

    def convert(value: Any) -> list[_PersonaOut]:
        entries = value["personas"] if isinstance(value, dict) else value
        if not isinstance(entries, list):
            raise Unreadable('expected {"personas": [...]}')
        new: dict[str, _PersonaOut] = {}
        for raw in entries:
            try:
                made = _checked(_PersonaOut, raw)
            except Unreadable:
                continue  # one bad entry does not spoil the others
            if made.entity.lower() not in known:
                new.setdefault(made.entity.lower(), made)
        if len(new) < n:
            raise Unreadable(f"expected {n} entries with new, different entities; there are {len(new)}")
        return list(new.values())[:n]

    return read_keyed(text, "personas", convert)


def _read_schedules(text: str, n: int) -> list[_ScheduleOut]:
    found = []
    for schedule in _read_list(text, "schedules", _ScheduleOut, n):
        found.append(schedule.model_copy(update={"datetime": _canonical(schedule.datetime)}))
    if len({s.datetime for s in found}) < n:
        raise Unreadable("two appointments are at the same time")
    return found


def _canonical(text: str) -> str:
    """A time in the published form, such as '11 AM on March 13, 2025'; raises Unreadable where it is none."""
    match = _WHEN.fullmatch(" ".join(text.split()))
    if match is None:
        raise Unreadable(f"{text!r:.60} is not of the form '11 AM on March 13, {_YEAR}'")
    hour, _, minute = match[1].partition(":")
    try:
        moment = datetime.strptime(f"{hour}:{minute or '00'} {' '.join(match.groups()[1:])}", "%I:%M %p %B %d %Y")
    except ValueError as error:
        raise Unreadable(f"{text!r:.60} is no time: {error}") from error
    past = f":{moment:%M}" if moment.minute else ""
    return f"{int(hour)}{past} {match[2]} on {moment:%B} {moment.day}, {moment.year}"


def _missing_date(texts: Sequence[str], schedules: Sequence[Schedule]) -> Flaw | None:
    """Whether a text lacks the day or the hour of its appointment."""
    for text, schedule in zip(texts, schedules, strict=True):
        when = _WHEN.fullmatch(schedule.datetime)
        if when is None:
            continue
        day = when[3] in text and re.search(rf"\b{when[4]}(?:st|nd|rd|th)?\b", text)
        if not day or not re.search(rf"\b{when[1]}(?!\d)", text):
            return Flaw("the date or the hour is missing", text[:120])
    return None


def _flaw_of_schedule_dialogues(made: Sequence[_TurnOut], schedules: Sequence[Schedule]) -> Flaw | None:
    missing = _missing_date([f"{turn.user} {turn.assistant}" for turn in made], schedules)
    return missing or quality.personal(text for turn in made for text in (turn.user, turn.assistant))


def _flaw_of_schedule_questions(made: Sequence[_QuestionOut], schedules: Sequence[Schedule]) -> Flaw | None:
    asked = [q.question for q in made]
    flaws: list[Callable[[], Flaw | None]] = [lambda: _missing_date(asked, schedules)]
    for n, (q, s) in enumerate(zip(made, schedules, strict=True)):
        flaws.append(partial(_names_no_clash, q.personalized_answer, s.event))
        flaws.append(partial(quality.gives_away, q.question, s.event))
        flaws.append(partial(quality.indistinct, q.personalized_answer, q.general_answer))
        flaws.append(partial(quality.repeats, q.question, asked[:n]))
        flaws.append(partial(quality.personal, [q.question, q.personalized_answer, q.general_answer]))
    return next((flaw for find in flaws if (flaw := find()) is not None), None)


def _names_no_clash(answer: str, event: str) -> Flaw | None:
    wanted = quality.content(event)
    named = len(wanted & quality.content(answer)) >= 0.5 * len(wanted)
    return None if named else Flaw("the answer does not name the clash", answer[:120])
