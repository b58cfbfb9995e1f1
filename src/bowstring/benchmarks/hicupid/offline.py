"""HiCUPID data without a model: users from word banks, up to the published size. The same seed gives the same bytes.

The questions are hard in the same ways as the published ones. A persona shows in what a user does and is never stated.
Other people in the dialogue, and other dialogues, mention other entities. A question names neither the entity nor its
cues. A profile question needs two facts. A schedule question asks for a time that is taken. The text is no substitute
for text by a model or a person: use it for load tests and training experiments.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from bowstring.benchmarks.hicupid.banks import DIMENSIONS, Dimension, Relation, dimension, people, to_you
from bowstring.benchmarks.hicupid.types import Profile, Schedule
from bowstring.benchmarks.hicupid.users import (
    PersonaAssignment,
    PersonaPart,
    QuestionDraft,
    SchedulePart,
    Sizes,
    Turns,
    User,
    assemble_user,
)
from bowstring.errors import UsageError
from bowstring.synthesis.banks import fill
from bowstring.synthesis.quality import gives_away

_WORDS_SAID = 22  # approximate length of a message about a persona
_LONG_REPLY = 20  # words; only shorter replies get a closing remark
_FIRST_DAY = date(2025, 1, 6)
_DAYS = 350


class OfflineHicupid:
    """Generates users one by one; each depends only on the seed and the user's number."""

    def __init__(self, sizes: Sizes, seed: int) -> None:
        self.sizes = sizes
        self.seed = seed
        self.dimensions = [dimension(name) for name in DIMENSIONS[: sizes.dimensions]]
        self._deal = PersonaAssignment(sizes, seed, [d.name for d in self.dimensions])
        there = min(len(d.personas()) for d in self.dimensions)
        if sizes.personas > there:
            least = math.ceil(sizes.users / (there - 1))
            need = f"--users {sizes.users:,} --share {sizes.share} needs {sizes.personas:,} personas per dimension"
            raise UsageError(f"{need}, but the word banks have {there}; expected --share {least} or more")
        self._personas = {d.name: self._table(d) for d in self.dimensions}

    def _table(self, of: Dimension) -> list[tuple[Relation, str]]:
        """The personas that are needed, in a random order that depends on the seed."""
        found = of.personas()
        self._rng("table", of.name).shuffle(found)
        return found[: self.sizes.personas]

    def _rng(self, *what: object) -> random.Random:
        return random.Random("/".join(map(str, (self.seed, *what))))  # noqa: S311 - repeatable on purpose

    def users(self) -> Iterator[User]:
        return (self.user(number) for number in range(self.sizes.users))

    def user(self, number: int) -> User:
        rng = self._rng("user", number)
        profile = _profile(rng)
        asks_profile = set(rng.sample(range(len(self.dimensions)), self.sizes.profile_questions))
        personas = [
            self._persona(number, of, profile, rng, with_profile=n in asks_profile)
            for n, of in enumerate(self.dimensions)
        ]
        return assemble_user(
            number,
            profile.record,
            profile.turns,
            personas,
            _schedules(self.sizes.schedules, rng),
            unseen=number >= self.sizes.seen,
            rng=rng,
        )

    def _persona(
        self, user: int, of: Dimension, profile: _ProfileParts, rng: random.Random, *, with_profile: bool
    ) -> PersonaPart:
        relation, entity = self._personas[of.name][self._deal.persona(user, of.name)]
        situations, questions = _topics(of, entity, rng)
        profile_asked = None
        if with_profile:
            plain = _asked(of, relation, entity, questions[1], situations[1], rng)
            profile_asked = QuestionDraft(
                plain.question, _with_profile(plain.personalized, profile, rng), plain.general
            )
        return PersonaPart(
            of.record(relation, entity),
            self._turns(of, relation, entity, rng),
            _asked(of, relation, entity, questions[0], situations[0], rng),
            profile_asked,
        )

    def _turns(self, of: Dimension, relation: Relation, entity: str, rng: random.Random) -> Turns:
        """A conversation that shows the persona among other topics."""
        kinds = _course(self.sizes.turns, rng)
        shows = _shows(relation, kinds.count("shows"), rng)
        lines = {
            "shows": iter(shows),
            **{k: iter(_several(of.lines[k], kinds.count(k), rng)) for k in ("openers", "neutral", "distract")},
        }
        replies = _several(of.lines["replies"], len(kinds), rng)
        turns = []
        for kind, reply in zip(kinds, replies, strict=True):
            values = _values(of, entity, rng)
            line = next(lines[kind])
            said = _long_enough(_led(fill(line, values), line, rng), people()["tails"], _WORDS_SAID, rng)
            spoken = values | {"s": to_you(values["s"])}
            answered = _dressed(fill(reply, spoken), rng)
            turns.append((said, answered))
        return turns


def _course(turns: int, rng: random.Random) -> list[str]:
    """The kind of each turn: an opener, then evidence (about two in five turns) among other topics."""
    if turns == 1:
        return ["shows"]
    rest = turns - 1
    shows = max(1, round(rest * 0.42))
    distract = rest // 4
    kinds = ["shows"] * shows + ["distract"] * distract + ["neutral"] * (rest - shows - distract)
    rng.shuffle(kinds)
    return ["openers", *kinds]


def _shows(relation: Relation, n: int, rng: random.Random) -> list[str]:
    """Lines that show a persona; at least one names the entity."""
    named = [line for line in relation.shows if "{e}" in line]
    first = rng.choice(named)
    rest = [line for line in relation.shows if line != first]
    found = [first, *_several(rest, n - 1, rng)]
    rng.shuffle(found)
    return found


def _several(lines: Sequence[str], n: int, rng: random.Random) -> list[str]:
    """`n` random lines; none is repeated before all were used once."""
    found: list[str] = []
    while len(found) < n:
        found += rng.sample(lines, min(n - len(found), len(lines)))
    return found


def _values(of: Dimension, entity: str, rng: random.Random) -> dict[str, str]:
    bank = people()
    others = list(of.entities)
    other = rng.choice(others)
    while other == entity:
        other = rng.choice(others)
    return {
        "e": entity,
        "c": rng.choice(of.entities[entity]),
        "o": other,
        "s": rng.choice(of.situations),
        "person": rng.choice(bank["persons"]),
        "place": rng.choice(bank["places"]),
        "time": rng.choice(bank["times"]),
    }


def _led(text: str, line: str, rng: random.Random) -> str:
    """A message with a random beginning; one without slots also gets an end, so that users differ."""
    if "{" not in line:
        return f"{rng.choice(people()['leads'])} {text} {rng.choice(people()['tails'])}"
    return text if rng.random() < 0.6 else f"{rng.choice(people()['leads'])} {text}"


def _dressed(reply: str, rng: random.Random) -> str:
    """A reply with a random beginning and, if it is short, a random closing remark: the banks have few replies."""
    led = f"{rng.choice(people()['reply_leads'])} {reply}"
    return led if len(reply.split()) > _LONG_REPLY else f"{led} {rng.choice(people()['reply_tails'])}"


def _long_enough(text: str, tails: Sequence[str], words: int, rng: random.Random) -> str:
    """A message of about `words` words: remarks are added to a short one."""
    while (missing := words - len(text.split())) > 3 or (missing > 0 and rng.random() < 0.5):
        tail = rng.choice(tails)
        if tail not in text:
            text = f"{text} {tail}"
    return text


def _topics(of: Dimension, entity: str, rng: random.Random) -> tuple[list[str], list[str]]:
    """Two situations and two questions that do not reveal the entity."""
    while True:
        situations, questions = rng.sample(of.situations, 2), rng.sample(of.lines["questions"], 2)
        if not any(gives_away(f"{q} {s}", entity) for q, s in zip(questions, situations, strict=True)):
            return situations, questions


def _asked(
    of: Dimension, relation: Relation, entity: str, question: str, situation: str, rng: random.Random
) -> QuestionDraft:
    values = _values(of, entity, rng) | {"s": situation}
    answers = of.lines["answers_pos" if relation.sentiment == "POS" else "answers_neg"]
    spoken = values | {"s": to_you(situation)}
    return QuestionDraft(
        fill(question, values), fill(rng.choice(answers), spoken), fill(rng.choice(of.lines["general"]), spoken)
    )


class _ProfileParts:
    """A profile, the dialogues that show it, and clauses with which an answer can use it."""

    def __init__(self, record: Profile, turns: Sequence[Turns], uses: Sequence[str]) -> None:
        self.record = record
        self.turns = turns
        self.uses = uses


def _profile(rng: random.Random) -> _ProfileParts:
    bank = people()
    age = rng.choice(bank["ages"])
    chosen: list[dict[str, Any]] = [
        age | {"name": str(rng.randint(age["from"], age["to"]))},
        rng.choices(bank["genders"], weights=[48, 48, 4])[0],
        rng.choice(bank["personalities"]),
        rng.choice(bank["occupations"]),
        rng.choice(bank["incomes"]),
    ]
    turns = []
    for part in chosen:
        said = _long_enough(rng.choice(part["shows"]), bank["tails"], 25, rng)
        answered = _long_enough(rng.choice(bank["replies"]), bank["reply_tails"], 25, rng)
        turns.append([(said, answered)])
    record = Profile(*(part["name"] for part in chosen))
    return _ProfileParts(record, turns, [part["uses"] for part in chosen if "uses" in part])


def _with_profile(answer: str, profile: _ProfileParts, rng: random.Random) -> str:
    """An answer that also uses a fact from the user's profile."""
    uses = rng.choice(profile.uses).rstrip(".,")
    return (
        f"{answer.rstrip('.')}, {uses}." if rng.random() < 0.5 else f"{uses[0].upper()}{uses[1:]}: {_lowered(answer)}"
    )


def _lowered(text: str) -> str:
    """A sentence as it is written after a colon: in lower case, unless it starts with a name or with I."""
    first = text.split(" ", 1)[0]
    return text if first in ("I", "I'd", "I'll", "I've") or not first[1:].islower() else text[0].lower() + text[1:]


def _schedules(n: int, rng: random.Random) -> list[SchedulePart]:
    bank = people()
    events = rng.sample(bank["events"], n)
    requests = rng.sample(bank["requests"], n)
    days = rng.sample(range(_DAYS), n)
    parts = []
    for event, request, day in zip(events, requests, sorted(days), strict=True):
        when = _when(_FIRST_DAY + timedelta(days=day), rng)
        values = {"event": event, "when": when, "request": request}
        said = _long_enough(fill(rng.choice(bank["booking"]), values), bank["tails"], 31, rng)
        answered = _long_enough(fill(rng.choice(bank["confirm"]), values), bank["reply_tails"], 32, rng)
        asked = QuestionDraft(*(fill(rng.choice(bank[k]), values) for k in ("asks", "clash", "books")))
        parts.append(SchedulePart(Schedule(when, event), [(said, answered)], asked))
    rng.shuffle(parts)
    return parts


def _when(day: date, rng: random.Random) -> str:
    hour = rng.randint(8, 20)
    half = ":30" if rng.random() < 0.3 else ""
    return f"{(hour - 1) % 12 + 1}{half} {'AM' if hour < 12 else 'PM'} on {day:%B} {day.day}, {day.year}"


def truth_of(generator: OfflineHicupid) -> dict[str, Any]:
    """The ground truth for `--judge truth`: the words that show that an answer used a fact."""
    bank = people()
    return {
        "made by": "bowstring synth hicupid --offline",
        "seed": generator.seed,
        "entities": {d.category: {name: list(cues) for name, cues in d.entities.items()} for d in generator.dimensions},
        "events": bank["events"],
        "profiles": {
            "occupation": {o["name"]: o["uses"] for o in bank["occupations"]},
            "personality": {p["name"]: p["uses"] for p in bank["personalities"]},
            "income_range": {i["name"]: i["uses"] for i in bank["incomes"]},
            "age": {str(age): a["uses"] for a in bank["ages"] for age in range(a["from"], a["to"] + 1)},
        },
    }
