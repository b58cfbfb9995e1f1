"""Judges and matchers learn from a teacher, and are tested on users whom they have not seen."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from bowstring.datasets.coverage import coverage_table
from bowstring.datasets.hicupid import evaluation_table
from bowstring.errors import UsageError
from bowstring.prompts import PromptFolder
from bowstring.records import Coverage
from bowstring.training.evaluators import judge_examples, matcher_examples
from bowstring.training.settings import settings_for
from tests.support.command import bowstring
from tests.support.teaching import LEARNS, QUESTIONS, SAID, transcripts
from tests.support.tiny import write_model
from tests.support.training import SMALL, small


def settings(method: str, **given):
    return settings_for(method, **given)


def test_a_judge_learns_the_prompt_it_will_be_asked_and_what_the_teacher_wrote():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.0), PromptFolder())
    examples = [example for group in made.examples.groups() for example in group]
    assert len(examples) == len(QUESTIONS)
    assert made.held_out == ()
    for example in examples:
        assert example.answer == SAID[example.kind]
        assert "an answer" in example.prompt.messages[-1].text
    assert {tuple({e.kind for e in group}) for group in made.examples.groups()} == {(kind,) for kind in SAID}


def test_no_user_is_on_both_sides():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.4), PromptFolder())
    trained = {e.owner for group in made.examples.groups() for e in group}
    held = {one.example.owner for one in made.held_out}
    assert trained
    assert held
    assert not trained & held


def test_types_that_are_not_trained_on_are_tested_all_the_same():
    made = judge_examples(transcripts(), settings("judge", hold_out=0.4, types=("persona",)), PromptFolder())
    assert {e.kind for group in made.examples.groups() for e in group} == {"persona"}
    assert {one.example.kind for one in made.held_out} == set(SAID)


def test_what_cannot_be_learned_from_is_left_out_and_counted():
    spoiled = transcripts()
    spoiled[0] = replace(spoiled[0], judgement="Both are fine.")
    spoiled[1] = replace(spoiled[1], answer_is=None)
    assert spoiled[1].question.type != "schedule"
    made = judge_examples(spoiled, settings("judge", hold_out=0.0), PromptFolder())
    assert sum(map(len, made.examples.groups())) == len(QUESTIONS) - 2
    assert made.examples.notes == (
        "left out 1 transcripts without a verdict that can be read",
        "left out 1 transcripts that do not say which side the answer had (answer_is)",
    )
    with pytest.raises(UsageError, match="no judge transcripts to train on"):
        judge_examples(spoiled[:2], settings("judge"), PromptFolder())


def test_a_judge_agrees_with_its_teacher_on_users_it_has_not_seen(tmp_path):
    model = write_model(tmp_path / "m", words=" ".join(SAID.values()), initializer_range=0.3)
    pq.write_table(evaluation_table(transcripts()), tmp_path / "t.parquet")
    trained = small(
        "judge", model, tmp_path / "t.parquet", tmp_path / "a", types=("persona", "schedule"), checkpointing=False,
        **LEARNS,
    )  # fmt: skip
    found = trained.record["held_out"]
    for kind in ("persona", "schedule"):
        assert found["by_type"][kind]["accuracy"]["value"] == 1.0, kind
        assert found["by_type"][kind]["n"] > 2 * found["by_type"][kind]["unparsed"]
        assert found["by_type"][kind]["trained_on"]
    assert not found["by_type"]["profile"]["trained_on"]
    unseen = found["by_type"]["profile"]["accuracy"]
    assert unseen is None or unseen["value"] == 0.0, "it has only learned to say A"
    assert found["all"]["accuracy"]["clusters"] == len({q.user_id for q in QUESTIONS} - _trained_users())
    lines = [json.loads(line) for line in (tmp_path / "a" / "held_out.jsonl").read_text().splitlines()]
    assert len(lines) == sum(group["n"] + group["unparsed"] for group in found["by_type"].values())
    assert lines[0].keys() == {"key", "type", "teacher", "evaluator", "text"}

    # And as a judge of a run it says what it learned, in the words it was trained on.
    ran = bowstring(
        "eval", "hicupid", "--model", f"hf/{model}", "--judge", f"hf/{model}+{tmp_path / 'a'}", "--limit", 3,
        "--history", "none", "--max-tokens", 4, "--type", "persona", "--out", tmp_path / "r",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["n"] == 3
    assert not any("other words" in note for note in metrics["notes"])


def test_a_judge_that_is_asked_in_other_words_is_noted(tmp_path):
    model = write_model(tmp_path / "m", words=" ".join(SAID.values()))
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
    assert ran.code == 0, ran.err
    notes = json.loads((tmp_path / "r" / "metrics.json").read_text())["notes"]
    assert any(n.endswith("trained on other words than it was asked with: hicupid/judge_persona") for n in notes)


def coverage(n: int) -> list[Coverage]:
    rows = []
    for persona in range(n):
        for kind in ("consistent", "changing"):
            items, labels = ("Is it short?", "Is it kind?"), ("Fully Covered", "Not Covered")
            rows.append(Coverage(f"{persona}+baker", kind, "recall", "Short and kind.", items, labels, None))
    return rows


def test_a_matcher_learns_labels_as_the_json_that_is_read_later():
    made = matcher_examples(coverage(5), settings("matcher", hold_out=0.0), PromptFolder())
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
    made = matcher_examples(rows, settings("matcher", hold_out=0.0), PromptFolder())
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
    assert "agreement with the teacher on what was held out:" in ran.out
    assert "accuracy –, macro F1 –, kappa –; 0 labels" in ran.out
    assert "next: bowstring eval cupid --matcher hf/" in ran.out


def _trained_users() -> set[int]:
    made = judge_examples(transcripts(), settings("judge", hold_out=0.4, types=("persona", "schedule")), PromptFolder())
    return {int(e.owner) for group in made.examples.groups() for e in group}
