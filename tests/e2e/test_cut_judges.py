"""A judge that thinks for 2,500 tokens: with fewer it is cut, which every place with counts says, with the way out."""

import json

import pytest

import bowstring as package
from tests.e2e import test_eval_cupid as cupid
from tests.e2e.test_eval import command, metrics, records
from tests.e2e.test_published_cupid import import_words
from tests.e2e.test_published_hicupid import words as hicupid_words  # noqa: F401 - a fixture
from tests.support.batches import BatchServer
from tests.support.command import bowstring
from tests.support.plugin import install, installed, write_diaries
from tests.support.server import Reply, Server, digest_answer

THOUGHT = 2500


def thinking(*models, when=lambda request: True):
    """Faults of a server whose judges think before they answer: a smaller limit ends within the thought."""

    def fault(request):
        if not request.path.endswith("/chat/completions"):
            return Reply(404)
        body = request.body
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        if body["model"] not in models or limit > THOUGHT or not when(request):
            return None
        message = {"role": "assistant", "content": "", "reasoning_content": "hm " * limit}
        choice = {"message": message, "finish_reason": "length"}
        usage = {"prompt_tokens": 10, "completion_tokens": limit}
        return Reply(body=json.dumps({"choices": [choice], "usage": usage}).encode())

    return fault


def hicupid(server, out, *more):
    models = ["--model", server.model("m"), "--judge", server.model("judge")]
    return ["eval", "hicupid", *models, "--out", str(out), "--type", "persona", "--limit", "12", *more]


def run(faults, out, *more, of=hicupid, answer=digest_answer):
    with Server(answer, faults=faults) as server:
        return server, bowstring(*of(server, out, *more))


def test_a_run_whose_judge_is_cut_everywhere_fails_and_names_the_cause(tmp_path):
    out = tmp_path / "r"
    _, ran = run(thinking("judge"), out, "--verdicts", "text")
    note = "judge: all 12 answers were cut at 512 tokens; raise --judge-tokens"
    assert ran.code == 1
    assert f"Judging failed. {note}" in ran.err
    assert f"! {note}" in ran.out
    assert "answers without text" not in ran.out, "one cause has one note"
    assert "12 unparsed, 12 answers of the judge cut at the token limit" in ran.out
    found = metrics(out)
    assert found["cut"] == {"judge": {"answers": 12, "of": 12, "limits": [512]}}
    assert (found["unparsed"], found["truncated"]) == (12, 0)
    assert note in found["notes"]
    assert found["unscored"]["score.persona"]["bounds"] == [0.0, 100.0]
    page = (out / "report.html").read_text()
    assert note in page
    assert "0 answers and 12 answers of the judge were cut at the token limit" in page
    told = bowstring("report", str(out), "--data", "mini", "--tables", "md", "--out", str(tmp_path / "paper"))
    assert told.code == 0, told.err
    tables = "".join(file.read_text() for file in (tmp_path / "paper").rglob("*.md"))
    assert "12 answers of the judge cut at the token limit" in tables


def test_more_tokens_are_the_way_out(tmp_path):
    server, ran = run(thinking("judge"), tmp_path / "r", "--judge-tokens", "2600", "--verdicts", "text")
    assert ran.code == 0, ran.err
    assert metrics(tmp_path / "r")["cut"] == {}
    assert {r.body["max_tokens"] for r in server.requests if r.body["model"] == "judge"} == {2600}


def test_a_judge_that_takes_a_schema_is_cut_in_both_forms(tmp_path):
    _, ran = run(thinking("judge"), tmp_path / "r")
    assert ran.code == 1
    assert metrics(tmp_path / "r")["cut"] == {"judge": {"answers": 24, "of": 24, "limits": [512]}}


def test_a_run_that_is_scored_again_from_the_store_counts_the_same(tmp_path):
    cut = thinking("judge", when=lambda request: "a" in request.raw.decode()[-40:])
    server, ran = run(cut, tmp_path / "r", "--verdicts", "text")
    first = metrics(tmp_path / "r")
    assert 0 < first["cut"]["judge"]["answers"] <= 12
    lines = (tmp_path / "r" / "records.jsonl").read_bytes()
    again = bowstring(*hicupid(server, tmp_path / "r", "--verdicts", "text"))  # the server is gone
    second = metrics(tmp_path / "r")
    assert second["usage"]["judge"]["requests"] == 0
    assert second["cut"] == first["cut"]
    assert second["notes"] == first["notes"]
    assert again.code == ran.code
    assert (tmp_path / "r" / "records.jsonl").read_bytes() == lines


def test_some_cut_answers_are_counted_and_do_not_fail_a_run_with_scores(tmp_path):
    _, ran = run(once(thinking("judge")), tmp_path / "r", "--verdicts", "text", "--concurrency", "1")
    assert ran.code == 0, ran.err
    assert "! judge: 1 of 12 answers was cut at 512 tokens; raise --judge-tokens" in ran.out
    assert "1 unparsed, 1 answer of the judge cut at the token limit" in ran.out


def once(fault):
    """The fault at the first request that has it."""
    cut = []

    def first(request):
        reply = None if cut else fault(request)
        if reply is not None and reply.status == 200:
            cut.append(request)
        return reply

    return first


def test_cupids_judge_and_matcher_are_counted_apart_and_the_decomposer_with_its_own_limit(tmp_path):
    out = tmp_path / "r"

    def with_matcher(server, out, *more):
        return cupid.command(server, out, "--matcher", server.model("matcher"), "--verdicts", "text", *more)

    _, ran = run(
        thinking("judge", "matcher"),
        out,
        "--judge-tokens",
        "2000",
        "--limit",
        "2",
        of=with_matcher,
        answer=cupid.answer,
    )
    assert ran.code == 1
    found = metrics(out)
    # a checklist, the same again, and a score: both instances ask for the same
    purposes = {"checklists": {"answers": 2, "of": 2}, "scores": {"answers": 1, "of": 1}}
    assert found["cut"] == {"judge": {"answers": 3, "of": 3, "limits": [1000, 2000], "purposes": purposes}}
    assert "judge: all 3 answers were cut at 1,000 or 2,000 tokens; raise --judge-tokens" in found["notes"]
    _, ran = run(
        thinking("matcher"),
        tmp_path / "s",
        "--judge-tokens",
        "2000",
        "--limit",
        "2",
        of=with_matcher,
        answer=cupid.answer,
    )
    assert metrics(tmp_path / "s")["cut"] == {"matcher": {"answers": 4, "of": 4, "limits": [2000]}}
    assert ran.code == 1
    assert "Judging failed. matcher: all 4 answers were cut at 2,000 tokens; raise --judge-tokens" in ran.err


def test_cupids_limits_leave_room_for_that_thought(tmp_path):
    _, ran = run(thinking("judge"), tmp_path / "r", of=cupid.command, answer=cupid.answer)
    assert ran.code == 0, ran.err
    cupid.assert_right(tmp_path / "r")
    assert metrics(tmp_path / "r")["cut"] == {}


def test_an_error_analysis_that_was_cut_is_counted(tmp_path):
    cut = thinking("judge", when=lambda request: b"Category:" in request.raw)

    def wrong(messages, body):
        return cupid.answer(messages, body).replace("Fully Covered", "Not Covered")

    more = ("--analyse", "--task", "inference", "--judge-tokens", "2000", "--limit", "2", "--verdicts", "text")
    _, ran = run(cut, tmp_path / "r", *more, of=cupid.command, answer=wrong)
    found = metrics(tmp_path / "r")
    of = {"checklists": 1, "labels": 2, "error analyses": 2}
    purposes = {name: {"answers": n if name == "error analyses" else 0, "of": n} for name, n in sorted(of.items())}
    assert found["cut"] == {"judge": {"answers": 2, "of": 5, "limits": [2000], "purposes": purposes}}
    assert found["errors"]["kinds"]["unparsed"]["n"] == 2
    assert ran.code == 0, ran.err


def test_a_published_zero_comes_with_what_was_cut(tmp_path):
    words = import_words(tmp_path)
    more = ("--protocol", "published", "--prompts", str(words), "--task", "generation", "--judge-tokens", "2000")
    _, ran = run(thinking("judge"), tmp_path / "r", *more, of=cupid.command, answer=cupid.answer)
    found = metrics(tmp_path / "r")
    assert found["metrics"]["generation.score"]["value"] == 0.0
    assert found["cut"] == {"judge": {"answers": 4, "of": 4, "limits": [2000]}}
    assert "! judge: all 4 answers were cut at 2,000 tokens; raise --judge-tokens" in ran.out
    assert ran.code == 1


def is_asked_for(what):
    """Whether a request to CUPID's judge, with imported prompts, is for labels or for a score."""
    return lambda request: {"labels": "The checklist:", "scores": "-> Here"}[what] in request.raw.decode()


@pytest.mark.parametrize(("what", "metric"), [("labels", "inference.f1"), ("scores", "generation.score")])
def test_a_published_zero_of_one_step_fails_a_run_though_the_role_has_other_answers(tmp_path, what, metric):
    words = import_words(tmp_path)
    more = ("--protocol", "published", "--prompts", str(words), "--judge-tokens", "2000")
    cut = thinking("judge", when=is_asked_for(what))
    _, ran = run(cut, tmp_path / "r", *more, of=cupid.command, answer=cupid.answer)
    found = metrics(tmp_path / "r")
    assert found["metrics"][metric]["value"] == 0.0
    assert metric in found["unread"]
    step = found["cut"]["judge"]["purposes"][what]
    assert step["answers"] == step["of"] == found["cut"]["judge"]["answers"] < found["cut"]["judge"]["of"]
    number = f"{step['of']:,}"
    assert f"tokens ({number} of {number} {what}); raise --judge-tokens" in ran.err
    assert ran.code == 1


def test_a_published_zero_of_labels_of_one_side_fails_a_run(tmp_path):
    """Each instance has one cut answer and one whole answer of the matcher: no label counts."""
    words = import_words(tmp_path)
    more = ("--protocol", "published", "--prompts", str(words), "--judge-tokens", "2000")
    cut = thinking("judge", when=lambda r: is_asked_for("labels")(r) and "Is it brief?" not in r.raw.decode())
    _, ran = run(cut, tmp_path / "r", *more, of=cupid.command, answer=cupid.answer)
    found = metrics(tmp_path / "r")
    step = found["cut"]["judge"]["purposes"]["labels"]
    assert 0 < step["answers"] < step["of"]
    assert found["unread"] == ["inference.f1", "inference.precision", "inference.recall"]
    assert "Judging failed. judge:" in ran.err
    assert ran.code == 1


def test_a_published_zero_of_one_question_type_fails_a_run(hicupid_words, tmp_path):  # noqa: F811
    more = ("--protocol", "published", "--prompts", str(hicupid_words))
    cut = thinking("judge", when=lambda request: "Satisfaction: ?" in request.raw.decode())
    _, ran = run(cut, tmp_path / "r", *more, of=command)
    found = metrics(tmp_path / "r")
    assert found["metrics"]["score.schedule"]["value"] == 0.0
    assert found["metrics"]["score.persona"]["value"] > 0
    assert found["unread"] == ["score.schedule"]
    assert "(12 of 12 verdicts on schedule questions); raise --judge-tokens" in ran.err
    assert ran.code == 1


def test_summaries_that_are_cut_are_counted(tmp_path):
    cut = thinking("scribe")

    def with_scribe(server, out, *more):
        return hicupid(server, out, "--history", "summary", "--history-model", server.model("scribe"), *more)

    _, ran = run(cut, tmp_path / "r", of=with_scribe)
    found = metrics(tmp_path / "r")
    summaries = found["cut"]["history"]
    assert summaries["answers"] == summaries["of"] > 12
    assert f"history: all {summaries['of']:,} answers were cut at 120 tokens" in found["notes"]
    assert ran.code == 0, "the answers are judged"


def test_a_sweep_says_of_which_point_answers_were_cut(tmp_path):
    out = tmp_path / "s"
    cut = once(thinking("judge"))
    more = ("--history", "none", "--history", "gold", "--verdicts", "text", "--concurrency", "1", "--json")
    _, ran = run(cut, out, *more)
    assert ran.code == 0, ran.err
    points = json.loads(ran.out)["points"]
    (name,) = (name for name, point in points.items() if point["cut"])
    assert points[name]["cut"] == {"judge": {"answers": 1, "of": 12, "limits": [512]}}
    note = f"{name}: judge: 1 of 12 answers was cut at 512 tokens; raise --judge-tokens"
    assert note in json.loads((out / "sweep.json").read_text())["notes"]
    page = (out / "report.html").read_text()
    assert note in page
    assert '0<br><span class="tag">1 answer of the judge</span>' in page


def test_a_sweep_shows_the_counts_in_the_terminal(tmp_path):
    _, ran = run(thinking("judge"), tmp_path / "s", "--history", "none", "--history", "gold", "--verdicts", "text")
    assert ran.code == 1
    assert "! gold: 12 unparsed, 12 answers of the judge cut at the token limit" in " ".join(ran.out.split())
    assert "gold: Judging failed. judge: all 12 answers were cut at 512 tokens" in ran.err


def test_a_comparison_says_whose_judge_was_cut(tmp_path):
    run(once(thinking("judge")), tmp_path / "a", "--verdicts", "text", "--concurrency", "1")
    run(lambda request: None, tmp_path / "b", "--verdicts", "text")
    compared = bowstring("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json")
    assert compared.code == 0, compared.err
    found = json.loads(compared.out)
    (note,) = (note for note in found["notes"] if "were cut" in note or "was cut" in note)
    assert note.endswith("judge: 1 of 12 answers was cut at 512 tokens; raise --judge-tokens")
    assert [own.get("cut") for own in found["runs"]] == [{"judge": {"answers": 1, "of": 12, "limits": [512]}}, {}]


def test_an_audit_counts_the_cut_answers_of_its_judges(tmp_path):
    out = tmp_path / "r"
    with Server(faults=thinking("second")) as server:
        assert bowstring(*hicupid(server, out, "--verdicts", "text")).code == 0
        more = ("--second-judge", server.model("second"), "--checks", "second-judge")
        audited = bowstring("audit", str(out), *more)
    found = json.loads((out / "audit.json").read_text())
    assert found["cut"] == {"second": {"answers": 12, "of": 12, "limits": [512]}}
    note = "second: all 12 answers were cut at 512 tokens; repeat the run with more --judge-tokens"
    assert note in found["notes"]
    assert note in " ".join(audited.out.split())
    assert audited.code == 1
    assert note in (out / "report.html").read_text()


def test_a_plugin_has_the_same_option_and_counts(tmp_path):
    write_diaries(tmp_path / "diaries")
    with installed(install(tmp_path / "site")), Server(faults=thinking("judge")) as server:
        models = ["--model", server.model("m"), "--judge", server.model("judge"), "--verdicts", "text"]
        common = ["eval", "diary", *models, "--data", str(tmp_path / "diaries")]
        ran = bowstring(*common, "--out", str(tmp_path / "r"))
        bowstring(*common, "--out", str(tmp_path / "s"), "--judge-tokens", "2600")
    cut = metrics(tmp_path / "r")["cut"]["judge"]
    assert cut["answers"] == cut["of"] == len(records(tmp_path / "r"))
    assert ran.code == 1
    assert metrics(tmp_path / "s")["cut"] == {}
    limits = {r.body["max_tokens"] for r in server.requests if r.body.get("model") == "judge"}
    assert limits == {512, 2600}


def test_answers_of_a_batch_are_counted(tmp_path):
    class Cutting(BatchServer):
        def _end(self, n, batch):
            super()._end(n, batch)
            if self.inputs(n)[0]["body"]["model"] == "judge":
                name = batch["output_file_id"]
                cut = self.files[name].replace('"finish_reason": "stop"', '"finish_reason": "length"')
                self.files[name] = cut.replace("Better Response", "Better Resp")

    with Cutting() as server:
        ran = bowstring(*hicupid(server, tmp_path / "r", "--batch", "--verdicts", "text"))
    assert ran.code == 1
    assert metrics(tmp_path / "r")["cut"] == {"judge": {"answers": 12, "of": 12, "limits": [512]}}


def test_the_python_interface_has_the_option(tmp_path):
    with Server() as server:
        package.evaluate(
            "hicupid",
            model=server.model("m"),
            judge=server.model("judge"),
            judge_tokens=700,
            limit=1,
            out=tmp_path / "r",
        )
    assert {r.body["max_tokens"] for r in server.requests if r.body["model"] == "judge"} == {700}
