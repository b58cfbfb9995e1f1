"""The options of a question: what each of them is, their random order, and the file that an offline set has of them.

choices.jsonl, one line per question, the options in any order:

    {"split": "test_2", "user_id": 7, "question_id": 3, "options": [{"text": "…", "kind": "gold"}, …]}
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from bowstring.benchmarks.hicupid.types import Question, QuestionType
from bowstring.errors import DataError, quote_value
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.seeding import seeded_number

FILE = "choices.jsonl"
GOLD = "gold"
LETTERS = "ABCDEFGHIJ"
_LONGEST_LINE = 1 << 20  # bytes

# What choosing an option says, by the kind of the option. `wrong_both` depends on the type of the question.
OUTCOMES: Mapping[str, str] = {
    GOLD: "right",
    "general": "ignored",
    "books_over": "ignored",
    "declines": "ignored",
    "wrong_side": "wrong_side",
    "wrong_person": "wrong_person",
    "other_appointment": "wrong_person",
    "wrong_profile": "wrong_profile",
    "wrong_persona": "wrong_persona",
    "unrelated": "wrong_appointment",
    "wrong_both": "wrong_both",
}
IN_WORDS: Mapping[str, str] = {
    "right": "right",
    "ignored": "ignored the user",
    "wrong_side": "wrong side",
    "wrong_person": "wrong person",
    "wrong_profile": "wrong profile",
    "wrong_persona": "wrong persona",
    "wrong_appointment": "wrong appointment",
    "wrong_both": "wrong in both",
}
# The four cells of subject and side: the kinds that have the right subject, and the others.
RIGHT_SUBJECT = (GOLD, "wrong_side")
CELLS = (*RIGHT_SUBJECT, "wrong_person", "wrong_both")


@dataclass(frozen=True, slots=True)
class Option:
    text: str
    kind: str


Options = tuple[Option, ...]


def in_random_order(options: Sequence[Option], question: Question, seed: int) -> Options:
    """Return the options in the order in which they are shown: it depends on the seed and the question alone."""
    key = str(question.user_id), str(question.question_id)
    order = sorted(range(len(options)), key=lambda n: seeded_number(seed, "option", *key, str(n)))
    return tuple(options[n] for n in order)


class _OptionForm(BaseModel):
    text: StrictStr
    kind: StrictStr


class _LineForm(BaseModel):
    split: StrictStr
    user_id: StrictInt
    question_id: StrictInt
    options: Annotated[list[_OptionForm], Field(min_length=2, max_length=len(LETTERS))]


class ChoicesFile:
    """The options in the file beside a set. A line that does not fit the set is a DataError with file and line."""

    def __init__(self, path: Path, questions: Iterable[Question]) -> None:
        """`questions` are those of the splits that were loaded; lines of other splits are skipped."""
        self._path = path
        asked = {(q.split, q.user_id, q.question_id): q for q in questions}
        splits = {split for split, _, _ in asked}
        self._options: dict[str, Options] = {}
        digest = hashlib.sha256()
        try:
            with path.open("rb") as file:
                for number, line in enumerate(_lines(file, path), 1):
                    digest.update(line)
                    if line.strip():
                        self._read(number, line, asked, splits)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
        self.fingerprint = digest.hexdigest()[:16]
        lacking = next((q for q in asked.values() if q.key not in self._options), None)
        if lacking is not None:
            raise DataError(f"{path}: has no options for question {lacking.key} of {lacking.split}")

    def of(self, question: Question) -> Options:
        """Return the options of a question, gold first."""
        return self._options[question.key]

    def _read(
        self, number: int, line: bytes, asked: Mapping[tuple[str, int, int], Question], splits: Iterable[str]
    ) -> None:
        where = f"{self._path} line {number}"
        try:
            found = _LineForm.model_validate(parse_strict_json(line))
        except ParseError as error:
            raise DataError(f"{where}: {error}") from error
        except ValidationError as invalid:
            first = invalid.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))[:100]
            raise DataError(f"{where}: {place or 'it'}: {first['msg'].lower()}") from invalid
        if found.split not in splits:
            return
        question = asked.get((found.split, found.user_id, found.question_id))
        if question is None:
            key = f"{found.user_id}/{found.question_id}"
            raise DataError(f"{where}: {quote_value(found.split)} has no question {key}: is it of another set?")
        if question.key in self._options:
            raise DataError(f"{where}: question {question.key} has options on an earlier line")
        self._options[question.key] = _checked(where, question, [Option(one.text, one.kind) for one in found.options])


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise DataError(f"{path} line {number}: is longer than {_LONGEST_LINE:,} bytes")
        yield line


def _checked(where: str, question: Question, options: Sequence[Option]) -> Options:
    """Return options that can be told apart and scored, gold first."""
    unknown = next((one.kind for one in options if one.kind not in OUTCOMES), None)
    if unknown is not None:
        raise DataError(f"{where}: kind is {quote_value(unknown)}; expected {', '.join(OUTCOMES)}")
    golds = [one for one in options if one.kind == GOLD]
    if len(golds) != 1:
        raise DataError(f"{where}: has {len(golds)} gold options; expected one")
    if same_text(golds[0].text) != same_text(question.personalized_answer):
        raise DataError(f"{where}: gold is not the personalized answer of question {question.key}: of another set?")
    seen: dict[str, int] = {}
    for n, one in enumerate(options, 1):
        text = same_text(one.text)
        if not text:
            raise DataError(f"{where}: option {n} has no text")
        if text in seen:
            raise DataError(f"{where}: option {n} repeats option {seen[text]}")
        seen[text] = n
    return (golds[0], *(one for one in options if one.kind != GOLD))


def same_text(text: str) -> str:
    """Return what two options must not share: the text without case and line breaks."""
    return " ".join(text.split()).casefold()


def about_options(options: Options) -> dict[str, Any]:
    """Return what a record says of the options that were shown, and the place of gold."""
    gold = next(n for n, one in enumerate(options) if one.kind == GOLD)
    return {"options": [{"text": one.text, "kind": one.kind} for one in options], "gold_is": LETTERS[gold]}


def outcome_of(kind: str) -> str:
    return OUTCOMES[kind]


def has_cells(kinds: Iterable[str], type: QuestionType | str) -> bool:
    """Return whether options are the four cells of subject and side."""
    return type == "persona" and set(CELLS) <= set(kinds)


def choices_file(data: str) -> Path | None:
    """Return the file of options beside a set in a folder; None if it has none."""
    path = Path(data).expanduser()
    if path.is_file():  # a file of questions: qa/test_1.parquet, or qa/test_1/0000.parquet
        return next((f for folder in list(path.absolute().parents)[1:3] if (f := folder / FILE).is_file()), None)
    found = path / FILE
    return found if path.is_dir() and found.is_file() else None
