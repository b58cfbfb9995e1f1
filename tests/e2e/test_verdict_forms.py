"""Judges are asked for JSON where their server takes a schema, and for text where it does not: the verdicts agree."""

import json

import pytest

from tests.e2e import test_eval_cupid as cupid
from tests.e2e.test_eval import command, metrics, records
from tests.support.command import bowstring
from tests.support.schemas import asked_schema
from tests.support.server import Reply, Server, digest_answer, text_of

UNSUPPORTED = {
    "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "param": "response_format",
    "code": None,
}


def asked_judge(server, *, by_schema):
    asked = [r for r in server.requests if r.body.get("model") in ("judge", "matcher")]
    return [r for r in asked if (asked_schema(r.body) is not None) == by_schema]


def refuses_schemas(request):
    return None if asked_schema(request.body) is None else rejected(UNSUPPORTED)


def rejected(error):
    return Reply(status=400, body=json.dumps({"error": error}).encode())


def verdicts(out):
    return {r["key"]: (r["verdict"], r["score"]) for r in records(out)}


def ran(*words):
    done = bowstring(*words)
    assert done.code == 0, done.err
    return done


def test_hicupid_is_judged_alike_in_both_forms(tmp_path):
    with Server() as server:
        ran(*command(server, tmp_path / "json"))
        assert len(asked_judge(server, by_schema=True)) == 60
        assert not asked_judge(server, by_schema=False)
        server.requests.clear()
        ran(*command(server, tmp_path / "text", "--verdicts", "text"))
        assert len(asked_judge(server, by_schema=False)) == len(server.requests) == 60, "answers are in the store"
    assert verdicts(tmp_path / "json") == verdicts(tmp_path / "text")
    assert len({verdict for verdict, _ in verdicts(tmp_path / "json").values()}) == 5, "all that there are"
    assert metrics(tmp_path / "json")["metrics"] == metrics(tmp_path / "text")["metrics"]
    for record in records(tmp_path / "json"):
        (source,) = [s for s in record["sources"] if s["role"] == "judge"]
        name = "conflict" if record["type"] == "schedule" else "comparison"
        assert source["sent"]["response_format"] == f"json_schema {name}"
        assert record["judgement"].startswith("1. "), "kept as lines"


def test_cupid_is_judged_alike_in_both_forms(tmp_path):
    with Server(cupid.answer) as server:
        for form in ("json", "text"):
            ran(*cupid.command(server, tmp_path / form, "--verdicts", form))
            cupid.assert_right(tmp_path / form)
    assert metrics(tmp_path / "json")["metrics"] == metrics(tmp_path / "text")["metrics"]
    assert len(asked_judge(server, by_schema=True)) == len(asked_judge(server, by_schema=False))
    names = {r.body["response_format"]["json_schema"]["name"] for r in asked_judge(server, by_schema=True)}
    assert names == {"rating", "checklist", "coverage"}


def test_a_server_that_takes_no_schema_is_asked_for_text_and_not_again(tmp_path):
    with Server(faults=refuses_schemas) as server:
        ran(*command(server, tmp_path / "a", "--concurrency", "1"))
        assert len(asked_judge(server, by_schema=True)) == 1
        assert len(asked_judge(server, by_schema=False)) == 60
        server.requests.clear()
        planned = ran(*command(server, tmp_path / "b", "--dry-run"))
        assert "0" in planned.out
        ran(*command(server, tmp_path / "b"))
        assert not server.requests, "what was asked for as text is found"
        assert verdicts(tmp_path / "a") == verdicts(tmp_path / "b")
        ran(*command(server, tmp_path / "c", "--verdicts", "text"))
        assert len(server.requests) == 60, "a run that asks for text has responses of its own"
    assert verdicts(tmp_path / "a") == verdicts(tmp_path / "c")
    assert metrics(tmp_path / "a")["failed"] == 0
    note = f"{server.model('judge')} did not give the JSON asked for: 60 answers were asked for as text"
    assert note in metrics(tmp_path / "a")["notes"]
    assert note in metrics(tmp_path / "b")["notes"]
    assert note not in metrics(tmp_path / "c")["notes"]


def test_a_server_that_ignores_the_schema_may_answer_in_lines(tmp_path):
    def in_lines(messages, body):
        body.pop("response_format", None)
        return digest_answer(messages, body) if body["model"] != "judge" else "1. Reason.\nBetter Response: B"

    with Server(in_lines) as server:
        ran(*command(server, tmp_path / "r", "--type", "persona"))
    assert len(server.requests) == 2 * len(records(tmp_path / "r"))
    assert all(r["verdict"] == ("win" if r["answer_is"] == "B" else "lose") for r in records(tmp_path / "r"))


def test_what_is_neither_is_asked_for_once_more_as_text(tmp_path):
    def chatty(messages, body):
        if body["model"] == "judge":
            return "Both have their points." if asked_schema(body) is not None else "Better Response: Tie"
        return digest_answer(messages, body)

    with Server(chatty) as server:
        ran(*command(server, tmp_path / "r", "--type", "persona"))
        count = len(records(tmp_path / "r"))
        assert len(asked_judge(server, by_schema=True)) == len(asked_judge(server, by_schema=False)) == count
        server.requests.clear()
        ran(*command(server, tmp_path / "again", "--type", "persona"))
        assert not server.requests
    assert {r["verdict"] for r in records(tmp_path / "r")} == {"tie"}


@pytest.mark.parametrize("times", [1, 2])
def test_an_error_that_quotes_the_prompt_does_not_end_the_use_of_schemas(tmp_path, times):
    """An answer may be about grammar, and a server may refuse that one request and quote it. It is sent once more."""

    def about_grammar(messages, body):
        return "Study grammar." if body["model"] == "m" else digest_answer(messages, body)

    refused = []

    def faults(request):
        if asked_schema(request.body) is None or len(refused) == times:
            return None
        refused.append(request)
        return rejected({"message": "refused: Study grammar."})

    with Server(about_grammar, faults=faults) as server:
        ran(*command(server, tmp_path / "r", "--concurrency", "1"))
    assert len(asked_judge(server, by_schema=True)) == 61
    assert len(asked_judge(server, by_schema=False)) == times - 1
    assert refused[0].body == refused[-1].body


def test_anthropic_is_given_the_schema_in_its_own_way(tmp_path):
    def judge(server):
        return ("--judge", server.model("judge", "anthropic"), "--model", server.model("m"))

    words = ("eval", "hicupid", "--limit", "8")
    for name, faults in (("takes", lambda request: None), ("refuses", refuses_schemas)):
        with Server(faults=faults) as server:
            ran(*words, *judge(server), "--concurrency", "1", "--out", tmp_path / name)
        asked = len(asked_judge(server, by_schema=True)), len(asked_judge(server, by_schema=False))
        assert asked == ((8, 0) if name == "takes" else (1, 8))
    assert verdicts(tmp_path / "takes") == verdicts(tmp_path / "refuses")


def test_imported_words_are_sent_as_they_are(tmp_path):
    folder = tmp_path / "prompts" / "hicupid"
    folder.mkdir(parents=True)
    for kind in ("persona", "profile"):
        more = "{age} {occupation}" if kind == "profile" else ""
        said = f"Compare. {{relation}} {{entity}} {more} {{question}} {{answer_a}} {{answer_b}} Better Response: ?"
        (folder / f"judge_{kind}.yaml").write_text(f"user_prompt: '{said}'\n")
    with Server() as server:
        ran(*command(server, tmp_path / "r", "--prompts", tmp_path / "prompts", "--limit", "20"))
    assert asked_judge(server, by_schema=False)
    for request in asked_judge(server, by_schema=True):
        assert "Already in the user's calendar" in text_of(request.body["messages"][-1]), "our own words"


@pytest.mark.parametrize("answer", ["YES", "no"])
def test_a_python_judge_is_asked_for_text(tmp_path, monkeypatch, answer):
    (tmp_path / "judging.py").write_text(
        "def judge(messages):\n"
        "    assert 'JSON' not in messages[-1]['content']\n"
        f"    return 'Better Response: A\\nSatisfaction: {answer}'\n"
    )
    monkeypatch.chdir(tmp_path)
    with Server() as server:
        ran("eval", "hicupid", "--model", server.model("m"), "--judge", "python:judging:judge", "--out", tmp_path / "r")
    assert metrics(tmp_path / "r")["failed"] == metrics(tmp_path / "r")["unparsed"] == 0


@pytest.mark.parametrize(("status", "hinted"), [(500, True), (503, False)])
def test_a_server_that_fails_at_a_schema_is_reported_with_the_way_out(tmp_path, status, hinted):
    def fails(request):
        return Reply(status, b'{"error": {"message": "internal"}}') if "response_format" in request.body else None

    with Server(faults=fails) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--limit", "2", "--attempts", "2"))
        assert ran.code == 1
        said = " ".join(ran.err.split())
        hint = "(it was asked for JSON by a schema: if that is the cause, use --verdicts text)"
        assert f"{status} internal" in said
        assert (hint in said) == hinted
        assert bowstring(*command(server, tmp_path / "s", "--limit", "2", "--verdicts", "text")).code == 0
