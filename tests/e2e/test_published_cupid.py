"""`bowstring eval cupid --protocol published`: what is asked and how it is counted, as the authors' code does it."""

import json
from pathlib import Path

import pytest

from bowstring.benchmarks.loading import load_cupid
from tests.e2e.test_eval import metrics, records
from tests.e2e.test_eval_cupid import answer, assert_right, command, make_checkout
from tests.support.command import bowstring
from tests.support.server import Reply, Server, text_of

INSTANCES = load_cupid("mini").instances
MATCHER = """
import os
EXAMPLES = [
    {"preference": "Maps come folded.", "checklist": {"Is it folded?": 1, "Is it new?": 0.5, "Is it red?": 0}},
]
raise SystemExit("nothing of a checkout is run")
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    return import_words(tmp_path_factory.mktemp("published"))


def import_words(root: Path) -> Path:
    """A folder of prompts that were imported from a checkout."""
    make_checkout(root / "CUPID")
    source = root / "CUPID" / "evaluation" / "modules" / "preference_matcher.py"
    source.parent.mkdir(parents=True)
    source.write_text(MATCHER)
    done = bowstring("prompts", "import", "cupid", root / "CUPID", "--out", root / "words")
    assert done.code == 0, done.err
    return root / "words"


def run(words, out, said=answer, faults=lambda request: None, *more):
    with Server(said, faults=faults) as server:
        ran = bowstring(*command(server, out, "--protocol", "published", "--prompts", str(words), *more))
    assert ran.code in (0, 1), ran.err
    return server, metrics(out), ran


@pytest.mark.parametrize("history", ["summary", "bm25/session/5", "last:3", "full"])
def test_a_history_that_the_authors_code_lacks_is_named(words, tmp_path, history):
    _, found, _ = run(words, tmp_path / "r", answer, lambda request: None, "--history", history, "--limit", "1")
    (note,) = [one for one in found["notes"] if one.startswith("asked and scored")]
    but = "" if history == "full" else f", but with the history {history}, which the authors' code does not have"
    assert note == f"asked and scored as published (--protocol published){but}"


def changed(judge=lambda text: text, model=lambda text: text):
    """The usual answers, changed for one instance in three: by its request, or by what was inferred for it."""

    def said(messages, body):
        text = answer(messages, body)
        return judge(text) if body["model"] == "judge" else model(text)

    return said


def test_requests_are_those_of_the_authors(words, tmp_path):
    server, _, _ = run(words, tmp_path / "r", answer, lambda request: None, "--as-openai", "judge")
    assert_right(tmp_path / "r")
    instance = INSTANCES[0]
    first = server.requests[0].body
    assert first["messages"][0] == {"role": "system", "content": "Sent {as} it is."}
    log = text_of(first["messages"][1])
    shown = "".join(
        f"### Session {n}\n\n"
        + "".join(
            f"#### {'User' if m.role == 'user' else 'AI Assistant'}\n\n{m.text}\n\n" for m in session.dialogue.messages
        )
        + "---\n\n"
        for n, session in enumerate(instance.sessions[: len(instance.history)], 1)
    ).strip()
    assert shown in log
    settings = {
        json.dumps({k: v for k, v in r.body.items() if k != "messages"}, sort_keys=True) for r in server.requests
    }
    assert settings == {
        '{"max_tokens": 8192, "model": "m", "temperature": 0.0}',
        '{"max_completion_tokens": 8192, "model": "judge", "temperature": 0.0}',
        '{"max_completion_tokens": 4096, "model": "judge", "temperature": 0.0}',
    }
    roles = {r.body["messages"][0]["role"] for r in server.requests if r.body["model"] == "judge"}
    assert roles == {"developer"}
    matched = next(r for r in server.requests if "The checklist:" in json.dumps(r.body))
    example = text_of(matched.body["messages"][0])
    assert example.startswith('Take #### Preference\n\nMaps come folded.\n\n#### Output\n\n```json\n{\n  "results": [')
    assert '"label": "Partially Covered"' in example
    assert example.endswith("```\n\n--- and answer {}")


def test_it_needs_the_authors_prompts(tmp_path):
    make_checkout(tmp_path / "CUPID")  # without the matcher's examples
    bowstring("prompts", "import", "cupid", tmp_path / "CUPID", "--out", tmp_path / "words")
    for more in ((), ("--prompts", str(tmp_path / "words"))):
        with Server(answer) as server:
            ran = bowstring(*command(server, tmp_path / "r", "--protocol", "published", *more))
        assert ran.code == 2
        assert "--protocol published needs the authors' prompts" in ran.err
        assert not server.requests


def test_a_matcher_that_cannot_be_read_leaves_its_items_with_nothing_covered(words, tmp_path):
    """And the second side is not asked for. Nothing is repaired."""
    bad = changed(judge=lambda text: text.replace('{"results"', "Sure: {") if "Not Covered" in text else text)
    server, found, _ = run(words, tmp_path / "r", bad)
    assert found["metrics"]["inference.f1"]["value"] == 0.0
    assert found["metrics"]["inference.precision"]["n"] == 24
    assert found["metrics"]["generation.score"]["value"] == 7.0
    matched = [r for r in server.requests if "The checklist:" in json.dumps(r.body)]
    assert matched
    assert all("Is it brief?" in text_of(r.body["messages"][-1]) for r in matched)


def test_a_label_in_another_case_counts_nothing(words, tmp_path):
    _, found, _ = run(words, tmp_path / "r", changed(judge=lambda text: text.replace("Fully", "fully")))
    assert found["metrics"]["inference.precision"]["value"] == 0.0
    assert found["metrics"]["inference.recall"]["value"] == pytest.approx(100 / 6)


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("Score: 7", 0),
        ("7 (Good)", 0),
        ("7.9", 7),
        ("**7**", 7),
        ("7/10", 7),
        ("85/100", 85),
        ("11", 11),
        ("7\n\nWhy", 7),
    ],
)
def test_scores_are_read_by_the_authors_pattern(words, tmp_path, said, score):
    _, found, _ = run(words, tmp_path / "r", changed(judge=lambda text: text.replace("Score\n7", f"Score\n{said}")))
    assert found["metrics"]["generation.score"]["value"] == pytest.approx(score)


def test_an_inference_without_its_heading_removes_the_instance_from_both_tasks(words, tmp_path):
    def said(messages, body):
        text = answer(messages, body)
        bold = body["model"] == "m" and INSTANCES[0].request in text_of(messages[-1])
        return text.replace("### Most Likely", "**Most Likely") if bold else text

    server, found, _ = run(words, tmp_path / "r", said)
    lost = [r for r in records(tmp_path / "r") if r["published"].get("dropped")]
    shared = {i.key for i in INSTANCES if i.request == INSTANCES[0].request}
    assert {r["key"] for r in lost} == shared
    assert found["metrics"]["generation.score"]["n"] == 12 - len(shared)
    assert found["metrics"]["inference.recall"]["n"] == sum(len(i.checklist) for i in INSTANCES if i.key not in shared)
    generated = [
        r for r in server.requests if r.body["model"] == "m" and "Guess" not in text_of(r.body["messages"][-1])
    ]
    assert len(generated) == 12 - len(shared), "a response to it is not asked for"


def test_what_ends_the_authors_program_is_named(words, tmp_path):
    def too_long(request):
        last = text_of(request.body["messages"][-1])
        if request.body["model"] == "m" and "Haldane" in last and "Guess" in last:
            return Reply(400, b'{"error": {"code": "context_length_exceeded", "message": "at most 10 tokens"}}')
        return None

    _, found, ran = run(words, tmp_path / "r", answer, too_long)
    ended = [r for r in records(tmp_path / "r") if r["published"].get("ends")]
    assert {r["published"]["ends"] for r in ended} == {"the context was too long for inference"}
    assert found["metrics"]["generation.score"]["n"] == 12 - len(ended)
    rule = "the authors' program ends: the context was too long for inference"
    assert found["differences"]["rules"] == {rule: len(ended)}
    assert f"{rule} ({len(ended)} instances)" in " ".join(ran.out.split())


def failing(message, *, inference):
    """Refuse the model's requests about one persona: those for an inference, or those for a response."""

    def refuse(request):
        last = text_of(request.body["messages"][-1])
        if request.body["model"] == "m" and "Haldane" in last and ("Guess" in last) == inference:
            return Reply(400, json.dumps({"error": {"message": message}}).encode())
        return None

    return refuse


def test_a_long_context_that_is_not_reported_in_openais_words_is_any_failure(words, tmp_path):
    """The authors' code looks for one word in the error; other servers than OpenAI's do not write it."""
    faults = failing("This model's maximum context length is 10 tokens", inference=True)
    _, found, _ = run(words, tmp_path / "r", answer, faults)
    lost = [r["published"] for r in records(tmp_path / "r") if "dropped" in r["published"]]
    assert lost
    assert lost == [{"dropped": "the request for an inference failed"}] * len(lost)
    assert found["metrics"]["generation.score"]["n"] == 12 - len(lost)
    assert not any("program ends" in rule for rule in found["differences"]["rules"])


@pytest.mark.parametrize(("task", "kind"), [("generation", "dropped"), ("both", "ends")])
def test_a_response_that_fails_ends_their_program_only_beside_an_inference(words, tmp_path, task, kind):
    faults = failing("bad request", inference=False)
    _, found, _ = run(words, tmp_path / "r", answer, faults, "--task", task)
    lost = [r["published"] for r in records(tmp_path / "r") if r["published"].keys() & {"dropped", "ends"}]
    assert lost
    assert lost == [{kind: "the request for a response failed"}] * len(lost)
    assert found["metrics"]["generation.score"]["n"] == 12 - len(lost)


def test_an_item_that_no_request_can_hold_leaves_the_sums_without_a_match(words, tmp_path):
    half = changed(judge=lambda text: text.replace("Is it blue", r"\ud83d Is it blue"))
    server, found, _ = run(words, tmp_path / "r", half)
    assert found["metrics"]["inference.precision"]["value"] == found["metrics"]["inference.recall"]["value"] == 0.0
    assert found["metrics"]["inference.precision"]["n"] == 24
    assert not [r for r in server.requests if "The checklist:" in json.dumps(r.body)]


def test_a_run_says_its_number_by_both_protocols(words, tmp_path):
    lower = changed(judge=lambda text: text.replace("Fully", "fully").replace("Score\n7", "Score\n7.5"))
    for protocol in ("published", "bowstring"):
        with Server(lower) as server:
            given = ("--protocol", protocol, "--prompts", str(words), "--verdicts", "text")
            ran = bowstring(*command(server, tmp_path / protocol, *given))
        assert ran.code == 0, ran.err
        found = metrics(tmp_path / protocol)
        assert found["protocol"] == protocol
        both = found["protocols"]
        assert both["bowstring"]["inference.precision"] == pytest.approx(50.0)
        assert both["published"]["inference.precision"] == 0.0
        assert both["bowstring"]["generation.score"] == 7.5
        assert both["published"]["generation.score"] == 7.0
        assert found["metrics"]["generation.score"]["value"] == both[protocol]["generation.score"]
        assert found["protocols_n"][protocol]["inference.precision"] == 24
        assert found["protocols_n"][protocol]["generation.score"] == 12
        page = (tmp_path / protocol / "report.html").read_text()
        assert "0.0 (n 24)" in page
        assert "7.00 (n 12)" in page
        rules = found["differences"]["rules"]
        assert rules["labels in other words count as not covered"] == 12
        assert rules["a score is cut at its point"] == 12
        said = " ".join(ran.out.split())
        heads = [f"{one} (this run)" if one == protocol else one for one in ("bowstring", "published")]
        assert f"The same answers, scored by both protocols {' '.join(heads)} inference.f1" in said
        assert "inference.precision 50.0 (n 24) 0.0 (n 24)" in said
        assert "generation.score 7.50 (n 12) 7.00 (n 12)" in said
        assert "- a score is cut at its point (12 instances) - labels in other words" in said
