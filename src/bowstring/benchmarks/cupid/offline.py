"""CUPID data without a model: preferences are rules that a program can check. A seed fixes the result.

A persona has eight contexts. Two of them, the main one and its contrast, have similar names and opposite preferences.
In a session the first draft violates the preference, the user hints at one unmet rule at a time and never states it,
and the session ends when a draft meets all rules. The request, the order of the sessions and whatever a preference does
not ask of a draft are random.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.cupid.banks import matters, talk, work
from bowstring.benchmarks.cupid.drafts import write_draft
from bowstring.benchmarks.cupid.pipeline_parts import (
    PreferenceKind,
    ScenarioOut,
    Series,
    build_instances,
)
from bowstring.benchmarks.cupid.preference_types import category_of
from bowstring.benchmarks.cupid.rules import Rule, met, rules
from bowstring.benchmarks.cupid.types import Instance
from bowstring.records import Message
from bowstring.synthesis.banks import fill

_OTHERS = 6  # contexts besides the pair
_SIZES = {1: 0.2, 2: 0.45, 3: 0.35}  # rules per preference
_MET_AT_ONCE = 0.15  # probability that the first draft meets a rule, of several
_MISSED = 0.4  # probability that a draft does not follow the hint
_DRAFTS = 8  # at most, per session
_NOTES = (7, 10)  # facts that a request gives
# How often each of the other contexts occurs: one of them as often as the main one or more often.
_REPEATS = ((3, 1, 1, 1), (2, 2, 1, 1), (3, 2, 1), (2, 2, 2))


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference as its rules, its sentence and its checklist."""

    rules: tuple[str, ...]
    says: str
    checklist: tuple[str, ...]

    @classmethod
    def of(cls, chosen: Sequence[str], rng: random.Random) -> Preference:
        known = [rules()[one] for one in chosen]
        clauses = [rng.choice(rule.clauses) for rule in known]
        joined = ", ".join(clauses[:-1]) + (" and " if len(clauses) > 1 else "") + clauses[-1]
        items = known[0].items if len(known) == 1 else tuple(rng.choice(rule.items) for rule in known)
        return cls(tuple(chosen), rng.choice(talk()["frames"]).format(list=joined), items)


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona's instances, and what the truth judge needs to know about them."""

    instances: list[Instance]
    preferences: dict[str, tuple[str, ...]]  # by sentence: the rules of every preference of the log
    subject: str  # what the request is about, with key words


class OfflineCupid:
    """Generates personas one by one; each depends only on the seed, its number and its rules."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def persona(self, number: int, *, training: bool = False) -> Persona:
        """A persona; one for training has no held-out rule in any context."""
        name = "training" if training else "cupid"
        rng = random.Random(f"{self._seed}/{name}/{number}")  # noqa: S311 - repeatable on purpose
        known = list(rules().values())
        seen = [rule for rule in known if not rule.held_out]
        own, any_ = (seen, seen) if training else (seen, known)
        if not training and number % 2:  # the main context of every second persona has held-out rules only
            own = [rule for rule in known if rule.held_out]
        main = _drawn(own, rng)
        contrast = tuple(rules()[one].opposite for one in main)
        changed = _changed(main, own, rng)
        others: list[tuple[str, ...]] = []
        while len(others) < _OTHERS:
            one = _drawn(any_, rng)
            if frozenset(one) not in map(frozenset, (main, contrast, changed, *others)):
                others.append(one)
        return _assembled(number, name, [Preference.of(one, rng) for one in (main, contrast, changed, *others)], rng)


def _drawn(pool: Sequence[Rule], rng: random.Random, size: int | None = None) -> tuple[str, ...]:
    """Rules of different groups: a draft can meet or violate each, whatever holds of the others (tested)."""
    groups = {rule.group for rule in pool}
    if size is None:
        size = rng.choices(list(_SIZES), list(_SIZES.values()))[0]
    return tuple(rng.choice([r for r in pool if r.group == g]).id for g in rng.sample(sorted(groups), size))


def _changed(main: Sequence[str], pool: Sequence[Rule], rng: random.Random) -> tuple[str, ...]:
    """A preference that excludes the old one: at least one rule is reversed, and the others are replaced."""
    known = rules()
    turned = rng.sample(list(main), rng.randint(1, max(1, len(main) - 1)))
    taken = {known[one].group for one in main}
    free = _drawn([rule for rule in pool if rule.group not in taken], rng, len(main) - len(turned))
    return (*(known[one].opposite for one in turned), *free)


def _assembled(number: int, name: str, known: Sequence[Preference], rng: random.Random) -> Persona:
    main, contrast, changed, *others = known
    bank = work()
    occupation = rng.choice(bank["occupations"])["name"]
    pair = rng.choice(bank["pairs"])
    first, second = rng.sample(pair["names"], 2)
    contexts = rng.sample([one for one in bank["factors"] if one["name"] not in pair["names"]], _OTHERS)
    kinds = {first: pair["kind"], second: pair["kind"]} | {one["name"]: one["kind"] for one in contexts}
    order = _order(first, second, [one["name"] for one in contexts], rng)
    listed = {second: contrast} | {one["name"]: p for one, p in zip(contexts, others, strict=True)}
    about = _matters(len(order), rng)
    scenarios, dialogues = [], []
    mains = 0
    for n, (factor, matter) in enumerate(zip(order, about, strict=True), 1):
        mains += factor == first
        preference = listed[factor] if factor != first else main if mains <= 2 else changed
        asked, notes = _request(factor, kinds[factor], matter, rng)
        scenarios.append(
            ScenarioOut(
                id=n,
                context_factor=factor,
                preference=preference.says,
                request_with_factor=asked,
                resource=notes,
            )
        )
        if n < len(order):
            dialogues.append(_converse(scenarios[-1].request, matter, preference, rng))
    series = Series(first, second, main.says, changed.says, tuple(scenarios))
    checklists = {preference.says: preference.checklist for preference in known}
    kind = rules()[main.rules[0]].type
    persona_id = f"{number}+{occupation.replace(' ', '_').lower()}"
    if name == "training":
        persona_id = f"train-{persona_id}"
    instances = build_instances(persona_id, series, dialogues, checklists, PreferenceKind(category_of(kind), kind))
    subject = matters()[about[-1]]
    named = f"{subject['name']}: {', '.join(subject['keys'])}"
    return Persona(instances, {preference.says: preference.rules for preference in known}, named)


def _order(main: str, contrast: str, others: Sequence[str], rng: random.Random) -> list[str]:
    """The contexts of all sessions in a random order; neither of the pair comes directly before the request."""
    repeats = rng.choice(_REPEATS)
    rest = [contrast] * 2 + [other for other, n in zip(others, repeats, strict=False) for _ in range(n)]
    while True:
        order = rng.sample([*rest, *[main] * 4], len(rest) + 4)
        if order[-1] not in (main, contrast):
            return [*order, main]


def _matters(n: int, rng: random.Random) -> list[int]:
    """What the sessions are about. Some matters, and that of the request, come up in several contexts."""
    chosen = rng.sample(range(len(matters())), n - 3)
    last = chosen.pop()
    repeated = [last, last, rng.choice(chosen)]
    return [*rng.sample([*chosen, *repeated], n - 1), last]


def _request(factor: str, kind: str, matter: int, rng: random.Random) -> tuple[str, str]:
    """What is asked for, and notes of the facts to use, which the user pastes below it."""
    bank, of = work(), matters()[matter]
    fitting = [task for task in bank["tasks"] if kind in task.get("kinds", [kind])]
    asked = fill(rng.choice(fitting)["request"], {"factor": factor, "matter": of["name"]})
    facts = rng.sample(of["points"], rng.randint(*_NOTES))
    return asked, f"{rng.choice(talk()['notes'])} {' '.join(facts)}"


def _converse(request: str, matter: int, preference: Preference, rng: random.Random) -> list[Message]:
    """A request, drafts with a hint after each, and a closing message that alludes to what was not mentioned."""
    wanted = list(preference.rules)
    done = [one for one in wanted if len(wanted) > 1 and rng.random() < _MET_AT_ONCE][: len(wanted) - 1]
    heard: dict[str, list[str]] = {one: [] for one in wanted}
    messages = [Message("user", (request,))]
    for n in range(_DRAFTS):
        unmet = [one for one in wanted if one not in done]
        draft = write_draft(matter, rng, meets=done, violates=unmet)
        assert met(draft, wanted) == [one for one in wanted if one in done]
        messages.append(Message("assistant", (draft,)))
        if not unmet:
            break
        hinted = next((one for one in unmet if heard[one]), None) or rng.choice(unmet)
        messages.append(Message("user", (_feedback(hinted, done, heard, rng),)))
        if rng.random() >= _MISSED or n >= _DRAFTS - 1 - len(unmet) or len(heard[hinted]) > 2:
            done.append(hinted)
    messages.append(Message("user", (_closing(wanted, heard, rng),)))
    return messages


def _feedback(hinted: str, done: Sequence[str], heard: dict[str, list[str]], rng: random.Random) -> str:
    """A hint at one unmet rule, and sometimes a remark on one that is met."""
    hint = rng.choice([one for one in rules()[hinted].hints if one not in heard[hinted]])
    heard[hinted].append(hint)
    said = [rng.choice(talk()["prefaces"])] if rng.random() < 0.75 else []
    said.append(hint)
    if done and rng.random() < 0.3:
        of = rng.choice(list(done))
        allusion = rng.choice(rules()[of].allusions)
        heard[of].append(allusion)
        said.insert(rng.randint(0, len(said)), rng.choice(talk()["meanwhile"]).format(allusion=allusion))
    return " ".join(said)


def _closing(wanted: Sequence[str], heard: dict[str, list[str]], rng: random.Random) -> str:
    mentioned = [one for one in wanted if not heard[one] or rng.random() < 0.5]
    allusions: list[Any] = [rng.choice(rules()[one].allusions) for one in mentioned]
    return " ".join([rng.choice(talk()["praise"]), *rng.sample(allusions, len(allusions))])
