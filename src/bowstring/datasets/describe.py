"""What is in a data set: counts, lengths, balance. Numbers only; how they are shown is the caller's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance
from bowstring.benchmarks.hicupid.data import PROFILE_FIELDS, HicupidSet
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Question
from bowstring.datasets.layout import CUPID_CONFIG
from bowstring.datasets.loading import DataSet
from bowstring.models.tokens import TokenCounter
from bowstring.records import History

_USERS_AT_ONCE = 50  # histories in memory while their tokens are counted


@dataclass(frozen=True, slots=True)
class Spread:
    n: int
    mean: float
    sd: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        n = len(values)
        mean = math.fsum(values) / n if n else 0.0
        sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else 0.0
        return cls(n, mean, sd, max(values, default=0))


def describe(data: DataSet, counter: TokenCounter | None) -> dict[str, Any]:
    """Everything `data info` shows. Without a `counter`, lengths are in words only."""
    return _hicupid(data, counter) if isinstance(data, HicupidSet) else _cupid(data, counter)


def words(text: str) -> int:
    return len(text.split())


def _hicupid(data: HicupidSet, counter: TokenCounter | None) -> dict[str, Any]:
    questions = data.questions()
    dialogues: Counter[str] = Counter()
    turns = 0
    word_counts: list[float] = []
    tokens: list[float] = []
    users = data.user_ids
    for start in range(0, len(users), _USERS_AT_ONCE):
        histories = [data.history(user) for user in users[start : start + _USERS_AT_ONCE]]
        for history in histories:
            dialogues.update(d.kind for d in history)
            turns += sum(len(d.messages) // 2 for d in history)
            word_counts.append(sum(words(text) for text in _texts(history)))
        if counter:
            tokens += _token_sums(histories, counter)
    return {
        "name": data.name,
        "benchmark": "hicupid",
        "users": len(users),
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
        "lengths": {
            "words a history": asdict(Spread.of(word_counts)),
            **_token_line("tokens a history", tokens, counter),
            "words a question": _spread(words(q.question) for q in questions),
            "words a personalized answer": _spread(words(q.personalized_answer) for q in questions),
            "words a general answer": _spread(words(q.general_answer) for q in questions),
        },
        "tokenizer": counter.name if counter else None,
        "balance": _hicupid_balance(questions),
    }


def _hicupid_balance(questions: Iterable[Question]) -> dict[str, dict[str, int]]:
    """Sentiments and categories over persona questions; the profile's fields over the users who show one."""
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
    """'34' -> '30-39'; what is not a number stays as it is."""
    digits = age.strip()
    if not digits.isdecimal() or len(digits) > 3:
        return age
    decade = int(digits) // 10 * 10
    return f"{decade}-{decade + 9}"


def _by_type(questions: Iterable[Question]) -> dict[str, int]:
    counts = Counter(q.type for q in questions)
    return {kind: counts[kind] for kind in QUESTION_TYPES}


def _cupid(data: CupidSet, counter: TokenCounter | None) -> dict[str, Any]:
    instances = data.instances
    types = Counter(i.type for i in instances)
    tokens = _token_sums([i.history for i in instances], counter) if counter else []
    return {
        "name": data.name,
        "benchmark": "cupid",
        "personas": len(data.persona_ids),
        "instances": {t: types[t] for t in INSTANCE_TYPES},
        "parts": data.parts or {CUPID_CONFIG: {"test": ["test.parquet"]}},
        "context_factors": len({(i.persona_id, s.context_factor) for i in instances for s in i.sessions}),
        "lengths": {
            "sessions a log": _spread(len(i.sessions) for i in instances),
            "messages a session": _spread(len(s.dialogue.messages) for i in instances for s in i.sessions),
            "words a log": _spread(sum(map(words, _texts(i.history))) for i in instances),
            **_token_line("tokens a log", tokens, counter),
            "words a request": _spread(words(i.request) for i in instances),
            "words a preference": _spread(words(i.preference) for i in instances),
            "checklist items": _spread(len(i.checklist) for i in instances),
            "sessions since the evidence": _spread(d for i in instances if (d := _distance(i)) is not None),
        },
        "tokenizer": counter.name if counter else None,
        "balance": {"sessions in the request's context": _cupid_balance(instances)},
    }


def _cupid_balance(instances: Sequence[Instance]) -> dict[str, int]:
    return {f"{n} sessions": c for n, c in sorted(Counter(len(i.evidence) for i in instances).items())}


def _distance(instance: Instance) -> int | None:
    """Sessions between the newest evidence and the request: 0 where it is the last session."""
    return len(instance.sessions) - 1 - instance.evidence[-1] if instance.evidence else None


def _texts(history: History) -> Iterable[str]:
    return (message.text for dialogue in history for message in dialogue.messages)


def _token_sums(histories: Sequence[History], counter: TokenCounter) -> list[float]:
    """Tokens of each history: the sum over its messages, without what a chat template adds."""
    counts = iter(counter.count(chain.from_iterable(map(_texts, histories))))
    return [sum(next(counts) for _ in _texts(history)) for history in histories]


def _token_line(name: str, tokens: Sequence[float], counter: TokenCounter | None) -> Mapping[str, Any]:
    return {name: asdict(Spread.of(tokens))} if counter else {}


def _spread(values: Iterable[float]) -> dict[str, Any]:
    return asdict(Spread.of(list(values)))
