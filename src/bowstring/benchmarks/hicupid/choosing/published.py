"""Options for a set without a file of options, such as the published one: gold answers of other users.

The options of a question are its gold answer, its general answer and up to three gold answers of other users: to the
same question, or else to the nearest one (BM25) of the same category. No answer is taken that may be right for this
user too: of somebody with one of this user's personas, or with the same event in the calendar. So gold can partly be
told without the history; the floors beside the score say how well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property

from bowstring.benchmarks.hicupid.choosing.options import GOLD, Option, Options, same_text
from bowstring.benchmarks.hicupid.types import Question
from bowstring.errors import DataError
from bowstring.history.bm25 import Bm25, stems

_OTHERS = 3
_RULE = "1"  # version of the rule by which options are found: another rule gives other options


class OtherUsersAnswers:
    """Finds the options of questions. `questions` are all that options may be taken from."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions = list(questions)
        self._pools: dict[tuple[str, str], _Pool] = {}
        self.fingerprint = hashlib.sha256(f"other users' answers {_RULE}".encode()).hexdigest()[:16]

    def of(self, question: Question) -> Options:
        """Return the options of a question, gold first."""
        options = [Option(question.personalized_answer, GOLD)]
        seen = {same_text(question.personalized_answer), ""}
        if same_text(question.general_answer) not in seen:
            options.append(Option(question.general_answer, "general"))
            seen.add(same_text(question.general_answer))
        taken = len(options) + _OTHERS
        for other in self._nearest(question):
            if len(options) == taken:
                break
            if same_text(other.personalized_answer) not in seen and not self._may_be_right(other, question):
                options.append(Option(other.personalized_answer, "wrong_person"))
                seen.add(same_text(other.personalized_answer))
        if len(options) < 2:
            raise DataError(f"question {question.key}: there is no other answer that it could be chosen from")
        return tuple(options)

    def _nearest(self, question: Question) -> Iterator[Question]:
        kind = _kind(question)
        if kind not in self._pools:
            self._pools[kind] = _Pool([q for q in self._questions if _kind(q) == kind])
        return self._pools[kind].nearest(question)

    def _may_be_right(self, other: Question, question: Question) -> bool:
        return other.user_id == question.user_id or bool(_known(other) & self._known_of_users[question.user_id])

    @cached_property
    def _known_of_users(self) -> dict[int, set[tuple[str, ...]]]:
        found: dict[int, set[tuple[str, ...]]] = {}
        for question in self._questions:
            found.setdefault(question.user_id, set()).update(_known(question))
        return found


class _Pool:
    """Questions of one kind, found by their text."""

    def __init__(self, questions: list[Question]) -> None:
        self._by_text: dict[str, list[Question]] = {}
        for question in questions:
            self._by_text.setdefault(same_text(question.question), []).append(question)
        self._texts = list(self._by_text)
        self._index = Bm25([stems(text) for text in self._texts])

    def nearest(self, question: Question) -> Iterator[Question]:
        """Yield the questions with the same text first, then those that are nearest to it. Those with one text come
        in the order of the data, beginning after this user, so that no user's answers are taken by all others."""
        own = same_text(question.question)
        yield from self._around(own, question)
        for n in self._index.order(stems(own)):
            if self._texts[n] != own:
                yield from self._around(self._texts[n], question)

    def _around(self, text: str, question: Question) -> Iterator[Question]:
        found = self._by_text.get(text, [])
        start = next((n for n, other in enumerate(found) if other.user_id > question.user_id), 0)
        yield from (*found[start:], *found[:start])


def _kind(question: Question) -> tuple[str, str]:
    return question.type, question.persona.category if question.persona else ""


def _known(question: Question) -> set[tuple[str, ...]]:
    """What a gold answer depends on."""
    if question.type == "schedule":
        return {("event", question.schedule.event)} if question.schedule else set()
    persona = question.persona
    return {("persona", persona.category, persona.relation, persona.entity)} if persona else set()
