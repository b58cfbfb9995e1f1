"""What a run says about the answers it got: the same when it is resumed, because it is stored with each answer."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.test_eval import command, metrics, records
from tests.support.batches import BatchServer
from tests.support.command import bowstring
from tests.support.server import Reply, Request, Server, digest_answer


def altered(server, change):
    """Change the answers of the model m."""

    def reply(request):
        value = json.loads(server._answered(request).body)
        if request.body.get("model") == "m":
            change(value)
        return Reply(body=json.dumps(value).encode())

    server.faults = reply


def finish(value, reason, **message):
    value["choices"][0]["finish_reason"] = reason
    value["choices"][0]["message"].update(message)


FAILED = "half an ans"


def notes(out: Path, about: str) -> list[str]:
    return [note.partition(" ")[2] for note in metrics(out)["notes"] if note.startswith(about)]


def test_an_unknown_finish_reason_is_kept_and_noted_once(tmp_path):
    with Server() as server:
        altered(server, lambda value: finish(value, "eos_found"))
        assert bowstring(*command(server, tmp_path / "r", "--limit", "4")).code == 0
    said = ['ended answers with "eos_found", which is not known; they are kept']
    assert notes(tmp_path / "r", server.model("m")) == said
    assert {source["finish"] for r in records(tmp_path / "r") for source in r["sources"]} == {"eos_found", "stop"}


def test_answers_without_text_are_counted_and_noted_once(tmp_path):
    with Server() as server:
        altered(server, lambda value: finish(value, "tool_calls", content=None))
        args = command(server, tmp_path / "r", "--limit", "4")
        assert bowstring(*args).code == 0
        first = metrics(tmp_path / "r")
        assert bowstring(*args).code == 0
    assert len(server.requests) == 8, "an empty answer is an answer, and is not asked for again"
    assert first["failures"]["model"] == {"empty": 4}
    said = ["gave 4 answers without text; they count as empty answers"]
    assert notes(tmp_path / "r", server.model("m")) == said
    assert metrics(tmp_path / "r")["notes"] == first["notes"]


@pytest.mark.parametrize("batch", [False, True])
def test_a_failure_inside_a_200_is_not_an_answer(tmp_path, batch):
    """Each request fails once: it is sent again, and nothing of the failure is stored."""
    failed: set[str] = set()

    def fails_once(messages, body):
        if json.dumps(messages) in failed:
            return digest_answer(messages, body)
        failed.add(json.dumps(messages))
        return FAILED

    class Failing(BatchServer):
        def _answered(self, request: Request) -> Reply:
            reply = super()._answered(request)
            return (
                replace(reply, body=reply.body.replace(b'"stop"', b'"error"'))
                if FAILED.encode() in reply.body
                else reply
            )

    with Failing(fails_once) as server:
        more = ("--batch",) if batch else ("--attempts", "3")
        ran = bowstring(*command(server, tmp_path / "r", "--limit", "3", *more))
    assert ran.code == 0, ran.err
    assert len(failed) == 6
    assert FAILED not in (tmp_path / "r" / "records.jsonl").read_text(encoding="utf-8")
    assert all(r["answer"].startswith("answer") for r in records(tmp_path / "r"))


def refuse_top_k(request):
    if "top_k" in request.body and request.body["model"] == "m":
        return Reply(400, b'{"error": {"message": "Unsupported parameter: top_k", "code": "unsupported_parameter"}}')
    return None


def test_a_setting_that_was_not_sent_is_noted_when_the_run_is_resumed_too(tmp_path):
    with Server(faults=refuse_top_k) as server:
        args = command(server, tmp_path / "r", "--limit", "4")
        assert bowstring(*args).code == 0
        first, asked = metrics(tmp_path / "r"), len(server.requests)
        assert bowstring(*args).code == 0
        assert len(server.requests) == asked
    assert notes(tmp_path / "r", server.model("m")) == ["does not support top_k: requests were sent without"]
    assert metrics(tmp_path / "r")["notes"] == first["notes"]
    sent = [s["sent"] for r in records(tmp_path / "r") for s in r["sources"] if s["role"] == "model"]
    assert len(sent) == 4
    assert not any("top_k" in one for one in sent)


def test_a_batch_that_an_earlier_process_sent_says_what_was_sent(tmp_path):
    def lines(n, body):
        refused = {"response": {"status_code": 400, "body": {"error": {"message": "top_k is not supported"}}}}
        return refused if "top_k" in body and body["model"] == "m" else True

    with BatchServer(lines=lines) as server:
        args = command(server, tmp_path / "r", "--batch", "--limit", "2")
        assert bowstring(*args).code == 0
        for path in tmp_path.glob("responses.sqlite*"):
            path.unlink()
        batches = len(server.batches)
        assert bowstring(*args).code == 0
        assert len(server.batches) == batches, "the batches in the ledger are collected again"
    assert notes(tmp_path / "r", server.model("m")) == ["does not support top_k: requests were sent without"]


def test_a_budget_holds_where_the_server_reports_no_tokens(tmp_path):
    """By prices for the very name that --model has. What it really costs is known here: a token per word."""
    with Server() as server:
        altered(server, lambda value: value.pop("usage"))
        prices = tmp_path / "prices.yaml"
        dear, cheap = "{input: 1000, output: 1000}", "{input: 1, output: 1}"
        prices.write_text(f"{server.model('m')}: {dear}\n{server.model('judge')}: {cheap}\n")
        args = command(server, tmp_path / "r", "--prices", str(prices), "--max-tokens", "20", "--concurrency", "1")
        ran = bowstring(*args, "--max-cost", "30")
        assert ran.code == 1, ran.out
        assert "--max-cost 30" in ran.err
        usage = metrics(tmp_path / "r")["usage"]
        assert 0 < usage["model"]["cost"] + usage["judge"]["cost"] <= 30
        assert usage["model"]["estimated_requests"] == usage["model"]["requests"] > 0
        assert usage["judge"]["estimated_requests"] == 0
        asked = [r for r in server.requests if r.body["model"] == "m"]
        words = sum(len(m["content"].split()) for r in asked for m in r.body["messages"])
        assert 0 < words * 1000 / 1e6 < 30
        said = ["reports no token counts: tokens and cost are estimated from characters"]
        assert notes(tmp_path / "r", server.model("m")) == said
        assert bowstring(*args, "--limit", "2").code == 0
    assert notes(tmp_path / "r", server.model("m")) == said


def test_rate_limits_are_options_of_a_run(tmp_path):
    with Server(digest_answer) as server:
        rates = ("--requests-per-minute", "60000", "--tokens-per-minute", "1e9")
        assert bowstring(*command(server, tmp_path / "r", "--limit", "2", *rates)).code == 0
        wrong = bowstring(*command(server, tmp_path / "s", "--requests-per-minute", "0"))
    assert wrong.code == 2
    assert "--requests-per-minute 0" in wrong.err


def test_a_budget_holds_where_failures_have_to_be_paid_for(tmp_path):
    def failed(value):
        value["choices"][0]["finish_reason"] = "error"

    with Server() as server:
        altered(server, failed)
        prices = tmp_path / "prices.yaml"
        prices.write_text(f"{server.model('m')}: {{input: 1000, output: 1000}}\n")
        args = ["eval", "hicupid", "--model", server.model("m"), "--judge", "builtin", "--out", str(tmp_path / "r")]
        args += ["--prices", str(prices), "--max-tokens", "20", "--concurrency", "1", "--attempts", "3"]
        ran = bowstring(*args, "--max-cost", "30")
        assert ran.code == 1
        assert "--max-cost 30" in ran.err
        usage = metrics(tmp_path / "r")["usage"]["model"]
        words = sum(len(m["content"].split()) for r in server.requests for m in r.body["messages"])
    assert len(server.requests) > 3
    written = sum(len(r.answer.split()) for r in server.requests)
    assert usage["cost"] == pytest.approx((words + written) * 1000 / 1e6)
    assert usage["cost"] < 30 + 3 * 5, "a request that is tried again may pass the limit by its attempts"
