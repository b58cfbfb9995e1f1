"""Whether the options of choices.jsonl show which is gold: to a classifier that sees only them, or the question too.

A general option is never gold, and some wrong options of schedule questions can be told by their form, so a control
scores more than chance by design (`BY_DESIGN`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from bowstring.benchmarks.data_audit.features import Features, pairs, style, words
from bowstring.benchmarks.data_audit.findings import DataFinding, Words, guessed
from bowstring.benchmarks.data_audit.guessing import (
    LARGEST,
    Options,
    best_share,
    guess_by_rule,
    guess_option,
    sample_of_users,
)
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Question, QuestionType
from bowstring.benchmarks.interface import Noun
from bowstring.errors import DataError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.metrics.near_duplicates import normalized

CHOICES = "choices.jsonl"
# What recognizing the options that are never gold is worth.
BY_DESIGN = {"persona": 25.0, "profile": 25.0, "schedule": 50.0}
_GOLD = "gold"


class OptionRow(BaseModel):
    text: str
    kind: str


class ChoiceRow(BaseModel):
    split: str
    user_id: int
    question_id: int
    options: list[OptionRow]


Asked = tuple[Question, Sequence[OptionRow]]


def choice_findings(data: HicupidSet, cluster: Noun) -> Iterator[DataFinding]:
    """The findings on the choices beside a set, by question type; none if it has no choices."""
    path = choices_of(data.name)
    if path is None:
        return
    listed = _read(path, data)
    for kind in QUESTION_TYPES:
        asked = [one for one in listed if one[0].type == kind]
        if asked:
            yield from _findings(kind, asked, cluster)


def choices_of(name: str) -> Path | None:
    """The choices of the set of this name: beside the file, or in the folder."""
    path = Path(name).expanduser()
    for folder in (path, *list(path.parents)[:3]) if path.exists() else ():
        if (folder / CHOICES).is_file():
            return folder / CHOICES
    return None


def _read(path: Path, data: HicupidSet) -> list[Asked]:
    """Each question of the set with its options, gold first."""
    questions = {(q.split, q.user_id, q.question_id): q for q in data.questions()}
    found: list[Asked] = []
    with path.open("rb") as file:
        for number, line in enumerate(file):
            try:
                row = ChoiceRow.model_validate(parse_strict_json(line))
            except (ParseError, ValidationError, OSError) as error:
                raise DataError(f"{path} line {number + 1} is not a choice: {str(error).splitlines()[0]}") from error
            question = questions.get((row.split, row.user_id, row.question_id))
            if question is None:
                continue
            gold = [one for one in row.options if one.kind == _GOLD]
            if len(gold) != 1:
                raise DataError(f"{path} line {number + 1} has {len(gold)} gold options; expected one")
            found.append((question, [*gold, *(one for one in row.options if one.kind != _GOLD)]))
    return found


def _findings(kind: QuestionType, asked: Sequence[Asked], cluster: Noun) -> Iterator[DataFinding]:
    check, floor = "options", BY_DESIGN[kind]
    sample = sample_of_users(asked, lambda one: str(one[0].user_id), LARGEST // 4)

    def classified(question_too: bool) -> list[Options]:
        return [
            Options(
                str(q.user_id),
                [_seen(q.question if question_too else "", o.text) for o in options],
                0,
                text=normalized(q.question),
            )
            for q, options in sample
        ]

    for seen, too in (("the options", False), ("options and question", True)):
        found = Words(
            f"Without the history, {seen} do not show more than by design.",
            f"Without the history, {seen} show which option is gold: a choice need not use the user.",
            f"{seen} show which is gold",
            f"choices of {kind} questions: gold can be told from {seen}",
        )
        guess = guess_option(classified(too))
        yield guessed(check, f"{kind}: gold from {seen} alone", guess, found, cluster, floor=floor)
    for name, sign in (("longest", 1), ("shortest", -1)):
        guess = guess_by_rule(
            (str(q.user_id), best_share([sign * len(o.text.split()) for o in options], 0), 1 / len(options))
            for q, options in asked
        )
        found = Words(
            f"Gold is not the {name} option more often than by design.",
            f"Gold is the {name} option too often: a model that looks at length alone gains.",
            f"gold is the {name} option",
            f"choices of {kind} questions: gold is the {name} option",
        )
        yield guessed(check, f"{kind}: the {name} option is gold", guess, found, cluster, floor=floor)
    alike = guess_by_rule((str(q.user_id), _most_alike(options), 1 / len(options)) for q, options in asked)
    found = Words(
        "Gold is not the option that is most like the others.",
        "Gold is the option that has most words in common with the others.",
        "gold is most like the others",
        f"choices of {kind} questions: gold is the option most like the others",
    )
    yield guessed(check, f"{kind}: the option most like the others is gold", alike, found, cluster, floor=floor)


def _seen(question: str, option: str) -> Features:
    return (*words(option), *style(option), *(pairs(question, option) if question else ()))


def _most_alike(options: Sequence[OptionRow]) -> float:
    sets = [set(option.text.lower().split()) for option in options]
    alike = [sum(len(own & other) / max(1, len(own | other)) for other in sets) for own in sets]
    return best_share([round(value, 9) for value in alike], 0)
