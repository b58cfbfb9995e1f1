"""What can be guessed in a HiCUPID set without its histories: gold or general, stance, subject; and by shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bowstring.benchmarks.data_audit.audit import MOST_ONE_SIDE, DataAudit
from bowstring.benchmarks.data_audit.features import Features, pairs, style, words
from bowstring.benchmarks.data_audit.findings import DataFinding, Words, guessed, share, told
from bowstring.benchmarks.data_audit.guessing import (
    LARGEST,
    Guess,
    Labelled,
    Options,
    best_share,
    guess_by_rule,
    guess_label,
    guess_option,
    sample_of_users,
    shuffled_within,
    with_another,
)
from bowstring.benchmarks.hicupid.choice_audit import choice_findings, choices_of
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.mentions import Entity, MentionFinder, Mentions, entity_of
from bowstring.benchmarks.hicupid.types import Question
from bowstring.datasets.dataset import DataSet
from bowstring.history.bm25 import stems
from bowstring.metrics.clusters import Score
from bowstring.metrics.near_duplicates import normalized

_SHORTCUTS: dict[str, Callable[[Mentions], float]] = {
    "most often": lambda m: m.number,
    "last": lambda m: m.last,
    "first": lambda m: -m.first,
}


class HicupidDataAudit(DataAudit):
    def guesses(self, data: DataSet) -> Iterator[DataFinding]:
        assert isinstance(data, HicupidSet)
        questions = data.questions()
        answered = [q for q in questions if q.type != "schedule"]
        yield from self._gold("persona and profile questions", answered)
        yield from self._gold("schedule questions", [q for q in questions if q.type == "schedule"])
        personal = [q for q in questions if q.type == "persona" and q.persona is not None]
        yield from self._stance(personal)
        yield from self._subject(personal)
        yield from self._shortcuts(data, personal)
        yield from choice_findings(data, self.cluster)

    def files_beside(self, data: DataSet) -> Sequence[Path]:
        path = choices_of(data.name)
        return () if path is None else (path,)

    def balance(self, data: DataSet) -> Iterator[DataFinding]:
        assert isinstance(data, HicupidSet)
        yield from super().balance(data)
        known = {(user_of(q), q.persona) for q in data.questions() if q.persona is not None}
        personas = sorted(known, key=lambda row: (row[0], row[1].category, row[1].entity))
        sides = [(user, persona.sentiment) for user, persona in personas]
        yield self.largest_group("side", [(user, str(side)) for user, side in sides], MOST_ONE_SIDE)
        yield self.largest_group("category", [(user, persona.category) for user, persona in personas])

    def _gold(self, which: str, questions: Sequence[Question]) -> Iterator[DataFinding]:
        if not questions:
            return
        check = "gold or general"
        sample = sample_of_users(questions, user_of, LARGEST // 2)

        def answers(features: Callable[[Question, str], Features]) -> list[Labelled]:
            return [
                Labelled(user_of(q), label, features(q, text))
                for q in sample
                for label, text in (("gold", q.personalized_answer), ("general", q.general_answer))
            ]

        styles = answers(lambda q, a: style(a))
        blind = "A judge, or training on pairs of gold and general, can use this instead of the user."
        found = Words(
            "An answer does not show by its style whether it is gold.",
            f"Length, opening and cue words show which answer is gold. {blind}",
            "style shows which answer is gold",
            f"{which}: gold can be told from general by style alone",
        )
        yield guessed(check, f"{which}: from the style of one answer", guess_label(styles), found, self.cluster)
        if which.startswith("persona"):
            control = guess_label(shuffled_within(styles))
            yield self._control(check, "the same with labels shuffled within users", control)
        found = Words(
            "The two answers do not show which is gold.",
            f"Two answers side by side show which is gold. {blind}",
            "two answers show which is gold",
            f"{which}: gold can be told from general by the two answers",
        )
        both = [(_whole(q.personalized_answer), _whole(q.general_answer)) for q in sample]
        side_by_side = [Options(user_of(q), texts, 0) for q, texts in zip(sample, both, strict=True)]
        yield guessed(check, f"{which}: from the two answers", guess_option(side_by_side), found, self.cluster)
        found = Words(
            "Without the history, question and answer do not show whether it is gold.",
            f"Question and answer without the history show whether it is gold. {blind}",
            "question and answer show which is gold",
            f"{which}: gold can be told from general without the history",
        )
        asked = guess_label(answers(lambda q, a: (*_whole(a), *pairs(q.question, a))))
        yield guessed(check, f"{which}: from question and answer", asked, found, self.cluster)
        longer = guess_by_rule(
            (user_of(q), best_share([len(q.personalized_answer.split()), len(q.general_answer.split())], 0), 0.5)
            for q in questions
        )
        found = Words(
            "Gold is not longer than general more often than by chance.",
            "The longer answer is gold: a judge that prefers length prefers gold.",
            "the longer answer is gold",
            f"{which}: gold is the longer answer",
        )
        yield guessed(check, f"{which}: the longer answer is gold", longer, found, self.cluster)

    def _control(self, check: str, name: str, guess: Guess | None) -> DataFinding:
        found = Words(
            "A control: the classifier finds nothing where nothing can be found.",
            "A control has failed: do not trust the guesses above.",
            "the classifier finds nothing where nothing can be found",
            "the control of the data audit failed",
        )
        return guessed(check, f"control: {name}", guess, found, self.cluster)

    def _stance(self, questions: Sequence[Question]) -> Iterator[DataFinding]:
        sample = sample_of_users(questions, user_of)

        def guess(text: Callable[[Question], str]) -> Guess | None:
            return guess_label([Labelled(user_of(q), _side(q), _whole(text(q)), normalized(text(q))) for q in sample])

        for name, text, meant in (
            ("question", lambda q: q.question, "The question shows what the user likes or avoids."),
            (
                "general answer",
                lambda q: q.general_answer,
                "The general answer takes the user's side.",
            ),
        ):
            found = Words(
                f"The {name} does not show the user's side.",
                f"{meant} A model without the history can take the right side.",
                f"the {name} shows the user's side",
                f"the user's side can be guessed from the {name}",
            )
            yield guessed("side", f"the user's side from the {name}", guess(text), found, self.cluster)
        said = "How visible the side is in gold answers. Where it is not, no judge can tell whether an answer takes it."
        yield told("side", "the user's side from gold", guess(lambda q: q.personalized_answer), said, self.cluster)

        twins = guess_by_rule(_same_side(questions))
        if twins is None:
            return
        found = Words(
            "Users with the same question are not of the same side; if they are always of opposite sides, a model that "
            "was trained on one could guess the other.",
            "Users with the same question are of the same side: whoever has seen one knows the other.",
            "users with the same question are of the same side",
            "users with the same question are of the same side",
        )
        yield guessed("side", "another user with the same question is of the same side", twins, found, self.cluster)

    def _subject(self, questions: Sequence[Question]) -> Iterator[DataFinding]:
        """The user's own subject against that of another user in the same category."""
        sample = sample_of_users(questions, user_of)
        rows = [
            (question, _subject_of(question), _subject_of(other), fold)
            for question, other, fold in with_another(sample, user_of, _category, _subject_of)
        ]
        found = Words(
            "The question does not show which subject is the user's.",
            "The question shows which subject is the user's: a model without the history can name it.",
            "the question shows the user's subject",
            "the user's subject can be guessed from the question",
        )
        guess = guess_option(
            [
                Options(user_of(q), (pairs(q.question, own), pairs(q.question, other)), 0, fold)
                for q, own, other, fold in rows
            ]
        )
        yield guessed("subject", "the user's subject or another's, from the question", guess, found, self.cluster)
        chance = sum(_named(q.question, other) for q, _, other, _ in rows) / max(1, len(rows))
        named = (
            guess_by_rule((user_of(q), float(_named(q.question, own)), chance) for q, own, _, _ in rows)
            if rows
            else None
        )
        found = Words(
            "Questions hardly name the user's subject.",
            "Questions name the user's subject, or a word of it.",
            "questions name the user's subject",
            "questions name the user's subject",
        )
        yield guessed("subject", "a word of the user's subject is in the question", named, found, self.cluster)

    def _shortcuts(self, data: HicupidSet, questions: Sequence[Question]) -> Iterator[DataFinding]:
        entities = {entity_of(q.persona) for q in data.questions() if q.persona is not None}
        finder = MentionFinder(entities)
        by_user: dict[int, list[Question]] = {}
        for question in questions:
            by_user.setdefault(question.user_id, []).append(question)
        hits: dict[str, list[tuple[str, float, float]]] = {name: [] for name in _SHORTCUTS}
        alone: list[Score] = []
        for user, asked in by_user.items():
            mentioned = finder.mentions(data.history(user))
            by_category: dict[str, dict[Entity, Mentions]] = {}
            for entity, mentions in mentioned.items():
                by_category.setdefault(entity[0], {})[entity] = mentions
            for question in asked:
                assert question.persona is not None
                own, there = entity_of(question.persona), by_category.get(question.persona.category, {})
                if there:
                    alone.append(Score(str(user), float(set(there) == {own})))
                if len(there) < 2:
                    continue
                right = list(there).index(own) if own in there else None
                for name, value in _SHORTCUTS.items():
                    hit = 0.0 if right is None else best_share([value(m) for m in there.values()], right)
                    hits[name].append((str(user), hit, 0.0 if right is None else 1 / len(there)))
        for name, rows in hits.items():
            found = Words(
                f"The subject is mentioned {name} no more often than any other thing of its field.",
                f"Naming what the history mentions {name} in the field finds the subject, without understanding.",
                f"the subject is what the history mentions {name}",
                f"the subject is the thing of its field that the history mentions {name}",
            )
            guess = guess_by_rule(rows) if rows else None
            yield guessed("shortcut", f"the subject is mentioned {name}", guess, found, self.cluster)
        if alone:
            found = Words(
                "Histories mention other things of the field than the subject.",
                "The subject is the only known thing of its field in the history: naming it needs no understanding.",
                "the subject is the only thing of its field in the history",
                "the subject is the only known thing of its field in the history",
            )
            yield self._alone(alone, found)

    def _alone(self, alone: Sequence[Score], found: Words) -> DataFinding:

        hits = [(score.cluster, bool(score.value)) for score in alone]
        name = "the subject is the only known thing of its field in the history"
        return share("shortcut", name, hits, 50.0, found, self.cluster)


def _whole(text: str) -> Features:
    return (*words(text), *style(text))


def user_of(question: Question) -> str:
    return str(question.user_id)


def _side(question: Question) -> str:
    assert question.persona is not None
    return question.persona.sentiment


def _same_side(questions: Sequence[Question]) -> Iterator[tuple[str, float, float]]:
    """For each question that other users have verbatim, how many of them are of the same side."""
    sides: dict[str, dict[int, str]] = {}
    for question in questions:
        sides.setdefault(normalized(question.question), {})[question.user_id] = _side(question)
    for question in questions:
        others = [side for user, side in sides[normalized(question.question)].items() if user != question.user_id]
        if others:
            yield user_of(question), sum(side == _side(question) for side in others) / len(others), 0.5


def _category(question: Question) -> str:
    assert question.persona is not None
    return question.persona.category


def _subject_of(question: Question) -> str:
    assert question.persona is not None
    return question.persona.entity


def _named(question: str, entity: str) -> bool:
    return not set(stems(question)).isdisjoint(stems(entity))
