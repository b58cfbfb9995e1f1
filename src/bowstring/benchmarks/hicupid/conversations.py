"""Dialogues that show a persona, for the offline generator.

A dialogue of ten turns is about four subjects: the user's own and those of three other people. Two of them are liked
and two disliked. Each has two scenes and is named once more beside another one without a side, in random order. So
neither counting mentions, nor recency, nor counting sides shows which subject is the user's, but only who does what.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from bowstring.benchmarks.hicupid.banks import SIDES, Dimension, Scene, people
from bowstring.benchmarks.hicupid.types import Sentiment
from bowstring.benchmarks.hicupid.users import Turns
from bowstring.benchmarks.hicupid.voices import USER, Person, all_persons, slots
from bowstring.synthesis.banks import fill

_SUBJECTS = 4  # of a dialogue
_DRAWS = 100  # of other people's subjects, until enough differ
_TURNS_PER_PAIR = 5  # one turn in five names two subjects without a side
_WITNESSED = 0.25  # share of other people's scenes to which the user adds a word without a side
_WHOLE = 0.2  # share of replies that are not shortened
_ON_THE_SCENE = (
    0.5  # share of remarks about the place or the bystander, where there is one; others are about the subject
)
_LONG_WORD = re.compile(r"\w{4,}|\{\w+\}")
_SENTENCE = re.compile(r"(?<=[.?!]) ")


def other_side(side: Sentiment) -> Sentiment:
    return SIDES[1 - SIDES.index(side)]


@dataclass(frozen=True, slots=True)
class Member:
    """A subject of a dialogue, and who has which side of it."""

    subject: str
    side: Sentiment
    agent: Person


def cast(
    of: Dimension,
    subject: str,
    side: Sentiment,
    pools: Sequence[Sequence[str]],
    used: Sequence[str],
    rng: random.Random,
) -> list[Member]:
    """The user's subject first, then those of others. No two share a word, nor a word with the texts in `used`.

    The others are drawn like the user's, from the subjects that users have: otherwise a subject would show by itself
    whether somebody has it. The first pool is drawn from before the next. A set of few users has too few subjects, so
    there the rest of the bank is used as well.
    """
    words = of.telling_words(" ".join((subject, *used)))
    sides = (side, other_side(side), side, other_side(side))
    agents = [USER, *rng.sample(all_persons(), _SUBJECTS - 1)]
    members = [Member(subject, side, USER)]
    drawn = [name for pool in pools if pool for name in rng.choices(pool, k=_DRAWS)]
    names = [*drawn, *rng.sample(list(of.subjects), len(of.subjects))]
    for name in names:
        if len(members) == _SUBJECTS:
            break
        telling = of.telling_words(name)
        # A name may have no telling word, such as the 5:2 diet.
        if not telling & words and name not in {member.subject for member in members}:
            words |= telling
            n = len(members)
            members.append(Member(name, sides[n], agents[n]))
    return members


def turns_of(of: Dimension, members: Sequence[Member], turns: int, rng: random.Random) -> Turns:
    """A conversation of `turns` turns, with at least one scene of the first member."""
    pairs = turns // _TURNS_PER_PAIR
    told = [*members]
    while len(told) < turns - pairs:
        told += rng.sample(members, len(members))
    scenes = {side: _shuffled(of.scenes[side], turns, rng) for side in SIDES}
    made = [_scene(of, member, scenes[member.side].pop(), rng) for member in told[: turns - pairs]]
    both = _shuffled(of.both, pairs, rng)
    named: list[Member] = []
    for scene in both[:pairs]:
        if len(named) < 2:
            named = rng.sample(members, len(members))
        made.append(_pair(of, named.pop(), named.pop(), scene, rng))
    rng.shuffle(made)
    return made


def _shuffled(lines: Sequence[Scene], n: int, rng: random.Random) -> list[Scene]:
    """At least `n` lines in random order; none is repeated before all were used once."""
    found: list[Scene] = []
    while len(found) < n:
        found = [*rng.sample(lines, len(lines)), *found]
    return found


def _scene(of: Dimension, member: Member, scene: Scene, rng: random.Random) -> tuple[str, str]:
    bystander = rng.choice([p for p in all_persons() if p.pronoun != member.agent.pronoun])
    said, answered = (
        values | slots("A", member.agent, by_assistant=by_assistant) | slots("P", bystander, by_assistant=by_assistant)
        for by_assistant, values in zip((False, True), _setting(of, member.subject, rng), strict=True)
    )
    told = fill(scene.said, said)
    if member.agent is not USER and rng.random() < _WITNESSED and not told.endswith("?"):
        told = f"{told} {rng.choice(people()['witness'])}"
    return told, _answer(of, scene, answered, rng)


def _pair(of: Dimension, one: Member, other: Member, scene: Scene, rng: random.Random) -> tuple[str, str]:
    said, answered = (v | {"x": one.subject, "y": other.subject} for v in _setting(of, one.subject, rng))
    return fill(scene.said, said), _answer(of, scene, answered, rng)


def _setting(of: Dimension, subject: str, rng: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Slots for a message and for its reply, which names the place in short."""
    bank = people()
    place, where = rng.choice(of.places), rng.choice(bank["where"])
    names = {"e": subject, "c": rng.choice(of.subjects[subject]), "where": where}
    names |= {slot: rng.choice(bank[slot]) for slot in ("soon", "soon_after")}
    both = names | {"time": rng.choice(bank["times"])}
    return both | {"place": f"{place} {where}"}, both | {"place": place}


def _answer(of: Dimension, scene: Scene, values: dict[str, str], rng: random.Random) -> str:
    """The reply of a scene, or a part of it that answers, and a remark: the banks have few replies.

    The part that has more words of the message is preferred.
    """
    reply = scene.reply
    first, *rest = _SENTENCE.split(reply)
    if rest and rng.random() >= _WHOLE:
        parts = (first, " ".join(rest))
        weights = [1 + _shared(scene.said, part) for part in parts]
        reply = first if scene.said.endswith("?") else rng.choices(parts, weights)[0]
    return fill(f"{reply} {_remark(of, scene, rng)}", values)


@cache
def _shared(said: str, part: str) -> int:
    """The number of words, of more than a few letters, and slots that a part of a reply shares with the message."""
    return len(set(_LONG_WORD.findall(said.lower())) & set(_LONG_WORD.findall(part.lower())))


def _remark(of: Dimension, scene: Scene, rng: random.Random) -> str:
    bank = people()
    fitting = [bank[k] for k, slot in (("about_place", "{place}"), ("about_person", "{P")) if slot in scene.said]
    lines: Sequence[str] = rng.choice(fitting) if fitting and rng.random() < _ON_THE_SCENE else of.details
    return rng.choice(lines)
