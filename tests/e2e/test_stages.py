"""Stages between a history and a prompt: a user's own class, its requests, and its metrics."""

import json
from typing import ClassVar

import pytest

import bowstring
from bowstring.errors import UsageError
from bowstring.history.stages import Shown
from bowstring.history.stages.conformance import check_stage
from bowstring.models.interface import RequestFailed
from tests.support.command import bowstring as command
from tests.support.server import Server

STAGES = '''
class Newest:
    """Shows the newest two dialogues, and a model's note on every dialogue."""

    def __init__(self, ask):
        self.ask = ask

    def open(self, user):
        self.user, self.seen, self.notes = user, [], []

    async def ingest(self, dialogue):
        assert not self.seen or dialogue.id > self.seen[-1], "oldest first"
        self.notes.append(await self.ask(f"Note: {dialogue.messages[0].text}", max_tokens=30))
        self.seen.append(dialogue.id)

    def retrieve(self, question):
        return self.seen[-2:]


class Waiting(Newest):
    """The same in synchronous code."""

    def ingest(self, dialogue):
        self.notes.append(self.ask.wait(f"Note: {dialogue.messages[0].text}", max_tokens=30))
        self.seen.append(dialogue.id)

    def retrieve(self, question):
        return self.notes


class Failing(Newest):
    def retrieve(self, question):
        raise ValueError(f"no index for {self.user}")


class Inventing(Newest):
    def retrieve(self, question):
        return [10_000]


class Parsing(Newest):
    """Parses the model's answer, as memory systems do, and finds nothing."""

    async def ingest(self, dialogue):
        self.notes.append(int(await self.ask("How many facts are in this? " + dialogue.messages[0].text)))
        self.seen.append(dialogue.id)

    def retrieve(self, question):
        return []


class Silent(Newest):
    def retrieve(self, question):
        return ["  "]


class Careless(Newest):
    """Goes on whatever happens to its requests."""

    async def ingest(self, dialogue):
        self.seen.append(dialogue.id)
        try:
            await self.ask(f"Note: {dialogue.messages[0].text}")
        except Exception:
            pass


class Sometimes(Newest):
    """A text for some questions, and nothing for others."""

    def retrieve(self, question):
        return "The user likes it." if len(question) % 2 else []


def count(messages):
    return "3"


def answer(messages):
    return f"I saw {len(messages)} messages."


def note(messages):
    return "A short note."
'''


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "stages.py").write_text(STAGES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(place, benchmark, stage, *more, out="run"):
    history = ["--history", f"python:stages:{stage}"]
    return command("eval", benchmark, "--model", "python:stages:answer", *history, "--out", out, *more, cwd=place)


def metrics(run):
    return json.loads((run / "metrics.json").read_text())


def records(run):
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


def test_it_sees_dialogues_in_order_and_its_recall_is_measured(place):
    ran = evaluated(place, "hicupid", "Newest", "--split", "test_2")
    assert ran.code == 0, ran.err
    found = metrics(place / "run")
    first = records(place / "run")[0]
    assert len(first["retrieved"]) == 2
    assert first["retrieved"] == sorted(first["retrieved"])
    assert found["metrics"]["recall.total"]["n"] == 30
    hits = [r["recall"] for r in records(place / "run") if r["type"] == "persona"]
    evidence = [
        bool(set(r["evidence"]) & set(r["retrieved"])) for r in records(place / "run") if r["type"] == "persona"
    ]
    assert hits == [float(hit) for hit in evidence]


def test_what_it_asks_is_stored_and_counted_under_its_own_role(place):
    assert evaluated(place, "hicupid", "Newest", "--split", "test_2").code == 0
    first = metrics(place / "run")["usage"]
    assert first["history"]["requests"] == 39, "each of 39 dialogues once, whatever number of questions"
    assert first["model"]["requests"] == 30
    assert evaluated(place, "hicupid", "Newest", "--split", "test_2").code == 0
    again = metrics(place / "run")["usage"]
    assert again["history"] == first["history"] | {"requests": 0, "from_store": 39}


def test_a_dry_run_counts_what_a_stage_would_ask(place):
    before = json.loads(evaluated(place, "hicupid", "Newest", "--split", "test_2", "--dry-run", "--json").out)
    assert before["roles"]["history"]["requests"] == 39
    assert before["roles"]["model"]["requests"] == 30
    assert evaluated(place, "hicupid", "Newest", "--split", "test_2").code == 0
    after = json.loads(evaluated(place, "hicupid", "Newest", "--split", "test_2", "--dry-run", "--json").out)
    assert [after["roles"][role]["requests"] for role in ("history", "model")] == [0, 0]
    assert after["roles"]["history"]["stored"] == 39


def test_a_dry_run_of_a_stage_that_parses_its_answers_is_a_guess_and_not_an_error(place):
    options = ["--split", "test_2", "--history-model", "python:stages:count"]
    planned = evaluated(place, "hicupid", "Parsing", *options, "--dry-run", "--json")
    assert planned.code == 0, planned.err
    roles = json.loads(planned.out)["roles"]
    assert roles["history"]["requests"] == 3, "of each of three users the one whose answer could not be guessed"
    assert roles["model"]["requests"] == 30


def test_showing_nothing_is_a_recall_of_zero(place):
    ran = evaluated(place, "hicupid", "Parsing", "--split", "test_2", "--history-model", "python:stages:count")
    assert ran.code == 0, ran.err
    found = metrics(place / "run")
    assert (found["metrics"]["recall.total"]["value"], found["metrics"]["recall.total"]["n"]) == (0, 30)
    assert records(place / "run")[0]["retrieved"] == []


def test_an_empty_text_fails_and_names_the_stage(place):
    evaluated(place, "cupid", "Silent", "--limit", "2")
    assert "text of the stage history is empty" in json.dumps(records(place / "run")[0])


@pytest.mark.parametrize("stage", ["Newest", "Waiting", "Careless"])
def test_a_spent_budget_stops_the_run_and_not_its_items(place, stage):
    (place / "prices.yaml").write_text("openai/noter@127.0.0.1/v1: {input: 1000, output: 1000}\n")
    with Server() as server:
        noter = ["--history-model", server.model("noter"), "--prices", place / "prices.yaml"]
        ran = evaluated(place, "hicupid", stage, *noter, "--max-cost", "1")
    assert ran.code == 1
    assert "Stopped (--max-cost 1" in ran.err
    assert json.loads((place / "run" / "run.json").read_text())["status"] == "stopped"


def test_recall_is_not_measured_on_those_questions_alone_that_got_nothing(place):
    assert evaluated(place, "hicupid", "Sometimes").code == 0
    assert not any(name.startswith("recall") for name in metrics(place / "run")["metrics"])


def test_another_model_can_be_asked_by_the_stage(place):
    ran = evaluated(place, "hicupid", "Newest", "--limit", "4", "--history-model", "python:stages:note")
    assert ran.code == 0, ran.err
    assert metrics(place / "run")["usage"]["history"]["model"].startswith("python:stages:note")
    assert metrics(place / "run")["config"]["history_model"].startswith("python:stages:note")
    refused = command("eval", "hicupid", "--model", "python:stages:answer", "--history-model", "embedded", cwd=place)
    assert refused.code == 2
    assert "--history-model" in refused.err


def test_notes_stand_for_the_history_and_have_no_recall(place):
    assert evaluated(place, "hicupid", "Waiting", "--limit", "6").code == 0
    record = records(place / "run")[0]
    assert "recall" not in record
    assert record["shown"]["turns"] == 0
    assert record["shown"]["characters"] > 0
    assert record["answer"] == "I saw 2 messages.", "the instruction with the notes, and the question"


def test_it_works_on_sessions_too(place):
    ran = evaluated(place, "cupid", "Newest", "--task", "generation", "--limit", "6")
    assert ran.code == 0, ran.err
    shares = []
    for record in records(place / "run"):
        assert record["shown"]["sessions"] == 2
        shares.append(len(set(record["evidence"]) & set(record["retrieved"])) / len(record["evidence"]))
        assert record["evidence_recall"] == shares[-1]
    recall = metrics(place / "run")["metrics"]["evidence.recall"]
    assert recall["n"] == 6
    assert any(shares)
    assert recall["value"] == pytest.approx(100 * sum(shares) / 6), "in percent"


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ("Failing", "python:stages:Failing.retrieve raised ValueError: no index for 0"),
        ("Inventing", "python:stages:Inventing.retrieve returned dialogue 10000, which this user does not have"),
    ],
)
def test_what_it_does_wrong_fails_the_question_and_not_the_run(place, stage, reason):
    ran = evaluated(place, "hicupid", stage, "--limit", "2")
    assert ran.code == 1
    assert [r["failure"] for r in records(place / "run")] == [
        {"stage": "history", "kind": "server" if stage == "Failing" else "protocol", "reason": reason}
    ] * 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:stages:answer", "expected a class with open, ingest, retrieve"),
        ("python:stages:Newst", "--history python:stages:Newst: stages has no Newst; did you mean Newest?"),
        ("python:nowhere:Stage", "nowhere cannot be imported"),
    ],
)
def test_what_is_not_a_stage_is_refused_before_anything_is_asked(place, name, said):
    ran = command("eval", "hicupid", "--model", "python:stages:answer", "--history", name, cwd=place)
    assert ran.code == 2
    assert said in ran.err


LABELLED = """
class Labelled:
    def open(self, user):
        self.kinds = set()

    def ingest(self, dialogue):
        self.kinds.add(dialogue.kind)
        self.last = dialogue

    def retrieve(self, question):
        assert self.kinds == {""}, self.kinds
        return [self.last]
"""


def test_it_does_not_see_the_labels_of_the_data(place):
    (place / "labelled.py").write_text(LABELLED)
    ran = command(
        *("eval", "hicupid", "--model", "python:stages:answer", "--history", "python:labelled:Labelled"),
        *("--limit", "2", "--out", "run"),
        cwd=place,
    )
    assert ran.code == 0, ran.err


def test_other_code_is_another_run(place):
    assert evaluated(place, "hicupid", "Newest", "--limit", "2").code == 0
    before = metrics(place / "run")["config"]["stage"]
    (place / "stages.py").write_text(STAGES.replace("self.seen[-2:]", "self.seen[-3:]"))
    ran = evaluated(place, "hicupid", "Newest", "--limit", "2")
    assert ran.code == 2
    assert "different configuration" in ran.err
    assert evaluated(place, "hicupid", "Newest", "--limit", "2", out="other").code == 0
    assert metrics(place / "other")["config"]["stage"] != before


class Notes:
    def open(self, user):
        self.said = []

    def ingest(self, dialogue):
        self.said.append(dialogue.messages[0].text)

    def retrieve(self, question):
        return Shown(notes=tuple(self.said), sources=(10, 20, 30))


class Random(Notes):
    calls = 0

    def retrieve(self, question):
        type(self).calls += 1
        return f"note {self.calls}"


def test_the_conformance_test_passes_what_keeps_the_rules():
    shown = check_stage(Notes)
    assert "peanuts" in shown["anna"][0].notes[0]


def test_the_conformance_test_tells_what_is_not_repeatable():
    with pytest.raises(AssertionError, match=r"not deterministic|asked again"):
        check_stage(Random)


def test_the_conformance_test_finds_state_that_users_share():
    class Shared(Notes):
        everybody: ClassVar[list[str]] = []

        def open(self, user):
            self.said = self.everybody

    with pytest.raises(AssertionError, match=r"something different|text of another user"):
        check_stage(Shared)


def test_the_conformance_test_tells_what_raises():
    class Broken(Notes):
        def ingest(self, dialogue):
            raise RequestFailed("server", "out of memory")

    with pytest.raises(AssertionError, match="out of memory"):
        check_stage(Broken)


def test_a_class_is_a_stage_by_its_methods():
    class Half:
        def open(self, user):
            pass

    with pytest.raises(UsageError, match="the class lacks ingest, retrieve"):
        check_stage(Half)


def test_a_run_is_repeated_with_another_model(place):
    more = ["--both-orders", "--limit", "5", "--seed", "3", "--type", "persona", "--out", "first"]
    assert command("eval", "hicupid", "--model", "python:stages:answer", *more, cwd=place).code == 0
    ran = command("eval", "--like", "first", "--model", "python:stages:note", "--out", "second", cwd=place)
    assert ran.code == 0, ran.err
    first, second = (metrics(place / name)["config"] for name in ("first", "second"))
    assert first["model"] != second["model"]
    assert {k: v for k, v in first.items() if k != "model"} == {k: v for k, v in second.items() if k != "model"}
    assert len(records(place / "second")) == 5
    run = bowstring.evaluate(like=place / "first", model="python:stages:note", out=place / "third", seed=4)
    assert run.metrics["config"]["settings"] == first["settings"] | {"seed": 4}


def test_repeating_a_run_needs_a_model_and_the_same_data(place):
    from bowstring.benchmarks.export import export

    export(bowstring.load_hicupid("mini"), place / "set")
    more = ["--data", "set", "--limit", "2", "--out", "first"]
    assert command("eval", "hicupid", "--model", "python:stages:answer", *more, cwd=place).code == 0
    assert "needs --model" in command("eval", "--like", "first", cwd=place).err
    assert "is a run of hicupid" in command("eval", "cupid", "--like", "first", "--model", "embedded", cwd=place).err
    export(bowstring.load_hicupid("mini"), place / "set", users=1, overwrite=True)
    ran = command("eval", "--like", "first", "--model", "python:stages:note", "--out", "second", cwd=place)
    assert ran.code == 2
    assert "has changed since" in ran.err


def test_retrieval_alone_works_from_python(tmp_path):
    run = bowstring.evaluate("hicupid", retrieval_only=True, out=tmp_path / "one")
    assert run.metrics["config"]["settings"]["history"] == "bm25/utterance/5"
    swept = bowstring.sweep("hicupid", retrieval_only=True, out=tmp_path / "all")
    assert list(swept.points) == [
        *(f"bm25/utterance/{k}" for k in (5, 15, 25)),
        *(f"bm25/dialogue/{k}" for k in (1, 3, 5)),
    ]
