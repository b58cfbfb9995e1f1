"""Floors of a set's choices: what a control reaches that does not see the history, printed beside every result.

    longest             takes the longest option
    nearest             takes the option that is nearest to the question (BM25)
    options             a classifier that sees only the options: style, length, words
    options+question    the same, and how each option relates to the question

The classifiers are cross-validated by user: they choose for users, and for pairs of users with the same questions,
that they have not seen. They are measured on up to
2,000 questions of whole users, drawn at random with a fixed seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bowstring.benchmarks.hicupid.choosing.features import Shown, nearness, of_options, of_questions
from bowstring.benchmarks.hicupid.choosing.options import GOLD, LETTERS, Options, about_options
from bowstring.benchmarks.hicupid.choosing.scores import ACCURACIES, MEASURES, chance_of
from bowstring.benchmarks.hicupid.choosing.softmax import choose_across_folds
from bowstring.benchmarks.hicupid.types import Question
from bowstring.metrics.measures import estimates_as_json
from bowstring.records import fields_of
from bowstring.seeding import seeded_number

IN_WORDS: Mapping[str, str] = {
    "longest": "the longest option",
    "nearest": "the option nearest to the question",
    "options": "a classifier of the options alone",
    "options+question": "a classifier of options and question",
}
_QUESTIONS = 2000
_FOLDS = 5


def floors_of(questions: Sequence[Question], options: Callable[[Question], Options]) -> dict[str, Any]:
    """Return the accuracy of each control with its interval, the number of questions and users, and chance."""
    sample = _sample(questions)
    shown = [options(question) for question in sample]
    texts = [Shown(q.question, tuple(one.text for one in own)) for q, own in zip(sample, shown, strict=True)]
    near = nearness(texts)
    chosen: dict[str, Sequence[int]] = {
        "longest": [max(range(len(one.options)), key=lambda n: len(one.options[n])) for one in texts],
        "nearest": [int(np.argmax(own)) for own in near],
    }
    folds = folds_of(sample)
    if max(folds, default=0) > 0:
        gold = [next(n for n, one in enumerate(own) if one.kind == GOLD) for own in shown]
        alone = of_options(texts)
        chosen["options"] = choose_across_folds(alone, gold, folds)
        chosen["options+question"] = choose_across_folds(alone.beside(of_questions(texts, near)), gold, folds)
    records = [_record(question, own) for question, own in zip(sample, shown, strict=True)]
    measures = {name: MEASURES[name] for name in ACCURACIES}
    return {
        "questions": len(sample),
        "users": len({question.user_id for question in sample}),
        "chance": chance_of(records),
        "controls": {
            name: estimates_as_json(
                measures, [(r["user"], _with_choice(r, n)) for r, n in zip(records, own, strict=True)]
            )
            for name, own in chosen.items()
        },
    }


def _record(question: Question, options: Options) -> dict[str, Any]:
    persona = fields_of(question.persona) if question.persona else None
    about = {"key": question.key, "user": str(question.user_id), "type": question.type, "persona": persona}
    return about | about_options(options)


def _with_choice(record: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {**record, "choice": LETTERS[n], "score": float(record["gold_is"] == LETTERS[n])}


def _sample(questions: Sequence[Question]) -> list[Question]:
    """Return the questions of whole users, drawn at random, as many as are measured; in the order of the data."""
    by_user: dict[int, int] = {}
    for question in questions:
        by_user[question.user_id] = by_user.get(question.user_id, 0) + 1
    taken: set[int] = set()
    n = 0
    for user in sorted(by_user, key=lambda user: seeded_number(0, "floors", str(user))):
        if taken and n + by_user[user] > _QUESTIONS:
            break
        taken.add(user)
        n += by_user[user]
    return [question for question in questions if question.user_id in taken]


def folds_of(questions: Sequence[Question]) -> list[int]:
    """Return the fold of each question: that of its user.

    Users who share a persona question are in one fold, unless that joins too many. In a set with pairs of users who
    have opposite personas, a classifier would otherwise learn from one the opposite of what is right for the other.
    """
    first: dict[str, int] = {}
    group = {q.user_id: q.user_id for q in questions}
    for question in questions:
        if question.type == "persona":
            one, other = group[question.user_id], group[first.setdefault(question.question, question.user_id)]
            if one != other:
                group = {user: one if own == other else own for user, own in group.items()}
    if max(Counter(group.values()).values(), default=0) > len(group) / _FOLDS:
        group = {user: user for user in group}
    order = sorted(set(group.values()), key=lambda one: seeded_number(0, "folds", str(one)))
    fold = {one: n % _FOLDS for n, one in enumerate(order)}
    return [fold[group[q.user_id]] for q in questions]


def best_control(floors: Mapping[str, Any]) -> str | None:
    """Return the control with the highest accuracy, in total or else over the types that there are."""
    controls = floors["controls"]
    scored = [(value, name) for name, own in controls.items() if (value := _chief(own)) is not None]
    return max(scored)[1] if scored else None


def _chief(control: Mapping[str, Any]) -> float | None:
    if "accuracy.total" in control:
        return float(control["accuracy.total"]["value"])
    values = [one["value"] for one in control.values()]
    return sum(values) / len(values) if values else None


def floor_in_words(name: str, floors: Mapping[str, Any]) -> str:
    """Return what a control reaches: in total, or by type where the set lacks a type."""
    found = floors["controls"][name]
    shown = {"accuracy.total": found["accuracy.total"]} if "accuracy.total" in found else found
    said = ", ".join(
        f"{one['value']:.1f} [{one['low']:.1f}, {one['high']:.1f}]{'' if one['trusted'] else ' *'}"
        + ("" if metric == "accuracy.total" else f" ({metric.removeprefix('accuracy.')})")
        for metric, one in shown.items()
    )
    return f"{IN_WORDS[name]} reaches {said}"
