"""Data sets of question benchmarks."""

from bowstring.benchmarks.questions import Question, QuestionSet
from bowstring.benchmarks.questions.data import problems_of
from bowstring.records import Dialogue, Message

HISTORIES = {"anna": (Dialogue(1, "session", (Message("user", ("I moved.",)),)),)}
QUESTION = Question("anna-1", "anna", "Where?", "In Oslo.", evidence=(1,))


def said(*questions):
    return [(one.row, one.message) for one in problems_of(HISTORIES, questions, "diary.json")]


def test_a_set_needs_questions_each_once_with_a_history_and_evidence_in_it():
    assert said(QUESTION) == []
    assert said() == [(None, "has no questions; expected at least one")]
    assert said(QUESTION, QUESTION) == [(1, "is 'anna-1', a duplicate; expected each question once")]
    assert said(Question("1", "ben", "?", "!")) == [(0, "is 'ben', who has no history here")]
    assert said(Question("1", "anna", "?", "!", evidence=(1, 9))) == [(0, "names dialogue 9, which anna does not have")]


def test_a_set_knows_the_files_of_its_parts():
    parts = {"diary": {"test": ["diary.json"]}}
    assert QuestionSet("diary", "mine", HISTORIES, [QUESTION], parts=parts).parts == parts
    assert QuestionSet("diary", "mine", HISTORIES, [QUESTION]).parts == {}
