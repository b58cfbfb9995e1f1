"""`bowstring data export-judgements`: what the judges of finished runs wrote, as training data."""

import json
from collections import Counter

import pytest

from bowstring.benchmarks.cupid.reading import load_coverage
from bowstring.benchmarks.hicupid.reading import load_judgements
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.judging.forms import PAIRWISE
from bowstring.judging.structured import LABELS
from bowstring.judging.verdicts import read_pairwise
from tests.e2e.test_eval import command, records
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.e2e.test_eval_cupid import command as cupid_command
from tests.e2e.test_eval_cupid import malformed
from tests.support.command import bowstring
from tests.support.run_files import without_sums
from tests.support.server import Reply, Server, digest_answer, text_of

QUESTIONS = {q.key: q for q in load_hicupid("mini").questions()}
INSTANCES = {i.key: i for i in load_cupid("mini").instances}


def export(*arguments):
    return bowstring("data", "export-judgements", *arguments)


def test_transcripts_come_back_with_their_questions_answers_and_sides(tmp_path):
    with Server() as server:
        assert bowstring(*command(server, tmp_path / "r")).code == 0
    ran = export(tmp_path / "r", "--out", tmp_path / "t.parquet")
    assert ran.code == 0, ran.err
    by = server.model("judge")
    assert ran.out == f"60 judgements by {by} from 1 run; left out: nothing; {tmp_path / 't.parquet'}\n"
    found = load_judgements(str(tmp_path / "t.parquet"))
    for judged, record in zip(found, records(tmp_path / "r"), strict=True):
        question = QUESTIONS[judged.question.key]
        for field in ("type", "question", "personalized_answer", "general_answer", "evidence"):
            assert getattr(judged.question, field) == getattr(question, field)
        for field in ("persona", "profile", "schedule"):
            assert getattr(judged.question, field) == getattr(question, field)
        assert (judged.answer, judged.judgement) == (record["answer"], record["judgement"])
        if question.type == "schedule":
            assert judged.answer_is is None
        elif record["verdict"] != "tie":
            assert (read_pairwise(judged.judgement) == judged.answer_is) == (record["verdict"] == "win")


def test_both_orders_are_two_rows_each_with_its_own_side(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--both-orders"))
        judged_by = [r for r in server.requests if r.body["model"] == "judge"]
        prompts = {PAIRWISE.as_lines(r.answer): text_of(r.body["messages"][-1]) for r in judged_by}
    assert export(tmp_path / "r", "--out", tmp_path / "t").code == 0
    found = load_judgements(str(tmp_path / "t"))
    times = Counter(judged.question.key for judged in found)
    assert times == {key: 1 if q.type == "schedule" else 2 for key, q in QUESTIONS.items()}
    for judged in found:
        if judged.answer_is:
            seen = prompts[judged.judgement]
            mine, gold = seen.index(judged.answer), seen.index(judged.question.personalized_answer)
            assert (mine < gold) == (judged.answer_is == "A"), "the side is the one that the judge saw"


def test_what_failed_or_cannot_be_read_is_left_out_and_counted(tmp_path):
    mute, lost = QUESTIONS["0/0"], QUESTIONS["0/1"]

    def odd(messages, body):
        unsure = body["model"] == "judge" and mute.question in text_of(messages[-1])
        return "I cannot say." if unsure else digest_answer(messages, body)

    def refusal(request):
        refused = request.body["model"] == "judge" and lost.question in text_of(request.body["messages"][-1])
        return Reply(status=400, body=b'{"error": {"message": "no"}}') if refused else None

    with Server(odd, faults=refusal) as server:
        assert bowstring(*command(server, tmp_path / "r", "--limit", "10")).code == 1
    ran = export(tmp_path / "r", "--out", tmp_path / "t.parquet")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("8 judgements by ")
    assert "; left out: 1 unparsed, 1 failed (judge); " in ran.out
    keys = {judged.question.key for judged in load_judgements(str(tmp_path / "t.parquet"))}
    assert keys.isdisjoint({mute.key, lost.key})


def test_runs_are_joined_a_sweep_stands_for_its_runs_and_duplicates_come_once(tmp_path):
    with Server() as server:
        sweep = command(server, tmp_path / "s", "--limit", "10", "--history", "none", "--history", "gold")
        assert bowstring(*sweep).code == 0
        bowstring(*command(server, tmp_path / "again", "--limit", "10", "--history", "none", "--shots", "0"))
    ran = export(tmp_path / "s", tmp_path / "s" / "gold", tmp_path / "again", "--out", tmp_path / "t.parquet")
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"20 judgements by {server.model('judge')} from 3 runs; left out: 10 duplicate; ")
    both = records(tmp_path / "s" / "none") + records(tmp_path / "s" / "gold")
    assert [judged.answer for judged in load_judgements(str(tmp_path / "t.parquet"))] == [r["answer"] for r in both]


def test_a_folder_that_holds_the_set_takes_its_transcripts_too(tmp_path, hicupid_folder):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--data", str(hicupid_folder)))
    assert export(tmp_path / "r", "--out", hicupid_folder).code == 0
    described = json.loads(bowstring("data", "info", hicupid_folder, "--json").out)
    assert described["transcripts"] == {"train": 60}
    again = export(tmp_path / "r", "--out", hicupid_folder)
    assert again.code == 2
    assert again.err == f"{hicupid_folder / 'evaluation'} is not empty; choose another --out\n"


def test_a_teacher_that_is_no_model_is_said_to_be_none(tmp_path):
    with Server() as server:
        bowstring("eval", "hicupid", "--model", server.model("m"), "--judge", "builtin", "--out", tmp_path / "r")
    ran = export(tmp_path / "r", "--out", tmp_path / "t.parquet")
    assert ran.code == 0, ran.err
    first, second = ran.out.splitlines()
    assert first.startswith("60 judgements by builtin from 1 run")
    assert second.startswith("note: builtin is not a model")


def test_labels_of_a_matcher_come_back_with_what_was_held_against_what(tmp_path):
    with Server(cupid_answer) as server:
        bowstring(*cupid_command(server, tmp_path / "r", "--matcher", server.model("matcher")))
    ran = export(tmp_path / "r", "--out", tmp_path / "t")
    assert ran.code == 0, ran.err
    by = server.model("matcher")
    assert ran.out.startswith(f"24 labelled checklists by {by} from 1 run; left out: nothing; ")
    found = load_coverage(str(tmp_path / "t"))
    assert load_coverage(str(tmp_path / "t" / "coverage" / "train.parquet")) == found
    rows = {r["key"]: r for r in records(tmp_path / "r")}
    for labelled in found:
        key = f"{labelled.persona_id}+{labelled.instance_type}"
        gold, inference = INSTANCES[key], rows[key]["inference"]
        expected = {
            "precision": (gold.preference, tuple(inference["checklist"])),
            "recall": (inference["preference"], gold.checklist),
        }
        assert (labelled.preference, labelled.checklist) == expected[labelled.side]
        assert [LABELS[label.lower()] for label in labelled.labels] == inference[labelled.side]
        assert [entry["label"] for entry in json.loads(labelled.transcript)] == list(labelled.labels)
    assert Counter(labelled.side for labelled in found) == {"precision": 12, "recall": 12}


def test_a_repaired_label_comes_with_the_text_that_was_read(tmp_path):
    def clumsy(messages, body):
        if "The checklist:" in text_of(messages[-1]):
            return "Well …"
        repair = any(m["role"] == "assistant" for m in messages)
        return cupid_answer(messages[:-2] if repair else messages, body)

    with Server(clumsy) as server:
        bowstring(*cupid_command(server, tmp_path / "r", "--limit", "1", "--task", "inference"))
    assert export(tmp_path / "r", "--out", tmp_path / "t.parquet").code == 0
    assert all("results" in labelled.transcript for labelled in load_coverage(str(tmp_path / "t.parquet")))


@pytest.mark.parametrize(
    ("more", "kind", "reason"),
    [
        ([], "half the labels", "12 unparsed (match)"),
        ([], "no heading", "12 unparsed (preference)"),
        (["--task", "generation"], "no score", "12 without inference"),
    ],
)
def test_a_run_without_labels_leaves_no_file(tmp_path, more, kind, reason):
    with Server(malformed(kind)) as server:
        bowstring(*cupid_command(server, tmp_path / "r", *more))
    ran = export(tmp_path / "r", "--out", tmp_path / "t.parquet")
    assert ran.code == 2
    assert ran.err == f"{tmp_path / 'r'} has nothing to export: {reason}\n"
    assert not (tmp_path / "t.parquet").exists()


def test_retrieval_alone_was_never_judged(tmp_path):
    bowstring("eval", "hicupid", "--retrieval-only", "--history", "bm25/dialogue/1", "--out", tmp_path / "r")
    ran = export(tmp_path / "r", "--out", tmp_path / "t.parquet")
    assert (ran.code, ran.err) == (2, f"{tmp_path / 'r'} has nothing to export: 60 never judged\n")


def test_wrong_usage_is_one_line_and_exit_code_2(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "h", "--limit", "1"))
    with Server(cupid_answer) as server:
        bowstring(*cupid_command(server, tmp_path / "c", "--limit", "1"))
    (tmp_path / "there.parquet").write_bytes(b"")
    manifest = json.loads((tmp_path / "h" / "run.json").read_text())
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "run.json").write_text(json.dumps(manifest | {"status": "running"}))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text(json.dumps(manifest))
    without_sums(tmp_path / "broken")
    (tmp_path / "broken" / "records.jsonl").write_text('{"key"')
    for arguments, message in [
        ((), "Missing argument 'RUN...'"),
        (("h",), "Missing option '--out'"),
        (("h", "c", "--out", "t"), f"h is a hicupid run and {tmp_path / 'c'} a cupid one; export them separately"),
        (("nowhere", "--out", "t"), "nowhere is not a run; expected a run's folder, such as runs/NAME"),
        ((".", "--out", "t"), "is not a run"),
        (("unfinished", "--out", "t"), "has not ended: its run.json says 'running'"),
        (("broken", "--out", "t"), "records.jsonl line 1: is not JSON"),
        (("h", "--out", "there.parquet"), "there.parquet exists already; choose another --out"),
        (("h", "--out", "t.jsonl"), "t.jsonl: expected a .parquet file or a folder"),
    ]:
        ran = export(*(a if a.startswith("--") else tmp_path / a for a in arguments))
        assert ran.code == 2, arguments
        assert message in ran.err
        assert len(ran.err.splitlines()) == 1
