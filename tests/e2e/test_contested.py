"""A run that fails where it would be wrong is not the better one."""

import hashlib
import json

import bowstring as package
from bowstring.studies.compare import compare
from tests.support.command import bowstring
from tests.support.run_files import without_sums


def share(messages, salt):
    return int(hashlib.sha256(f"{salt}{messages[-1]['content']}".encode()).hexdigest()[:8], 16) / 2**32


def steady(messages):
    return "GOLD" if share(messages, "steady") < 0.6 else "wrong"


def cautious(messages):
    """Right where it answers: on four items of ten."""
    if share(messages, "hard") > 0.4:
        raise RuntimeError("too hard")
    return "GOLD"


def judge(messages):
    return f"Satisfaction: {'YES' if 'GOLD' in messages[-1]['content'] else 'NO'}"


def test_failing_does_not_pay(thirty_users, tmp_path):
    runs = {}
    for name, model in (("steady", steady), ("cautious", cautious)):
        runs[name] = package.evaluate(
            "hicupid",
            model=model,
            judge=judge,
            data=str(thirty_users),
            types=["schedule"],
            attempts=1,
            out=tmp_path / name,
        )
    found = compare([tmp_path / "steady", tmp_path / "cautious"])
    names = {run.name: run.folder.name for run in found.runs}
    ((first, second), pair), *_ = found.pairs.items()
    better = second if pair.value > 0 else first
    assert names[better] == "cautious", "on the items that both have a score of"
    assert pair.corrected < 0.05
    assert (pair.contested, pair.significant) == (True, False)
    places = {names[name]: rank for name, rank in found.ranks.items()}
    assert (places["steady"].place, places["cautious"].place) == (1, 2)
    assert any("not with failures at the worst score" in note for note in found.notes)
    shown = bowstring("compare", str(tmp_path / "steady"), str(tmp_path / "cautious"), "--format", "markdown")
    assert "▲" not in shown.out
    raced = package.race(
        "hicupid",
        model=steady,
        against=cautious,
        judge=judge,
        data=str(thirty_users),
        types=["schedule"],
        attempts=1,
        runs=tmp_path / "race",
    )
    assert raced.better != raced.names[1], "nor in a race"
    saved = json.loads((tmp_path / "cautious" / "metrics.json").read_text())["metrics"]["score.schedule"]
    assert saved["missing"]["as_worst"] < 60 < saved["value"]


def broken(messages):
    raise RuntimeError("always")


def mumble(messages):
    return "hard to say"


def test_a_run_without_any_score_has_bounds_and_does_not_stop_a_comparison(thirty_users, tmp_path):
    made = {"steady": (steady, judge), "right": (lambda messages: "GOLD", judge)}
    made |= {"broken": (broken, judge), "unread": (steady, mumble)}
    for name, (model, by) in made.items():
        package.evaluate(
            "hicupid",
            model=model,
            judge=by,
            data=str(thirty_users),
            types=["schedule"],
            attempts=1,
            out=tmp_path / name,
        )
    for name in ("broken", "unread"):
        saved = json.loads((tmp_path / name / "metrics.json").read_text())
        missing = {"items": saved["n"], "as_worst": 0.0, "bounds": [0.0, 100.0], "records": 100}
        assert "score.schedule" not in saved["metrics"]
        assert saved["unscored"] == {"score.schedule": missing}
        assert saved["n"] == saved["records"] == 100
        page = (tmp_path / name / "report.html").read_text()
        assert "0.0 – 100.0" in page
        table = bowstring("report", str(tmp_path / name), "--tables", "md", "--out", str(tmp_path / f"{name}-r"))
        assert table.code == 0, table.err
        assert "0.0 – 100.0" in (tmp_path / f"{name}-r" / "tables" / "scores.md").read_text()
    found = compare([tmp_path / name for name in ("broken", "steady", "unread", "right")])
    assert {run.folder.name for run in found.runs} == {"steady", "right"}
    assert [run.folder.name for run in found.runs if run.name == found.baseline] == ["steady"]
    left_out = [note for note in found.notes if "left out of the comparison" in note]
    assert len(left_out) == 2
    assert "it could be 0.0 to 100.0" in left_out[0]
    alone = bowstring("compare", str(tmp_path / "broken"), str(tmp_path / "steady"))
    assert (alone.code, "nothing to compare" in alone.err) == (2, True)
    chosen = bowstring("compare", *(str(tmp_path / name) for name in made), "--baseline", str(tmp_path / "broken"))
    assert (chosen.code, "has no score.schedule" in chosen.err) == (2, True)


def test_a_run_that_fails_on_a_kind_of_question_does_not_change_what_the_others_are_ranked_by(thirty_users, tmp_path):
    """Its records of schedules are made to fail, so that the total has no value."""

    def compare_by(messages):
        text = messages[-1]["content"]
        if "Satisfaction" in text:
            return judge(messages)
        return "Better Response: Tie"

    for name, fails in (("one", False), ("two", False), ("partial", True)):

        def model(messages, name=name, fails=fails):
            return f"GOLD {name}"

        run = package.evaluate(
            "hicupid", model=model, judge=compare_by, data=str(thirty_users), users=12, out=tmp_path / name
        )
        if fails:
            rewrite(run.folder)
    found = compare([tmp_path / name for name in ("one", "two", "partial")])
    assert found.metric == "score.total"
    assert {run.folder.name for run in found.runs} == {"one", "two"}
    assert any("has no score.total" in note and "left out of the comparison" in note for note in found.notes)
    alone = compare([tmp_path / "one", tmp_path / "partial"])
    assert alone.metric == "score.persona"
    assert any("the runs are ranked by score.persona instead" in note for note in alone.notes)


def rewrite(folder):
    """Let every schedule question of a run have failed."""
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    failure = {"stage": "answer", "kind": "code", "reason": "not mine"}
    answered = ("answer", "finish", "judgement", "verdict", "score", "bleu", "rouge_l", "answer_is")
    lines = [
        {name: value for name, value in line.items() if name not in answered} | {"failure": failure}
        if line["type"] == "schedule"
        else line
        for line in lines
    ]
    without_sums(folder)
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
