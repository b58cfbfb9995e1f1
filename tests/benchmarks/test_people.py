"""A benchmark of questions with a yes/no judge is annotated, compared with people and corrected by their labels."""

import json
from html import unescape
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import bowstring
from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.of_run import open_run
from bowstring.benchmarks.people import CURATE, QuestionPeople, Task
from bowstring.benchmarks.questions import Question, QuestionBenchmark, QuestionSet
from bowstring.datasets.layout import OneFile
from bowstring.errors import UsageError
from bowstring.records import Dialogue, Message
from bowstring.studies.agree import agree
from bowstring.studies.correct import correct
from bowstring.web.annotating.curation import open_curation
from bowstring.web.annotating.opening import open_study
from bowstring.web.annotating.pages import _keys, add_pages
from bowstring.web.annotating.results import export, standings
from bowstring.web.annotating.study import Study
from bowstring.web.annotating.tasks import PageResponse
from tests.support.command import bowstring as command

TEMPLATES = Path(__file__).parents[1] / "plugin" / "diary" / "templates"
CITIES = ("Porto", "Lima", "Oslo", "Turin", "Quito", "Perth", "Cairo", "Delhi", "Seoul", "Milan", "Leeds", "Kyoto")


class Quiz(QuestionBenchmark):
    """A set in which every user lives in a city and is asked which."""

    name, title, about = "quiz", "Quiz", "Quiz: where do people live?"
    cluster = Noun("household", "households")
    format = OneFile("quiz", "quiz.json")
    has_bundled_set = True

    def templates(self):
        return TEMPLATES

    def read(self, locate, choice):
        raise NotImplementedError

    def bundled(self, splits):
        told = {city: Message("user", (f"I live in {city}.",)) for city in CITIES}
        histories = {city: (Dialogue(7, "session", (message,), "May"),) for city, message in told.items()}
        questions = [
            Question(f"q{n}", city, f"Where is number {n}?", city, "place", (7,)) for n, city in enumerate(CITIES)
        ]
        return QuestionSet(self.name, "mini/quiz", histories, questions, fingerprint="1")


class Mute(Quiz):
    """The same benchmark without human evaluation."""

    name, title = "mute", "Mute"

    def people(self):
        return None

    def bundled(self, splits):
        data = super().bundled(splits)
        data.benchmark = self.name
        return data


class Point:
    value = "tests:one"

    def __init__(self, benchmark):
        self._benchmark = benchmark

    def load(self):
        return self._benchmark


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    points = {name: Point(benchmark) for name, benchmark in (("quiz", Quiz()), ("mute", Mute()))}
    monkeypatch.setattr(registry, "_others", lambda: points)
    registry.get.cache_clear()
    yield
    registry.get.cache_clear()


def resident(messages):
    """A model that knows every second city."""
    asked = messages[-1]["content"]
    n = int(asked.rpartition("number ")[2].rstrip("?"))
    return f"In {CITIES[n] if n % 2 else 'Rome'}, I think. ({n})"


def lenient(messages):
    return "Fine.\nCorrect: YES"


def unsure(messages):
    return "I cannot say."


def ran(folder, name, judge, benchmark="quiz"):
    bowstring.evaluate(benchmark, data=f"mini/{benchmark}", model=resident, judge=judge, out=folder / name)
    return folder / name


@pytest.fixture
def run(tmp_path):
    return ran(tmp_path, "run", "builtin")


def records(run):
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


def annotated(run, db, label=lambda record: "yes" if record["score"] else "no"):
    """The export of a study in which one person labelled every item with `label`."""
    study = open_study([run], checks=0, annotators="ann", db=db)
    by_key = {record["key"]: record for record in records(run)}
    for given in list(study.assignments()):
        study.save(given.page, PageResponse((label(by_key[given.unit.key]),)), 1.0)
    path = db.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in export(study)))
    study.close()
    return path


def test_a_page_shows_the_question_the_right_answer_and_what_it_comes_from(run, tmp_path):
    study = open_study([run], checks=0.25, annotators="ann", db=tmp_path / "s.sqlite")
    assert study.task.name == "verdict"
    given = [g for g in study.assignments() if not g.unit.expected]
    by_key = {record["key"]: record for record in records(run)}
    for unit in (g.unit for g in given):
        record = by_key[unit.key]
        assert (unit.asked, unit.answers, unit.facts) == (
            record["question"],
            (record["answer"],),
            (("correct answer", record["gold"]),),
        )
        assert unit.cluster == record["user"]
        assert unit.dialogues == ((("user", f"I live in {record['user']}."),),)
    checks = [g.unit for g in study.assignments() if g.unit.expected]
    assert [unit.expected for unit in checks] == [(("no",),)] * standings(study)[0].checks
    assert checks
    app = FastAPI()
    add_pages(app, study)

    async def as_ann(scope, receive, send):
        await app(scope | {"who": "ann"}, receive, send)

    client = TestClient(as_ann)
    start = client.get("/").text
    assert "Each page shows a user's question, the correct answer, and an answer to rate." in unescape(start)
    assert "<kbd>Y</kbd> </dt><dd>yes</dd>" in start
    page = client.get(f"/item/{given[0].page}").text
    assert "<h2>Correct answer</h2>" in page
    assert 'value="no" data-keys="n"' in page
    study.close()


def test_people_and_judges_meet_on_the_same_answers(run, tmp_path):
    people = annotated(run, tmp_path / "s.sqlite")
    other = ran(tmp_path, "other", lenient)
    found = agree([f"builtin={run}", f"lenient={other}", str(people)], reference="ann")["tasks"]
    assert found.keys() == {"verdict"}
    assert list(found["verdict"]["raters"]) == ["builtin", "lenient", "ann"]
    assert found["verdict"]["clusters"] == "cluster"
    others = found["verdict"]["reference"]["others"]
    assert {name: one["accuracy"]["value"] for name, one in others.items()} == {"builtin": 1.0, "lenient": 0.5}
    shown = command("agree", f"builtin={run}", people).out
    assert shown.startswith("verdict: is the answer correct?")
    assert "clustered by household" in shown


def test_a_verdict_that_cannot_be_read_is_counted(run, tmp_path):
    people = annotated(run, tmp_path / "s.sqlite")
    other = ran(tmp_path, "other", unsure)
    left_out = agree([f"builtin={run}", f"unsure={other}", str(people)])["left_out"]
    assert left_out == [{"task": "verdict", "rater": "unsure", "reason": "unparsed", "n": len(CITIES)}]


def test_labels_correct_the_judge(run, tmp_path):
    people = annotated(run, tmp_path / "s.sqlite", label=lambda record: "yes")
    found = correct(open_run(run), records(run), people)
    assert found["scores"].keys() == {"accuracy"}
    one = found["scores"]["accuracy"]
    assert (one["judge"]["value"], one["people"]["value"], one["corrected"]["value"]) == (50.0, 100.0, 100.0)
    odd = tmp_path / "odd.csv"
    item = Quiz().people().item(records(run)[0])
    odd.write_text(f"item,rater,label\n{item},ann,perhaps\n")
    with pytest.raises(bowstring.BowstringError, match="label is 'perhaps'; expected yes or no"):
        correct(open_run(run), records(run), odd)


def evasive(messages):
    """A judge that says nothing readable about wrong answers."""
    return "I cannot say." if "Rome" in messages[-1]["content"] else "Fine.\nCorrect: YES"


def test_answers_without_a_verdict_stay_in_the_corrected_score(tmp_path):
    run = ran(tmp_path, "run", evasive)
    unread = [record for record in records(run) if record["score"] is None]
    assert len(unread) == len(CITIES) / 2
    people = annotated(run, tmp_path / "s.sqlite")
    one = correct(open_run(run), records(run), people)["scores"]["accuracy"]
    assert (one["judge"]["value"], one["corrected"]["value"]) == (100.0, pytest.approx(50.0))
    assert one["unread"] == len(unread)
    shown = command("audit", run, "--checks", "length", "--labels", people, "--judge", "builtin")
    assert "6 items without a verdict: in the corrected scores, not in those by the judge." in " ".join(
        shown.out.split()
    )


def test_an_item_is_its_question_gold_answer_and_answer():
    people = QuestionPeople(Quiz(), gold="reference")
    one = {"key": "1", "question": "What?", "reference": "Tea.", "answer": "Milk."}
    assert people.item(one).startswith("verdict/1/")
    assert people.item(one | {"verdict": "yes", "user": "x"}) == people.item(one)
    for field in ("question", "reference", "answer", "key"):
        assert people.item(one | {field: "other"}) != people.item(one)


def test_a_boolean_verdict_is_yes_or_no():
    people = QuestionPeople(Quiz(), gold="gold")
    one = {"key": "1", "type": "x", "question": "What?", "gold": "Tea.", "answer": "Milk.", "score": 0.0}
    for verdict, label in ((True, "yes"), (False, "no"), (None, None), ("no", "no")):
        (rating,) = people.ratings(one | {"verdict": verdict}, {"judge": "j"}, metrics=False)
        assert (rating.rater, rating.label, rating.about) == ("j", label, "What?")


def test_a_benchmark_without_people_says_so(tmp_path):
    run = ran(tmp_path, "run", "builtin", "mute")
    for arguments, message in [
        (("agree", run), f"Mute has no ratings to compare; {run} is a run of it\n"),
        (("annotate", run, "--port", "0"), "Mute has no tasks for annotators\n"),
        (("data", "export-judgements", run, "--out", tmp_path / "t"), "Mute has no judgements that can be exported\n"),
        (("annotate", "--curate", "mini/mute", "--port", "0"), "Mute has no curation of its data sets\n"),
    ]:
        said = command(*arguments)
        assert (said.code, said.err) == (2, message)
    with pytest.raises(UsageError, match="Quiz has no curation of its data sets"):
        open_curation("mini/quiz", db=tmp_path / "c.sqlite")


def test_a_study_of_a_benchmark_that_is_not_installed_says_so(run, tmp_path, monkeypatch):
    annotated(run, tmp_path / "s.sqlite")
    monkeypatch.setattr(registry, "_others", dict)
    registry.get.cache_clear()
    with pytest.raises(UsageError, match="this is a study of the benchmark quiz, which is not installed"):
        Study(tmp_path / "s.sqlite")


@pytest.mark.parametrize(
    ("choices", "keys"),
    [
        (("A", "tie", "B"), ["a", "t", "b"]),
        (("1", "2", "10"), ["1", "2", "0"]),
        (("Fully Covered", "Partially Covered", "Not Covered"), ["f", "p", "n"]),
        (CURATE.choices, ["a", "e", "r"]),
        (("good", "great", "bad"), ["1", "2", "b"]),
    ],
)
def test_no_two_choices_have_the_same_key(choices, keys):
    assert [_keys(choice, choices)[0] for choice in choices] == keys


def test_without_labels_that_are_wrong_no_check_is_made(run, tmp_path, monkeypatch):
    open_ended = Task("verdict", "scale", ("yes", "no"), "Is it right?", "Say yes or no.")
    monkeypatch.setattr(QuestionPeople, "tasks", (open_ended,))
    study = open_study([run], checks=0.5, db=tmp_path / "s.sqlite")
    assert [s.checks for s in standings(study)] == [0]
    assert study.items == len(CITIES)
    study.close()
