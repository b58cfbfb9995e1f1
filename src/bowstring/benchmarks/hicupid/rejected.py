"""The answers that DPO teaches a model to reject: the general answer, or wrong options of `--task choose`.

Against the general answer, a model can win by naming anything personal. Against the other side and the other person,
it must know the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from bowstring.benchmarks.hicupid.choosing.choices import option_source
from bowstring.benchmarks.hicupid.choosing.options import GOLD, OUTCOMES
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import Question
from bowstring.errors import check_choice
from bowstring.training.settings import GENERAL

WRONG = "wrong"  # every option but gold and the general answer
_KINDS = tuple(kind for kind in OUTCOMES if kind != GOLD)


class Rejected(Protocol):
    sources: Mapping[str, str]  # fingerprints of what was read besides the set

    def of(self, question: Question) -> tuple[str, ...]:
        """Return the answers to reject; none if the question has no such answer."""
        ...

    def available(self, questions: Sequence[Question]) -> str:
        """Return in words what there is to reject."""
        ...


class _GeneralAnswer:
    sources: Mapping[str, str] = {}

    def of(self, question: Question) -> tuple[str, ...]:
        return (question.general_answer,) if question.general_answer.strip() else ()

    def available(self, questions: Sequence[Question]) -> str:
        return f"none of the {len(questions):,} has a general answer"


class _Options:
    """Options of some kinds, as `--task choose` offers them."""

    def __init__(self, data: HicupidSet, kinds: Sequence[str]) -> None:
        self._options = option_source(data.name, list(data.questions()))
        self._kinds = kinds
        self.sources: Mapping[str, str] = {"choices": self._options.fingerprint}

    def of(self, question: Question) -> tuple[str, ...]:
        return tuple(one.text for one in self._options.of(question) if self._is_wanted(one.kind))

    def _is_wanted(self, kind: str) -> bool:
        return kind in self._kinds or (WRONG in self._kinds and kind not in (GOLD, GENERAL))

    def available(self, questions: Sequence[Question]) -> str:
        counts = Counter(one.kind for question in questions for one in self._options.of(question))
        there = ", ".join(f"{kind} ({counts[kind]:,})" for kind in _KINDS if counts[kind])
        return f"these questions have {there or 'none'}"


def rejected_answers(data: HicupidSet, kinds: Sequence[str]) -> Rejected:
    for kind in kinds:
        check_choice("rejected", kind, (*_KINDS, WRONG))
    return _GeneralAnswer() if set(kinds) == {GENERAL} else _Options(data, kinds)
