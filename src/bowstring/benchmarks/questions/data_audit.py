"""What can be guessed in a question set without its histories: whether an answer is that of the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bowstring.benchmarks.data_audit.audit import DataAudit
from bowstring.benchmarks.data_audit.features import pairs, style, words
from bowstring.benchmarks.data_audit.findings import DataFinding, Words, guessed
from bowstring.benchmarks.data_audit.guessing import LARGEST, Options, guess_option, sample_of_users
from bowstring.benchmarks.questions.data import Question, QuestionSet
from bowstring.datasets.dataset import DataSet
from bowstring.seeding import seeded_number


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
        guess = guess_option(list(_own_or_other(sample)))
        name = f"gold or the answer of another {self.cluster.one}, from question and answer"
        yield guessed("gold or another", name, guess, found, self.cluster)


def _own_or_other(questions: Sequence[Question]) -> Iterator[Options]:
    """Each question with its gold answer and that to a question of the same type of another user, at random."""
    by_type: dict[str, list[Question]] = {}
    for question in questions:
        by_type.setdefault(question.type, []).append(question)
    for question in questions:
        listed = by_type[question.type]
        begin = seeded_number(0, "another user", question.key)
        for step in range(len(listed)):
            other = listed[(begin + step) % len(listed)]
            if other.user != question.user and other.gold != question.gold:
                texts = (question.gold, other.gold)
                features = [(*words(t), *style(t), *pairs(question.question, t)) for t in texts]
                yield Options(question.user, features, 0)
                break
