"""Options for choosing: choices.jsonl beside an offline set has five answers to every question, gold first.

persona    the four cells of subject and side, in one pattern, and the general answer; the other subject is one that
           comes up in the same dialogue, as other people's
profile    right and other persona, right and other profile value, in one pattern, and the general answer
schedule   two that name an appointment and do not book, two that book (one mentions an appointment), one that declines;
           gold names the clash, or books where there is no clash
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bowstring.files.writing import replace_file

FILE = "choices.jsonl"
_SPLITS = ("train", "test_1", "test_2")  # the order of the question tables
Kind = Literal[
    "gold",
    "wrong_side",
    "wrong_person",
    "wrong_profile",
    "wrong_persona",
    "wrong_both",
    "general",
    "books_over",
    "other_appointment",
    "declines",
    "unrelated",
]


@dataclass(frozen=True, slots=True)
class Option:
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Choice:
    """The options of a question. `clash` is None unless it is a schedule question."""

    split: str
    user_id: int
    question_id: int
    options: tuple[Option, ...]
    clash: bool | None = None

    def as_json(self) -> dict[str, Any]:
        clash = {} if self.clash is None else {"clash": self.clash}
        options = [{"text": o.text, "kind": o.kind} for o in self.options]
        key = {"split": self.split, "user_id": self.user_id, "question_id": self.question_id}
        return {**key, **clash, "options": options}


class ChoicesWriter:
    """Collects the lines of choices.jsonl by split, and writes the file in the order of the question tables."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, choices: Iterable[Choice]) -> None:
        for choice in choices:
            line = json.dumps(choice.as_json(), ensure_ascii=False)
            self._lines.setdefault(choice.split, []).append(line)

    def write(self, folder: Path) -> None:
        with replace_file(folder / FILE) as file:
            for split in _SPLITS:
                file.writelines(f"{line}\n".encode() for line in self._lines.get(split, []))
