"""Generation of HiCUPID data: settings, pipeline, output and preview, and the offline generator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from bowstring.benchmarks.hicupid.batches import in_batches
from bowstring.benchmarks.hicupid.known import EACH, KNOWN
from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.options import ChoicesWriter
from bowstring.benchmarks.hicupid.pipeline import HicupidPipeline
from bowstring.benchmarks.hicupid.reader import READER, STATED_DRAWS
from bowstring.benchmarks.hicupid.truth import FILE as TRUTH
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.hicupid.users import SetWriter, Sizes, User
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.synthesis import Estimate, OfflineGenerator, Watch
from bowstring.datasets.display import Block, Heading, Line
from bowstring.errors import UsageError
from bowstring.models.interface import Model
from bowstring.prompts import PromptFolder
from bowstring.settings import check_settings, option
from bowstring.synthesis import quality as checks
from bowstring.synthesis.quality import Quality
from bowstring.synthesis.reader import NONE
from bowstring.synthesis.settings import SEED, TEMPERATURE

_USERS_IN_MEMORY = 50
_SHOWN_MESSAGES = 6
_PROFILE_QUESTIONS = 5  # as published
_SHARE = 10  # as published
_FEWEST_TO_SHARE = 150  # users; with fewer, personas are not shared


class HicupidSynthesisKeywords(TypedDict, total=False):
    """The fields of `HicupidSynthesisSettings` as keywords of `bowstring.synthesize`."""

    users: int
    dimensions: int
    turns: int
    schedules: int
    profile_questions: int | None
    share: int | None
    no_clash: float
    temperature: float
    seed: int
    draws: int
    reader: Any


@dataclass(frozen=True, slots=True)
class HicupidSynthesisSettings:
    """Everything that changes the set; defaults as published, except for the number of users."""

    users: int = field(default=10, metadata=option("Number of users; one in six is in test_2.", min=1, max=1_000_000))
    dimensions: int = field(default=25, metadata=option("Personas per user, with one dialogue each.", min=1, max=25))
    turns: int = field(default=10, metadata=option("Turns per dialogue about a persona.", min=1, max=40))
    schedules: int = field(default=10, metadata=option("Appointments per user, with one dialogue each.", min=0, max=10))
    profile_questions: int | None = field(
        default=None,
        metadata=option(
            "Questions per user that need both persona and profile; at most one per dimension.",
            min=0,
            max=_PROFILE_QUESTIONS,
            shown_default=str(_PROFILE_QUESTIONS),
        ),
    )
    share: int | None = field(
        default=None,
        metadata=option(
            "Number of users who share a persona.",
            min=1,
            max=1_000_000,
            shown_default=f"{_SHARE}, or 1 below {_FEWEST_TO_SHARE} users",
        ),
    )
    no_clash: float = field(
        default=0.0,
        metadata=option(
            "Share of schedule questions that ask for a time that is free; offline only. 0 as published.",
            min=0.0,
            max=1.0,
        ),
    )
    temperature: float = field(default=1.0, metadata=TEMPERATURE)
    seed: int = field(default=0, metadata=SEED)
    draws: int = field(
        default=5,
        metadata=option("Readings of each text by --reader, on which it is used or not.", min=2, max=15),
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.profile_questions is not None and self.profile_questions > self.dimensions:
            raise UsageError(f"--profile-questions {self.profile_questions}: expected at most one per dimension")

    @property
    def sizes(self) -> Sizes:
        """The sizes of the set, with derived values filled in."""
        asked = self.profile_questions
        share = self.share
        return Sizes(
            self.users,
            self.dimensions,
            self.turns,
            self.schedules,
            min(_PROFILE_QUESTIONS, self.dimensions) if asked is None else asked,
            (_SHARE if self.users >= _FEWEST_TO_SHARE else 1) if share is None else share,
        )

    def configuration(self) -> dict[str, Any]:
        return {**asdict(self.sizes), "temperature": self.temperature, "seed": self.seed, "draws": self.draws}


@dataclass(frozen=True, slots=True)
class HicupidRoles:
    """The models: writer, and a reader of what was written."""

    model: Any = field(default=None, metadata=option("Model that generates the data."))
    reader: Any = field(
        default=None,
        metadata=option(
            "Model that must infer personas from dialogues and answers; none: only words are checked.",
            shown_default="--model",
        ),
    )

    def by_role(self) -> dict[str, Any]:
        reader = self.model if self.reader is None else self.reader
        return {"model": self.model} | ({} if reader == NONE else {READER: reader})


class HicupidOfflineSet:
    def __init__(self, settings: HicupidSynthesisSettings) -> None:
        self.configuration = {**asdict(settings.sizes), "no_clash": settings.no_clash}
        self._generator = OfflineHicupid(settings.sizes, settings.seed, settings.no_clash)

    def write(self, folder: Path, watch: Watch) -> Quality:
        quality, choices, free = Quality(), ChoicesWriter(), list[str]()
        total = self._generator.sizes.users
        with SetWriter(folder) as writer:
            for users, counted in in_batches(self._generator, _USERS_IN_MEMORY, _checked):
                writer.add(users)
                for user in users:
                    choices.add(user.choices)
                    free += [f"{c.user_id}/{c.question_id}" for c in user.choices if c.clash is False]
                quality.made.update(counted.made)
                quality.flaws.update(counted.flaws)
                watch(quality.made["users"], total)
        choices.write(folder)
        truth = json.dumps(truth_of(self._generator) | {"no_clash": free}, indent=1, ensure_ascii=False)
        (folder / TRUTH).write_text(truth, encoding="utf-8")
        return quality


def _checked(users: Sequence[User]) -> Quality:
    quality = Quality()
    for user in users:
        _count(user, quality)
    return quality


def _count(user: User, quality: Quality) -> None:
    """Count the generated items, and apply the checks of model output to them."""
    quality.made["users"] += 1
    quality.made["dialogues"] += len(user.history)
    quality.made["questions"] += len(user.questions)
    for flaw in _flaws(user):
        quality.flaws[flaw.kind] += 1


def _flaws(user: User) -> Iterator[checks.Flaw]:
    texts = {d.id: [m.text for m in d.messages] for d in user.history}
    asked: list[str] = []
    for q in user.questions:
        found: list[checks.Flaw | None] = [checks.indistinct(q.personalized_answer, q.general_answer)]
        if q.persona is not None:
            found.append(checks.gives_away(q.question, q.persona.entity))
        if q.type == "persona" and q.persona is not None:
            said, answered = texts[q.evidence[-1]][::2], texts[q.evidence[-1]][1::2]
            found.append(checks.states_persona(said, answered, q.persona.relation, q.persona.entity))
        found.append(checks.repeats(q.question, asked))
        asked.append(q.question)
        yield from (flaw for flaw in found if flaw is not None)


class HicupidOfflineGenerator:
    settings: tuple[str, ...] = (
        "users",
        "dimensions",
        "turns",
        "schedules",
        "profile_questions",
        "share",
        "no_clash",
        "seed",
    )
    made_by = (
        "Generated by Bowstring's grammar from word banks, without a language model. Personas show in what users do "
        "and are never stated. It is made for load tests and training experiments, and is no substitute for text that "
        "people or models wrote. All people in it are invented."
    )

    def open(self, settings: HicupidSynthesisSettings) -> HicupidOfflineSet:
        return HicupidOfflineSet(settings)


class HicupidSynthesis:
    about = "HiCUPID: users with personas, a profile and schedules, their dialogues, questions and answers."
    thing = Noun("user", "users")
    settings = HicupidSynthesisSettings
    roles = HicupidRoles
    role_titles: Mapping[str, str] = {"model": "writer", READER: "reader"}
    offline: OfflineGenerator | None = HicupidOfflineGenerator()

    def count(self, settings: HicupidSynthesisSettings) -> int:
        return settings.users

    def estimates(self, settings: HicupidSynthesisSettings) -> list[Estimate]:
        """Estimates per user; shared parts count by their share."""
        s = settings.sizes
        shared = 1 / s.share
        table = s.dimensions * shared
        questions = s.dimensions * shared + s.profile_questions
        prompt = 300 * s.dimensions * shared + 250 * questions + 200 * table / 20 + 1500
        answers = (70 * s.turns + 60) * s.dimensions * shared + 90 * questions + 25 * table + 900 + 230 * s.schedules
        return [
            Estimate("model", round(s.dimensions * shared + questions + 5), round(prompt), round(answers)),
            *self._reading(s, settings.draws),
        ]

    def _reading(self, s: Sizes, draws: int) -> list[Estimate]:
        """Readings of dialogues, also for what is stated; of two answers; of values and appointments."""
        dialogues, options = s.dimensions / s.share, 250
        whole, short = dialogues * (draws + 1 + STATED_DRAWS), dialogues * 2
        asked = s.dimensions + s.profile_questions + s.schedules
        answers = asked * (2 * draws + 3) + (s.schedules + 5) * draws
        requests = whole + short + answers
        prompt = whole * (70 * s.turns + options) + short * (35 * s.turns + options) + answers * (options + 80)
        return [
            Estimate(READER, round(requests), round(prompt), round(3 * requests)),
            Estimate(READER, len(KNOWN) * EACH, 2 * EACH * 700 + 2 * EACH * 320, 3 * len(KNOWN) * EACH, once=True),
        ]

    def remarks(self, models: Mapping[str, Model]) -> list[str]:  # noqa: ARG002 - any choice is good
        return []

    def pipeline(
        self, settings: HicupidSynthesisSettings, seeds: Sequence[str], prompts: PromptFolder
    ) -> HicupidPipeline:
        if settings.no_clash:
            raise UsageError("--no-clash is for --offline; a model writes schedule questions with a clash only")
        return HicupidPipeline(settings.sizes, settings.seed, seeds, prompts, settings.draws)

    def finish(self, made: Sequence[User], quality: Quality) -> list[User]:
        """Drop questions whose general answer is that of an earlier user's question, in the same words."""
        known: set[frozenset[str]] = set()
        found = []
        for user in made:
            kept: list[Question] = []
            for q in user.questions:
                words = frozenset(checks.content_words(q.general_answer))
                if q.type != "schedule" and words in known:
                    quality.drop(f"{q.type} question", f"user {user.user_id}, {q.question_id}", checks.REPEATED_ANSWER)
                else:
                    kept.append(q)
                known.add(words)
            if kept:
                found.append(replace(user, questions=tuple(kept)))
            else:
                quality.drop("user", f"user {user.user_id}", "no question is left")
        return found

    def write(self, made: Sequence[User], folder: Path) -> None:
        with SetWriter(folder) as writer:
            writer.add(made)

    def show(self, thing: User) -> list[Block]:
        """A preview of a user: the first dialogue and the first question of each kind."""
        dialogues, questions = len(thing.history), len(thing.questions)
        blocks: list[Block] = [Heading(f"User {thing.user_id}: {dialogues} dialogues, {questions} questions")]
        for kind, dialogue in {d.kind: d for d in reversed(thing.history)}.items():
            blocks.append(Heading(f"{kind} dialogue"))
            blocks += [Line(message.role, message.text) for message in dialogue.messages[:_SHOWN_MESSAGES]]
        for q in {q.type: q for q in reversed(thing.questions)}.values():
            blocks += [
                Heading(f"{q.type} question"),
                Line("known", _known_fact(q)),
                Line("question", q.question),
                Line("personalized", q.personalized_answer),
                Line("general", q.general_answer),
            ]
        return blocks


def _known_fact(question: Question) -> str:
    if question.persona is not None:
        return f"{question.persona.relation} {question.persona.entity}"
    return f"{question.schedule.event}, {question.schedule.datetime}" if question.schedule is not None else ""
