"""`bowstring eval hicupid`: what is asked in each variant, how it is judged and scored, sweeps, upstream's prompts."""

import json
import sqlite3
from pathlib import Path

import pytest

import bowstring as package
from bowstring.benchmarks.loading import load_hicupid
from bowstring.metrics.text import bleu, rouge_l
from tests.e2e.test_eval import command, metrics, records
from tests.support.command import bowstring
from tests.support.embedding import write_contriever
from tests.support.server import Reply, Server, digest_answer, text_of

MINI = load_hicupid("mini")
QUESTIONS = {q.key: q for q in MINI.questions()}


def asked(server: Server, model: str = "m") -> dict[str, list[dict]]:
    """The messages of each question, by the question."""
    return {text_of(r.body["messages"][-1]): r.body["messages"] for r in server.requests if r.body["model"] == model}


def turns(user: int) -> list[str]:
    return [m.text for d in MINI.history(user) for m in d.messages]


def run(tmp_path: Path, *more: str, answer=digest_answer) -> tuple[Server, list[dict], dict]:
    with Server(answer) as server:
        ran = bowstring(*command(server, tmp_path / "r", *more))
    assert ran.code == 0, ran.err
    return server, records(tmp_path / "r"), metrics(tmp_path / "r")


def test_the_instruction_comes_first_and_the_question_last(tmp_path):
    server, _, _ = run(tmp_path, "--limit", "10")
    for question, messages in asked(server).items():
        assert [m["role"] for m in messages] == ["system"] + ["user", "assistant"] * 25 + ["user"]
        assert "Examples" not in messages[0]["content"]
        assert [m["content"] for m in messages[1:-1]] == turns(0)
        assert question in {q.question for q in QUESTIONS.values() if q.user_id == 0}


def test_in_the_user_variant_history_instruction_and_acknowledgement_are_equal_for_all(tmp_path):
    server, _, _ = run(tmp_path, "--limit", "10", "--instruction", "user")
    before = {json.dumps(messages[:-1]) for messages in asked(server).values()}
    assert len(before) == 1, "one trunk"
    messages = next(iter(asked(server).values()))
    assert [m["role"] for m in messages] == ["user", "assistant"] * 26 + ["user"]
    assert [m["content"] for m in messages[:50]] == turns(0)
    assert "be my personal assistant" in messages[50]["content"]
    assert messages[51]["content"].startswith("Understood")


@pytest.mark.parametrize("shots", [1, 3, 5])
@pytest.mark.parametrize("instruction", ["system", "user"])
def test_so_many_examples_of_each_type_go_into_the_instruction(tmp_path, shots, instruction):
    server, _, _ = run(tmp_path, "--limit", "1", "--shots", str(shots), "--instruction", instruction)
    (messages,) = asked(server).values()
    text = messages[0 if instruction == "system" else -3]["content"]
    assert text.count("\nAssistant: ") == 3 * shots
    assert text.count("Already planned: ") == shots


def test_published_defaults_are_sent(tmp_path):
    server, _, _ = run(tmp_path, "--limit", "1")
    model, judge = (next(r.body for r in server.requests if r.body["model"] == name) for name in ("m", "judge"))
    assert (model["max_tokens"], model["temperature"], model["top_k"]) == (200, 0.6, 50)
    assert (judge["max_tokens"], judge["temperature"]) == (512, 0)


@pytest.mark.parametrize(
    ("view", "dialogues"),
    [("bm25/utterance/3", None), ("bm25/dialogue/2", 2), ("gold", None), ("none", 0), ("last:3", 3)],
)
def test_the_model_sees_what_the_view_shows_in_the_order_of_the_history(tmp_path, view, dialogues):
    server, rows, found = run(tmp_path, "--limit", "10", "--history", view)
    for row in rows:
        shown = [m["content"] for m in asked(server)[row["question"]][1:-1]]
        order = [turns(0).index(text) for text in shown]
        assert order == sorted(order)
        assert row["shown"] == {"turns": len(shown) // 2, "characters": sum(map(len, shown))}
        if view == "gold":
            wanted = [m.text for d in MINI.history(0) if d.id in row["evidence"] for m in d.messages]
            assert shown == wanted
        if view == "bm25/utterance/3":
            assert len(shown) == 6
        if view.startswith("bm25"):
            texts = {d.id: {m.text for m in d.messages} for d in MINI.history(0)}
            assert all(any(text in texts[i] for i in row["retrieved"]) for text in shown)
            if dialogues:
                assert len(row["retrieved"]) == dialogues
    assert ("recall.total" in found["metrics"]) == (view.startswith(("bm25", "last")))


def test_the_newest_turns_that_fit_are_shown(tmp_path):
    server, _, _ = run(tmp_path, "--limit", "1", "--history", "last:1k")
    (messages,) = asked(server).values()
    shown = [m["content"] for m in messages[1:-1]]
    assert 0 < len(shown) < 50
    assert shown == turns(0)[-len(shown) :]


def test_recall_is_a_hit_rate_and_for_profiles_the_mean_of_two(tmp_path):
    ran = bowstring("eval", "hicupid", "--retrieval-only", "--history", "bm25/dialogue/3", "--out", tmp_path / "r")
    assert ran.code == 0, ran.err
    assert "no model was used" in ran.out
    by_type: dict[str, list[float]] = {}
    for row in records(tmp_path / "r"):
        question = QUESTIONS[row["key"]]
        found = set(row["retrieved"])
        parts = [question.evidence]
        if question.type == "profile":
            parts = [question.evidence[:5], question.evidence[5:]]
        expected = sum(bool(found & set(part)) for part in parts) / len(parts)
        assert row["recall"] == expected
        assert "answer" not in row
        by_type.setdefault(question.type, []).append(expected)
    mean = {t: 100 * sum(v) / len(v) for t, v in by_type.items()}
    values = {name: e["value"] for name, e in metrics(tmp_path / "r")["metrics"].items()}
    assert values["recall.total"] == pytest.approx(
        (25 * mean["persona"] + 5 * mean["profile"] + 10 * mean["schedule"]) / 40
    )
    assert values["recall.profile"] == pytest.approx(mean["profile"])
    assert values.keys() == {"recall.total", "recall.persona", "recall.profile", "recall.schedule"}


def test_retrieval_alone_measures_the_published_searches_and_needs_no_model(tmp_path):
    ran = bowstring("eval", "hicupid", "--retrieval-only", "--out", tmp_path / "r", "--json")
    points = json.loads(ran.out)["points"]
    assert list(points) == [f"bm25/utterance/{k}" for k in (5, 15, 25)] + [f"bm25/dialogue/{k}" for k in (1, 3, 5)]
    upstream = bowstring(
        "eval", "hicupid", "--retrieval-only", "--bm25-tokens", "whitespace", "--out", tmp_path / "u", "--json"
    )
    other = json.loads(upstream.out)["points"]
    assert {n: p["metrics"] for n, p in points.items()} != {n: p["metrics"] for n, p in other.items()}
    for more in (["--history", "full"], ["--model", "embedded"]):
        wrong = bowstring("eval", "hicupid", "--retrieval-only", *more)
        assert wrong.code == 2
        assert len(wrong.err.splitlines()) == 1


def test_both_orders_are_asked_and_their_consistency_is_told(tmp_path):
    """A judge that always says A is right half of the time, and never consistent."""

    def partial(messages, body):
        last = text_of(messages[-1])
        return "Better Response: A" if "Better Response:" in last else digest_answer(messages, body)

    server, rows, found = run(tmp_path, "--both-orders", answer=partial)
    judged = [r for r in server.requests if r.body["model"] == "judge"]
    pairs = [r for r in rows if r["type"] != "schedule"]
    assert len(judged) == 2 * len(pairs) + (60 - len(pairs))
    assert {r["score"] for r in pairs} == {0.5}
    assert all({r["verdict"], r["swapped_verdict"]} == {"win", "lose"} for r in pairs)
    values = {name: e["value"] for name, e in found["metrics"].items()}
    assert (values["win"], values["tie"], values["lose"], values["consistency"]) == (50, 0, 50, 0)
    assert found["judge_chose_a"] == 1.0
    assert not any("swapped_verdict" in r for r in rows if r["type"] == "schedule")


def test_in_both_orders_each_side_takes_each_place_once(tmp_path):
    server, rows, _ = run(tmp_path, "--both-orders", "--type", "persona", "--limit", "5")
    for row in rows:
        prompts = [text_of(r.body["messages"][-1]) for r in server.requests if r.body["model"] == "judge"]
        own = [p for p in prompts if row["answer"] in p]
        assert sorted(p.index(row["answer"]) < p.index(row["personalized_answer"]) for p in own) == [False, True]


def test_text_overlap_is_told_for_each_answer_and_as_a_mean(tmp_path):
    _, rows, found = run(tmp_path)
    for row in rows:
        assert row["bleu"] == bleu(row["answer"], row["personalized_answer"])
        assert row["rouge_l"] == rouge_l(row["answer"], row["personalized_answer"])
    assert found["metrics"]["bleu"]["value"] == pytest.approx(sum(r["bleu"] for r in rows) / 60, abs=1e-9)
    assert found["metrics"]["rouge_l"]["value"] == pytest.approx(sum(r["rouge_l"] for r in rows) / 60, abs=1e-9)
    assert found["words"]["answer"] == 2


def test_users_are_compared_by_who_they_are(tmp_path):
    _, _, found = run(tmp_path)
    assert {"age", "gender", "occupation", "income"} <= found["groups"].keys()
    assert found["fairness"] == {}, "no two groups of six users have five users each"


def test_groups_by_user_do_not_need_profile_questions(tmp_path):
    _, _, found = run(tmp_path, "--type", "persona")
    assert "gender" in found["groups"]


def test_a_sweep_is_its_runs_and_a_curve(tmp_path):
    histories = ["full", "gold", "none", "last:1k", "bm25/utterance/5"]
    flags = [part for h in histories for part in ("--history", h)]
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "s", *flags))
        assert ran.code == 0, ran.err
        asked_together = len(server.requests)
        alone = bowstring(*command(server, tmp_path / "one", "--history", "gold"))
        assert alone.code == 0
        assert len(server.requests) == asked_together, "a point is the run that the same settings alone would be"
        again = bowstring(*command(server, tmp_path / "s", *flags))
        assert again.code == 0
        assert len(server.requests) == asked_together
    assert (tmp_path / "s" / "gold" / "records.jsonl").read_bytes() == (tmp_path / "one" / "records.jsonl").read_bytes()
    summary = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert list(summary["points"]) == histories
    tokens = {name: point["context_tokens"] for name, point in summary["points"].items()}
    assert tokens["none"] == 0 < tokens["gold"] < tokens["last:1k"] <= 1000 < tokens["full"]
    for point in summary["points"].values():
        assert point["n"] == 60
        assert (tmp_path / "s" / point["folder"] / "report.html").is_file()
    page = (tmp_path / "s" / "report.html").read_text()
    assert page.count("<circle") == len(histories)
    assert all(f">{name}</text>" in page for name in histories)


def test_a_sweep_shares_whatever_is_equal(tmp_path):
    """full and last:99 are the same prompts here: they are asked once."""
    flags = ["--history", "full", "--history", "last:99", "--history", "full", "--limit", "10"]
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "s", *flags))
    assert ran.code == 0, ran.err
    assert len(server.requests) == 20
    assert sorted(json.loads((tmp_path / "s" / "sweep.json").read_text())["points"]) == ["full", "last:99"]


def test_a_sweep_goes_over_shots_and_instructions_too(tmp_path):
    flags = ["--shots", "0", "--shots", "3", "--instruction", "system", "--instruction", "user", "--limit", "2"]
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "s", *flags))
    assert ran.code == 0, ran.err
    points = json.loads((tmp_path / "s" / "sweep.json").read_text())["points"]
    assert list(points) == [
        "full, 0-shot, system instruction",
        "full, 0-shot, user instruction",
        "full, 3-shot, system instruction",
        "full, 3-shot, user instruction",
    ]


def test_a_sweep_in_python(tmp_path):
    swept = package.sweep(
        "hicupid", model=lambda messages: "Plums.", history=["none", "gold"], out=tmp_path / "s", limit=4
    )
    assert {name: run.metrics["n"] for name, run in swept.points.items()} == {"none": 4, "gold": 4}
    assert swept.folder == tmp_path / "s"
    with pytest.raises(package.BowstringError, match="history is a list"):
        package.evaluate("hicupid", model=lambda messages: "x", history=["none", "gold"])


def test_summaries_stand_for_the_history_and_are_asked_once_a_user(tmp_path):
    def answer(messages, body):
        last = text_of(messages[-1])
        return "NOTE" if last.startswith("Below is one conversation") else digest_answer(messages, body)

    server, rows, _ = run(tmp_path, "--limit", "10", "--history", "summary", answer=answer)
    summaries = [r for r in server.requests if text_of(r.body["messages"][-1]).startswith("Below is one")]
    assert len(summaries) == 13
    messages = asked(server)[rows[0]["question"]]
    assert [m["role"] for m in messages] == ["system", "user"]
    assert messages[0]["content"].count("- NOTE") == 13
    user, _, _ = run(tmp_path / "u", "--limit", "1", "--history", "summary", "--instruction", "user", answer=answer)
    messages = asked(user)[rows[0]["question"]]
    assert [m["role"] for m in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"].count("- NOTE") == 13


UPSTREAM = '''
import os
MODEL_NAME = {"a": "b"}
NUM_RETRIEVAL = [5, 15, 25]
SHARED = """
Use {what} you know.
""".strip()
INFERENCE_PROMPTS = {
    "zero/system": [{"role": "system", "content": SHARED}],
    "zero/user": [{"role": "user", "content": "Be brief."}, {"role": "assistant", "content": "I {will}."}],
    "few/system/3": [{"role": "system", "content": "THREE" " EXAMPLES"}],
    "few/user/3": [{"role": "user", "content": "3"}, {"role": "assistant", "content": "ok"}],
}
EVALUATION_PROMPTS = {
    "persona": [{"role": "user", "content": """P {relation}|{entity}|{question}|{answer_a}|{answer_b}
Better Response: ?
""".strip()}],
    "profile": [{"role": "user", "content": "{age}{gender}{personality}{occupation}{income_range}{relation}{entity}"
                 "{question}{answer_a}{answer_b} Better Response: ?"}],
    "schedule": [{"role": "user", "content": "{datetime}{event}{question}{answer} Satisfaction: ?"}],
}
os.system("touch pwned")
'''


def test_upstreams_prompts_are_read_as_data_and_run_word_for_word(tmp_path):
    (tmp_path / "HiCUPID" / "src").mkdir(parents=True)
    (tmp_path / "HiCUPID" / "src" / "constants.py").write_text(UPSTREAM)
    done = bowstring("prompts", "import", "hicupid", "HiCUPID", "--out", "words", cwd=tmp_path)
    assert done.code == 0, done.err
    assert not (tmp_path / "pwned").exists()
    assert "ask_1" in done.out, "what was not there is named"
    words = ["--prompts", str(tmp_path / "words"), "--limit", "10"]
    server, rows, _ = run(tmp_path / "zero", *words)
    messages = asked(server)[rows[0]["question"]]
    assert messages[0] == {"role": "system", "content": "Use {what} you know."}
    judged = [text_of(r.body["messages"][0]) for r in server.requests if r.body["model"] == "judge"]
    persona = next(r for r in rows if r["type"] == "persona")
    a, b = persona["answer"], persona["personalized_answer"]
    first, second = (a, b) if persona["answer_is"] == "A" else (b, a)
    known = persona["persona"]
    expected = f"P {known['relation']}|{known['entity']}|{persona['question']}|{first}|{second}\nBetter Response: ?"
    assert expected in judged
    server, rows, _ = run(tmp_path / "few", *words, "--shots", "3", "--instruction", "user")
    assert [m["content"] for m in asked(server)[rows[0]["question"]][-3:-1]] == ["3", "ok"]
    missing = bowstring("eval", "hicupid", "--model", "embedded", *words, "--shots", "1")
    assert missing.code == 2
    assert "prompt hicupid/ask has no placeholder {examples}" in missing.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("X = 1", "has neither INFERENCE_PROMPTS nor EVALUATION_PROMPTS"),
        ("INFERENCE_PROMPTS = {'zero/system': [{'role': 'user', 'content': 'x'}]}", "expected one system message"),
        ("EVALUATION_PROMPTS = {'persona': 'who is better?'}", "lacks the placeholder {answer_a}"),
        ("EVALUATION_PROMPTS = {'persona': [1]}", "expected messages with role and content"),
        ("INFERENCE_PROMPTS = {\n'zero/system': f()}", "line 2: INFERENCE_PROMPTS['zero/system'] is not plain data"),
        ("INFERENCE_PROMPTS = f()", "line 1: INFERENCE_PROMPTS is not plain data"),
        (
            "INFERENCE_PROMPTS = {'few/user/1': [{'role': 'system', 'content': 'x'}]}",
            "expected one system message, or a user and an assistant message",
        ),
        ("(", "cannot be parsed as Python"),
    ],
)
def test_a_file_that_is_not_upstreams_is_named_with_what_is_wrong(tmp_path, text, said):
    (tmp_path / "constants.py").write_text(text)
    ran = bowstring("prompts", "import", "hicupid", tmp_path / "constants.py", "--out", tmp_path / "words")
    assert ran.code == 2
    assert said in ran.err
    assert not (tmp_path / "words").exists()


def test_a_tuned_judge_on_other_words_is_told(tmp_path):
    with Server() as server:
        judge = server.model("Llama-3.2-3B-HiCUPID-evaluator")
        out = ["--out", str(tmp_path / "r"), "--limit", "1"]
        ran = bowstring("eval", "hicupid", "--model", server.model("m"), "--judge", judge, *out)
    assert "was used with other prompts than in its training" in ran.out


def test_a_dry_run_of_a_sweep_counts_what_is_equal_once(tmp_path):
    with Server() as server:
        flags = ["--history", "full", "--history", "last:99", "--history", "bm25/utterance/5", "--both-orders"]
        ran = bowstring(*command(server, tmp_path / "s", *flags, "--dry-run", "--json"))
        assert server.requests == []
    plan = json.loads(ran.out)
    assert plan["roles"]["model"]["requests"] == 120
    assert plan["items"] == 180
    assert plan["roles"]["model"]["after_sharing"] < plan["roles"]["model"]["prompt_tokens"]
    assert plan["roles"]["judge"]["requests"] == 3 * (48 * 2 + 12)


def test_dense_search_ranks_by_dot_product_and_embeds_each_text_once(tmp_path):
    import numpy as np

    from bowstring.models.embedder import Embedder

    folder = write_contriever(tmp_path / "contriever")
    flags = ["--retriever", str(folder), "--history", "dense/dialogue/2", "--history", "dense/utterance/3"]
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "s", *flags, "--limit", "10"))
        assert ran.code == 0, ran.err
        messages = asked(server)
    embedder = Embedder(str(folder))
    dialogues = [(d.id, "\n".join(m.text for m in d.messages)) for d in MINI.history(0)]
    vectors = embedder.embed([text for _, text in dialogues], queries=False)
    for row in records(tmp_path / "s" / "dense-dialogue-2"):
        (query,) = embedder.embed([row["question"]], queries=True)
        best = np.argsort(-(vectors @ query), kind="stable")[:2]
        assert row["retrieved"] == sorted(dialogues[n][0] for n in best)
        assert row["question"] in messages
    stored = tmp_path / "embeddings.sqlite"
    with sqlite3.connect(stored) as connection:
        n = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    spoken = {m.text for d in MINI.history(0) for m in d.messages if m.role == "user"}
    assert n == len(spoken | {text for _, text in dialogues}) + 10
    # What is stored is enough to measure another k: the model is not even loaded.
    again = ["eval", "hicupid", "--retrieval-only", "--retriever", folder, "--history", "dense/dialogue/3"]
    ran = bowstring(*again, "--limit", "10", "--out", tmp_path / "k3")
    assert ran.code == 0, ran.err
    assert "Loading" not in ran.err
    assert metrics(tmp_path / "k3")["config"]["retriever"].startswith(str(folder) + "#")


def test_dense_search_does_not_forget_a_user_who_waits(tmp_path, monkeypatch):
    """More users than cached history readers."""
    monkeypatch.setattr("bowstring.history.stages.showing._CACHED", 1)
    folder = write_contriever(tmp_path / "contriever")
    run = package.evaluate(
        "hicupid", retrieval_only=True, history="dense/utterance/3", retriever=str(folder), out=tmp_path / "r"
    )
    assert run.metrics["n"] == 60


def test_a_sweep_and_a_run_do_not_overwrite_each_other(tmp_path):
    base = {"model": lambda messages: "x", "limit": 2}
    package.evaluate("hicupid", history="gold", out=tmp_path / "a" / "r", **base)
    with pytest.raises(package.BowstringError, match="contains a run"):
        package.sweep("hicupid", history=["gold", "none"], out=tmp_path / "a" / "r", **base)
    package.sweep("hicupid", history=["gold", "none"], out=tmp_path / "b" / "s", **base)
    with pytest.raises(package.BowstringError, match="contains a sweep"):
        package.evaluate("hicupid", history="gold", out=tmp_path / "b" / "s", **base)


def test_a_failing_point_is_named(tmp_path):
    def fault(request):
        messages = request.body.get("messages", [])
        return Reply(400, b'{"error": "no"}') if request.body.get("model") == "m" and len(messages) == 2 else None

    with Server(faults=fault) as server:
        ran = bowstring(*command(server, tmp_path / "s", "--history", "full", "--history", "none", "--limit", "3"))
    assert ran.code == 1
    assert "none: 3 of 3 items failed" in ran.err
    assert "full: " not in ran.err


def test_a_run_of_one_user_has_its_metrics(tmp_path):
    """One user cannot show how far length matters: no limit of that is infinite, which JSON cannot say."""

    def answer(messages, body):
        said = digest_answer(messages, body)
        return said if body["model"] == "judge" else " ".join([said] * (6 + len(text_of(messages[-1])) % 12))

    _, _, found = run(tmp_path, "--users", "1", answer=answer)
    controlled = found["validity"]["length_controlled"]
    assert controlled["slope"] is None
    assert (controlled["rate"]["low"], controlled["rate"]["high"]) == (0, 100)
    assert controlled["why"].startswith("all pairs are of one user")
