"""Description of a HiCUPID set, and the text of one user or question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from bowstring.benchmarks.hicupid.data import PROFILE_FIELDS, HicupidSet
from bowstring.benchmarks.hicupid.truth import no_clash_keys
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Question
from bowstring.datasets.describe import CountTable, Description, describe_histories, spread_of, words
from bowstring.datasets.display import Block, Heading, ItemDisplay, Line, Remark, Rule, json_of
from bowstring.models.tokens import TokenCounter
from bowstring.records import History


def describe(data: HicupidSet, counter: TokenCounter | None) -> Description:
    dialogues: Counter[str] = Counter()
    turns = 0

    def counted(histories: Iterable[History]) -> Iterator[History]:
        nonlocal turns
        for history in histories:
            dialogues.update(d.kind for d in history)
            turns += sum(len(d.messages) // 2 for d in history)
            yield history

    word_counts, tokens = describe_histories(counted(data.history(user) for user in data.user_ids), counter)
    questions = data.questions()
    lengths = {
        "words per history": spread_of(word_counts),
        **({"tokens per history": spread_of(tokens)} if counter else {}),
        "words per question": spread_of(words(q.question) for q in questions),
        "words per personalized answer": spread_of(words(q.personalized_answer) for q in questions),
        "words per general answer": spread_of(words(q.general_answer) for q in questions),
    }
    about: dict[str, Any] = {
        "name": data.name,
        "benchmark": data.benchmark,
        "users": len(data.user_ids),
        "questions": {s: _by_type(data.questions(s)) for s in data.splits},
        "users_asked": {s: len({q.user_id for q in data.questions(s)}) for s in data.splits},
        "transcripts": {s: data.judgement_count(s) for s in data.judgement_splits},
        "parts": data.parts
        or {
            "dialogue": {s: [f"dialogue/{s}.parquet"] for s in data.dialogue_splits},
            "qa": {s: [f"qa/{s}.parquet"] for s in data.splits},
        },
        "dialogues": {kind: dialogues[kind] for kind in QUESTION_TYPES},
        "turns": turns,
        "no_clash": _no_clash(data),
        "lengths": {name: asdict(spread) for name, spread in lengths.items()},
        "tokenizer": counter.name if counter else None,
        "balance": _balance(questions),
    }
    return Description(
        about=about,
        headline=f"HiCUPID: {about['users']:,} users, {len(questions):,} questions, {turns:,} turns",
        counts=_counts(about),
        items=len(questions),
        summary=(
            f"{about['users']:,} users, each with a history of dialogues with an assistant, and {len(questions):,} "
            "later questions whose best answer depends on what the history showed. Each question has a personalized "
            "and a general answer."
        ),
        card_counts=_card_counts(about),
        attributes="gender, age, occupation and income",
    )


def _counts(about: dict[str, Any]) -> CountTable:
    kinds = list(about["dialogues"])
    rows = []
    for split, by in about["questions"].items():
        users = about["users_asked"][split]
        rows.append([f"questions, {split}", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}", f"{users:,}"])
    rows += [[f"without a clash, {split}", "", "", f"{n:,}", "", ""] for split, n in about["no_clash"].items()]
    rows += [[f"transcripts, {split}", *[""] * len(kinds), f"{n:,}", ""] for split, n in about["transcripts"].items()]
    by = about["dialogues"]
    rows.append(["dialogues", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}", f"{about['users']:,}"])
    return CountTable(("", *kinds, "all", "users"), rows)


def _no_clash(data: HicupidSet) -> dict[str, int]:
    """The number of schedule questions that ask for a free time, by split; generated sets may have some."""
    free = no_clash_keys(data.name)
    counts = {split: sum(q.key in free for q in data.questions(split)) for split in data.splits} if free else {}
    return {split: n for split, n in counts.items() if n}


def _card_counts(about: dict[str, Any]) -> CountTable:
    kinds = list(about["dialogues"])
    rows = [
        [f"questions, {split}", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}"]
        for split, by in about["questions"].items()
    ]
    by = about["dialogues"]
    rows.append(["dialogues", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}"])
    return CountTable(("", *kinds, "all"), rows)


def _balance(questions: Iterable[Question]) -> dict[str, dict[str, int]]:
    """Counts of sentiments and categories over persona questions, and of profile fields over users with a profile."""
    sentiment: Counter[str] = Counter()
    category: Counter[str] = Counter()
    profiles = {}
    for question in questions:
        if question.type == "persona" and question.persona:
            sentiment[question.persona.sentiment] += 1
            category[question.persona.category] += 1
        if question.profile:
            profiles[question.user_id] = question.profile
    balance = {"sentiment": sentiment, "category": category}
    for field in PROFILE_FIELDS:
        values = [getattr(p, field) for p in profiles.values()]
        balance[field] = Counter(_decade(v) if field == "age" else v for v in values)
    return {axis: dict(counts.most_common()) for axis, counts in balance.items()}


def _decade(age: str) -> str:
    """'34' -> '30-39'; anything that is not a number is returned unchanged."""
    digits = age.strip()
    if not digits.isdecimal() or len(digits) > 3:
        return age
    decade = int(digits) // 10 * 10
    return f"{decade}-{decade + 9}"


def _by_type(questions: Iterable[Question]) -> dict[str, int]:
    counts = Counter(q.type for q in questions)
    return {kind: counts[kind] for kind in QUESTION_TYPES}


def look_up(data: HicupidSet, id_: str) -> ItemDisplay | None:
    """A user by number, or a question by its key."""
    if id_.isdecimal() and len(id_) < 19 and int(id_) in data.user_ids:
        return _user(data, int(id_))
    question = next((q for q in data.questions() if q.key == id_), None) if "/" in id_ else None
    return ItemDisplay(json_of(question), list(_question(question))) if question else None


def _user(data: HicupidSet, user: int) -> ItemDisplay:
    history = data.history(user)
    questions = tuple(q for q in data.questions() if q.user_id == user)
    blocks: list[Block] = [Rule(f"user {user}")]
    profile = next((q.profile for q in questions if q.profile), None)
    if profile:
        fields = (profile.age, profile.gender, profile.occupation, profile.income_range, profile.personality)
        blocks.append(Remark(", ".join(fields)))
    for dialogue in history:
        blocks.append(Heading(f"dialogue {dialogue.id}, {dialogue.kind}"))
        blocks += [Line(message.role, message.text) for message in dialogue.messages]
    if questions:
        blocks.append(Rule(f"{len(questions)} questions"))
    for question in questions:
        blocks += _question(question)
    said = {
        "user_id": user,
        "history": [json_of(dialogue) for dialogue in history],
        "questions": [json_of(question) for question in questions],
    }
    return ItemDisplay(said, blocks)


def _question(question: Question) -> Iterator[Block]:
    yield Heading(f"question {question.key}, {question.type}, {question.split}")
    yield Line("asked", question.question)
    yield Line("personalized", question.personalized_answer)
    yield Line("general", question.general_answer)
    yield Line("because", _reason(question), dim=True)


def _reason(question: Question) -> str:
    known = []
    if question.persona:
        p = question.persona
        known.append(f"{p.relation} {p.entity} ({p.category}, {p.sentiment})")
    if question.profile:
        known.append(f"the profile: {question.profile.occupation}, {question.profile.age}")
    if question.schedule:
        known.append(f"{question.schedule.event}, {question.schedule.datetime}")
    where = ", ".join(map(str, question.evidence))
    return f"{'; '.join(known)}  [dialogue {where}]"
