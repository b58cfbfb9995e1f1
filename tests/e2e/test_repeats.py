"""`bowstring eval --answers K --judgements J`: every question answered and judged several times."""

import hashlib
import json

import pytest

import bowstring as package
from bowstring.studies.compare import compare
from tests.e2e.test_compare_labels import item_of, write_labels
from tests.e2e.test_eval import command, metrics, records
from tests.support.command import bowstring
from tests.support.server import Server, digest_answer, text_of


def reply(messages, body):
    """Answers and verdicts that depend on the seed, as of a model that samples."""
    return digest_answer(messages, body)


def of_role(server, name):
    return [r for r in server.requests if r.body["model"] == name]


def test_each_question_is_answered_and_each_answer_judged_several_times(tmp_path):
    with Server(reply) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--answers", "3", "--judgements", "2"))
        assert ran.code == 0, ran.err
        assert len(of_role(server, "m")) == 60 * 3
        assert len(of_role(server, "judge")) == 60 * 3 * 2
        seeds = [r.body["seed"] for r in of_role(server, "m")]
        assert len(set(seeds)) == len(seeds)
    rows = records(tmp_path / "r")
    assert len(rows) == len({row["key"] for row in rows}) == 360
    answers = {}
    for row in rows:
        said = row.get("repeat", {"of": row["key"], "answer": 1, "judgement": 1})
        answers.setdefault((said["of"], said["answer"]), set()).add(row["answer"])
    assert len(answers) == 180
    assert all(len(texts) == 1 for texts in answers.values()), "an answer is asked for once, and judged twice"
    found = metrics(tmp_path / "r")
    assert found["repeats"] == {"answers": 3, "judgements": 2}
    by_question = {}
    for row in rows:
        if row["type"] == "persona":
            by_question.setdefault(row.get("repeat", {"of": row["key"]})["of"], []).append(row["score"])
    persona = found["metrics"]["score.persona"]
    assert persona["n"] == len(by_question) == 36, "questions, not answers"
    assert persona["value"] == pytest.approx(100 * sum(sum(own) / len(own) for own in by_question.values()) / 36)
    shares = found["variance"]["score.total"]["shares"]
    assert shares.keys() >= {"cluster", "item", "answer", "judgement"}
    assert sum(shares.values()) == pytest.approx(1)
    shown = " ".join(ran.out.split())
    assert "Each item was answered 3 times and each answer judged 2 times; n counts items." in shown
    assert "Variance of score.total: users" in shown
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "Twice as many users would narrow the interval" in page


def test_more_answers_extend_a_run_and_the_first_are_those_of_a_plain_run(tmp_path):
    with Server(reply) as server:
        bowstring(*command(server, tmp_path / "r", "--limit", "10"))
        plain, asked = records(tmp_path / "r"), len(server.requests)
        plan = json.loads(
            bowstring(*command(server, tmp_path / "r", "--limit", "10", "--answers", "2", "--dry-run", "--json")).out
        )
        ran = bowstring(*command(server, tmp_path / "r", "--limit", "10", "--answers", "2"))
        assert ran.code == 0, ran.err
        assert len(server.requests) == asked + 10 + 10
        bowstring(*command(server, tmp_path / "r", "--limit", "10", "--answers", "2"))
        assert len(server.requests) == asked + 20
    assert (plan["roles"]["model"]["requests"], plan["roles"]["model"]["stored"]) == (10, 10)
    assert plan["roles"]["judge"]["requests"] == 10
    rows = records(tmp_path / "r")
    assert [row for row in rows if "repeat" not in row] == plain
    assert [row["key"] for row in rows if "repeat" in row] == [f"{row['key']}#2" for row in plain]


def test_runs_with_other_numbers_of_answers_are_compared_by_what_both_have(tmp_path):
    with Server(reply) as server:
        bowstring(*command(server, tmp_path / "a", "--answers", "2"))
        other = command(server, tmp_path / "b")
        other[other.index(server.model("m"))] = server.model("n")
        bowstring(*other)
        compared = bowstring("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json")
        assert compared.code == 0, compared.err
        audited = bowstring(
            "audit", str(tmp_path / "a"), "--checks", "gold", "--judge", server.model("judge"), "--json"
        )
        assert audited.code == 0, audited.err
    assert json.loads(compared.out)["items"] == 60
    assert json.loads(audited.out)["items"] == 60, "further answers are not audited"


def test_a_judge_that_always_says_the_same_adds_no_variance(tmp_path):
    def steady(messages, body):
        last = text_of(messages[-1])
        if "Better Response:" in last or "Satisfaction:" in last:
            unseeded = {key: value for key, value in body.items() if key != "seed"}
            return digest_answer(messages, unseeded)
        return digest_answer(messages, body)

    with Server(steady) as server:
        bowstring(*command(server, tmp_path / "r", "--answers", "2", "--judgements", "2"))
    shares = metrics(tmp_path / "r")["variance"]["score.total"]["shares"]
    assert shares["judgement"] == pytest.approx(0, abs=1e-9)
    assert shares["answer"] > 0.2


def test_a_run_like_another_has_as_many_users_and_answers(tmp_path):
    with Server(reply) as server:
        bowstring(*command(server, tmp_path / "a", "--users", "2", "--answers", "2"))
        again = ["eval", "--like", str(tmp_path / "a"), "--model", server.model("n"), "--out", str(tmp_path / "b")]
        ran = bowstring(*again, "--judge", server.model("judge"))
        assert ran.code == 0, ran.err
        assert [r["key"] for r in records(tmp_path / "b")] == [r["key"] for r in records(tmp_path / "a")]
        ran = bowstring(*again, "--judge", server.model("judge"), "--limit", "3")
        assert ran.code == 0, ran.err
    assert len(records(tmp_path / "b")) == 6, "another amount takes the place of the run's"


def test_labels_of_all_answers_correct_a_score(thirty_users, tmp_path):
    """People agree with the judge on every answer, so that nothing is corrected."""

    def judge(messages):
        return f"Satisfaction: {'YES' if 'SOLVED' in messages[-1]['content'] else 'NO'}"

    def model_of(right):
        def model(messages, sampling):
            draw = int(hashlib.sha256(f"{sampling.seed}{messages[-1]['content']}".encode()).hexdigest()[:8], 16)
            return f"SOLVED {draw}" if draw / 2**32 < right else f"missed {draw}"

        return model

    rows = []
    for name, right in (("weak", 0.4), ("strong", 0.7)):
        run = package.evaluate(
            "hicupid",
            model=model_of(right),
            judge=judge,
            data=str(thirty_users),
            types=["schedule"],
            temperature=1.0,
            answers=3,
            out=tmp_path / name,
        )
        rows += [(item_of("satisfaction", r), "ann", "yes" if r["score"] else "no") for r in run.records()]
    write_labels(tmp_path / "people.csv", rows)
    found = compare([tmp_path / "weak", tmp_path / "strong"], labels=[tmp_path / "people.csv"])
    (by_judge,) = found.differences["score.schedule"].values()
    (corrected,) = found.corrected.differences["score.schedule"].values()
    assert corrected.value == pytest.approx(by_judge.value)
    assert corrected.p == pytest.approx(by_judge.p, abs=0.01)
    assert not found.corrected.contradictions
    assert found.corrected.labels.left_out == {}
