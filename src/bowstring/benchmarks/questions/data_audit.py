"""What can be guessed in a question set without its histories: whether an answer is that of the user."""

from __future__ import annotations

from collections.abc import Iterator

from bowstring.benchmarks.data_audit.audit import DataAudit
from bowstring.benchmarks.data_audit.features import Features, pairs, style, words
from bowstring.benchmarks.data_audit.findings import DataFinding, Words, guessed
from bowstring.benchmarks.data_audit.guessing import LARGEST, Options, guess_option, sample_of_users, with_another
from bowstring.benchmarks.questions.data import Question, QuestionSet
from bowstring.datasets.dataset import DataSet


class QuestionDataAudit(DataAudit):
    def guesses(self, data: DataSet) -> Iterator[DataFinding]:
        assert isinstance(data, QuestionSet)
        sample = sample_of_users(data.items(), lambda question: question.user, LARGEST // 2)
        found = Words(
            "Without the history, the gold answer cannot be told from that to another question of the type.",
            f"Without the history, the gold answer can be told from that of another of the {self.cluster.many}.",
            "question and answer show which is gold",
            "the gold answer can be guessed from the question",
        )
        others = with_another(sample, lambda q: q.user, lambda q: q.type, lambda q: q.gold)
        guess = guess_option([Options(own.user, _answers(own, other), 0, fold) for own, other, fold in others])
        name = f"gold or the answer of another {self.cluster.one}, from question and answer"
        yield guessed("gold or another", name, guess, found, self.cluster)


def _answers(question: Question, other: Question) -> list[Features]:
    return [(*words(a), *style(a), *pairs(question.question, a)) for a in (question.gold, other.gold)]
