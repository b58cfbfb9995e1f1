"""Judges and matchers learn from a teacher, and are tested on unseen users."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.cupid.benchmark import CUPID
from bowstring.benchmarks.cupid.coverage import coverage_table
from bowstring.benchmarks.cupid.data import write_json
from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.training import matcher_examples
from bowstring.benchmarks.cupid.types import Coverage
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.training import judge_examples
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Judgement
from bowstring.benchmarks.loading import load_cupid
from bowstring.errors import UsageError
from bowstring.training.settings import settings_for
from tests.support.command import bowstring
from tests.support.server import Server, text_of
from tests.support.teaching import BAD, GOOD, LEARNS, QUESTIONS, transcripts, write_judge, write_learner
from tests.support.tiny import write_model
from tests.support.training import SMALL, small


def settings(method: str, **given):
    return settings_for(method, **given)


def test_a_judge_learns_the_prompt_it_will_be_asked_and_what_the_teacher_wrote():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.0), HICUPID.prompts())
    examples = [example for group in made.examples.groups() for example in group]
    assert len(examples) == len(transcripts())
    assert made.held_out == ()
    for example, row in zip(examples, sorted(transcripts(), key=_by_type), strict=True):
        assert example.answer == row.judgement
        assert row.answer in example.prompt.messages[-1].text
    assert {tuple({e.kind for e in group}) for group in made.examples.groups()} == {(kind,) for kind in QUESTION_TYPES}


def test_no_user_is_on_both_sides():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.4), HICUPID.prompts())
    trained = {e.owner for group in made.examples.groups() for e in group}
    held = {one.example.owner for one in made.held_out}
    assert trained
    assert held
    assert not trained & held


def test_types_that_are_not_trained_on_are_tested_all_the_same():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.4, types=("persona",)), HICUPID.prompts())
    assert {e.kind for group in made.examples.groups() for e in group} == {"persona"}
    assert {one.example.kind for one in made.held_out} == set(QUESTION_TYPES)


def test_what_cannot_be_learned_from_is_left_out_and_counted():
    spoiled = [row for row in transcripts() if row.answer == GOOD and row.answer_is != "B"]
    spoiled[0] = replace(spoiled[0], judgement="Both are fine.")
    spoiled[1] = replace(spoiled[1], answer_is=None)
    assert spoiled[1].question.type != "schedule"
    made = judge_examples(spoiled, settings("judge", hold_out=0.0), HICUPID.prompts())
    assert sum(map(len, made.examples.groups())) == len(QUESTIONS) - 2
    assert made.examples.notes == (
        "left out 1 unparsed transcripts",
        "left out 1 transcripts that do not say which side the answer had (answer_is)",
    )
    with pytest.raises(UsageError, match="no judge transcripts to train on"):
        judge_examples(spoiled[:2], settings("judge"), HICUPID.prompts())


def test_a_judge_agrees_with_its_teacher_on_users_it_has_not_seen(tmp_path):
    model = write_judge(tmp_path / "m")
    pq.write_table(evaluation_table(transcripts()), tmp_path / "t.parquet")
    trained = small(
        "judge", model, tmp_path / "t.parquet", tmp_path / "a", types=("persona", "schedule"), checkpointing=False,
        **LEARNS,
    )  # fmt: skip
    found = trained.record["held_out"]
    for kind in ("persona", "schedule"):
        assert found["by_type"][kind]["kappa"]["value"] > 0.9, f"{kind}: no verdict that is always the same has that"
        assert found["by_type"][kind]["n"] > 2 * found["by_type"][kind]["unparsed"]
        assert found["by_type"][kind]["trained_on"]
    assert not found["by_type"]["profile"]["trained_on"]
    assert found["all"]["accuracy"]["clusters"] == len({q.user_id for q in QUESTIONS} - _trained_users())
    lines = [json.loads(line) for line in (tmp_path / "a" / "held_out.jsonl").read_text().splitlines()]
    assert len(lines) == sum(group["n"] + group["unparsed"] for group in found["by_type"].values())
    assert lines[0].keys() == {"key", "type", "teacher", "evaluator", "text"}

    # And as a judge of a run it says what its teacher would, in the words it was trained on.
    with Server(lambda messages, body: GOOD if len(text_of(messages[-1])) % 2 else BAD) as server:
        ran = bowstring(
            "eval", "hicupid", "--model", server.model("m"), "--judge", f"hf/{model}+{tmp_path / 'a'}",
            "--history", "none", "--type", "persona", "--out", tmp_path / "r",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert not any("other prompts" in note for note in metrics["notes"])
    rows = [json.loads(line) for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines()]
    assert metrics["n"] == len(rows) == sum(question.type == "persona" for question in QUESTIONS)
    assert {row["answer"] for row in rows} == {GOOD, BAD}
    assert sum(row["score"] == (row["answer"] == GOOD) for row in rows) > 0.9 * len(rows)


def test_a_judge_that_is_asked_in_other_words_is_noted(tmp_path):
    model = write_judge(tmp_path / "m")
    pq.write_table(evaluation_table(transcripts()), tmp_path / "t.parquet")
    small("judge", model, tmp_path / "t.parquet", tmp_path / "a", hold_out=0.0, limit=2)
    words = tmp_path / "words" / "hicupid"
    words.mkdir(parents=True)
    places = "{relation} {entity} {question} {answer_a} {answer_b}"
    (words / "judge_persona.yaml").write_text(f'user_prompt: "Which is better? {places}"\n')
    ran = bowstring(
        "eval", "hicupid", "--model", f"hf/{model}", "--judge", f"hf/{model}+{tmp_path / 'a'}", "--limit", 1,
        "--history", "none", "--max-tokens", 2, "--prompts", tmp_path / "words", "--out", tmp_path / "r",
    )  # fmt: skip
    assert ran.code == 1, ran.err  # this judge never ends its answer
    notes = json.loads((tmp_path / "r" / "metrics.json").read_text())["notes"]
    assert any(
        n.endswith("trained with different prompts than it was evaluated with: hicupid/judge_persona") for n in notes
    )


def coverage(n: int) -> list[Coverage]:
    rows = []
    for persona in range(n):
        for kind in ("consistent", "changing"):
            items, labels = ("Is it short?", "Is it kind?"), ("Fully Covered", "Not Covered")
            rows.append(Coverage(f"{persona}+baker", kind, "recall", "Short and kind.", items, labels, None))
    return rows


def test_a_matcher_learns_labels_as_the_json_that_is_read_later():
    made = matcher_examples(coverage(5), settings("matcher", hold_out=0.0), CUPID.prompts())
    (example, *_) = next(iter(made.examples.groups()))
    results = json.loads(example.answer)["results"]
    assert [(r["index"], r["entry"], r["label"]) for r in results] == [
        (1, "Is it short?", "Fully Covered"),
        (2, "Is it kind?", "Not Covered"),
    ]
    assert "1. Is it short?" in example.prompt.messages[-1].text


def test_what_the_teacher_wrote_is_kept_where_it_says_the_same():
    said = 'Sure. {"results": [{"index": 1, "label": "Fully Covered"}, {"index": 2, "label": "Not Covered"}]}'
    rows = [replace(row, transcript=said) for row in coverage(2)]
    rows[1] = replace(rows[1], labels=("Not Covered", "Not Covered"))
    made = matcher_examples(rows, settings("matcher", hold_out=0.0), CUPID.prompts())
    answers = [example.answer for group in made.examples.groups() for example in group]
    assert answers.count(said) == 3
    assert len(answers) == 4


def test_a_matcher_that_cannot_be_read_is_counted_and_not_guessed(tmp_path):
    model = write_model(tmp_path / "m")
    pq.write_table(coverage_table(coverage(6)), tmp_path / "c.parquet")
    ran = bowstring(
        "train", "matcher", "--model", model, "--data", tmp_path / "c.parquet", "--out", tmp_path / "a",
        "--rank", SMALL["rank"], "--alpha", SMALL["alpha"], "--hold-out", 0.5, "--packs-per-step", 1,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "agreement with the teacher on held-out data:" in ran.out
    assert "accuracy –, macro F1 –, kappa –; 0 labels" in ran.out
    assert "next: bowstring eval cupid --matcher hf/" in ran.out


@pytest.mark.slow
def test_a_matcher_learns_what_its_teacher_says_and_is_asked_by_an_evaluation(tmp_path):
    """By a vocabulary that keeps JSON as it is."""
    items = ("Is it short?", "Is it kind?")
    taught = {"Keep it short.": (1, 0), "Be kind.": (0, 1), "Terse and warm.": (1, 1)}
    rows = [_taught(f"{n}+baker", text, items, covered) for n in range(12) for text, covered in taught.items()]
    prompts = CupidPrompts(CUPID.prompts(), oracle=False, matcher=None)
    read = [m.text for row in rows for m in prompts.match(items, row.preference).messages]
    model = write_learner(tmp_path / "m", "\n".join([*read, *(str(row.transcript) for row in rows)]), spaced=True)
    pq.write_table(coverage_table(rows), tmp_path / "c.parquet")
    given = LEARNS | {"epochs": 20.0, "hold_out": 0.25}
    trained = small("matcher", model, tmp_path / "c.parquet", tmp_path / "a", checkpointing=False, **given)
    found = trained.record["held_out"]["all"]
    assert (found["n"], found["unparsed"]) == (18, 0)
    assert found["kappa"]["value"] > 0.9

    def answer(messages, body):
        if body["model"] == "judge":
            return json.dumps({"checklist": items})
        return "### Most Likely Preference\n\nTerse and warm."

    gold = [replace(i, preference="Keep it short.", checklist=items) for i in load_cupid("mini").instances[:2]]
    write_json(gold, tmp_path / "data")
    with Server(answer) as server:
        ran = bowstring(
            "eval", "cupid", "--data", tmp_path / "data", "--task", "inference", "--model", server.model("m"),
            "--judge", server.model("judge"), "--matcher", f"hf/{model}+{tmp_path / 'a'}", "--out", tmp_path / "r",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["failed"] == metrics["unparsed"] == 0
    assert metrics["metrics"]["inference.precision"]["value"] == 50.0, "one of two inferred items is gold"
    assert metrics["metrics"]["inference.recall"]["value"] == 100.0, "both gold items were inferred"


def _taught(persona: str, preference: str, items: tuple[str, ...], covered: tuple[int, ...]) -> Coverage:
    labels = tuple("Fully Covered" if one else "Not Covered" for one in covered)
    said = json.dumps({"results": [{"index": n, "label": label} for n, label in enumerate(labels, 1)]})
    return Coverage(persona, "consistent", "recall", preference, items, labels, said)


def _by_type(row: Judgement) -> int:
    """In the order in which the types come."""
    return list(dict.fromkeys(r.question.type for r in transcripts())).index(row.question.type)


def _trained_users() -> set[int]:
    made = judge_examples(
        transcripts(), settings("judge", hold_out=0.4, types=("persona", "schedule")), HICUPID.prompts()
    )
    return {int(e.owner) for group in made.examples.groups() for e in group}
