"""`--batch`: the same results through OpenAI's batch API, whatever happens to the process or the batch."""

import json

import pytest

from tests.e2e.test_eval import command, metrics, records
from tests.support.batches import BatchServer
from tests.support.command import bowstring
from tests.support.server import Reply, Server


def chats(server: Server) -> int:
    return sum(r.path.endswith("/chat/completions") for r in server.requests)


def test_a_run_in_batches_is_the_run(tmp_path):
    """Same store keys and records as without --batch; one batch of answers, one of verdicts, no single requests."""
    with BatchServer(polls=2) as server:
        ran = bowstring(*command(server, tmp_path / "a" / "r", "--batch"))
        assert ran.code == 0, ran.err
        assert chats(server) == 0
        assert [len(server.inputs(n)) for n in range(len(server.batches))] == [60, 60]
        assert "batch_0: 60 requests to openai/m@" in ran.err
        plain = bowstring(*command(server, tmp_path / "b" / "r"))
        assert plain.code == 0
        assert chats(server) == 120
        again = bowstring(*command(server, tmp_path / "a" / "r"))
        assert again.code == 0
        assert chats(server) == 120, "what came in a batch is in the store"
    assert (tmp_path / "a" / "r" / "records.jsonl").read_bytes() == (
        tmp_path / "b" / "r" / "records.jsonl"
    ).read_bytes()


def test_lines_are_requests_as_they_would_be_posted(tmp_path):
    with BatchServer() as server:
        bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "3"))
        posted = bowstring(*command(server, tmp_path / "x" / "r", "--limit", "3"))
        assert posted.code == 0
    rows = server.inputs(0)
    assert all(row["method"] == "POST" and row["url"] == "/v1/chat/completions" for row in rows)
    assert len({row["custom_id"] for row in rows}) == 3
    bodies = [r.body for r in server.requests if r.path.endswith("/chat/completions") and r.body["model"] == "m"]
    assert sorted(map(json.dumps, bodies)) == sorted(json.dumps(row["body"]) for row in rows)


def test_a_batch_whose_answer_was_never_heard_is_found_at_the_server(tmp_path):
    """The process dies after the server created the batch and before its id was recorded."""
    with BatchServer() as server:
        server.faults = lambda r: (
            (server._answered(r), Reply(close=True))[1] if r.path == "/v1/batches" and r.body else None
        )
        args = command(server, tmp_path / "r", "--batch", "--attempts", "1")
        ran = bowstring(*args)
        assert ran.code == 1
        assert len(server.batches) == 1
        server.faults = lambda r: None
        ran = bowstring(*args)
        assert ran.code == 0, ran.err
        assert len(server.batches) == 2
        assert [len(server.inputs(n)) for n in (0, 1)] == [60, 60]


def test_what_expires_is_sent_again(tmp_path):
    """The first batch expires with half of its requests done."""
    seen: list[dict] = []

    def lines(n, body):
        seen.append(body)
        late = {"response": None, "error": {"code": "batch_expired", "message": "This request expired."}}
        return late if n == 0 and len(seen) % 2 else True

    with BatchServer(ends=lambda n: "expired" if n == 0 else "completed", lines=lines) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "20"))
        assert ran.code == 0, ran.err
    sizes = sorted(len(server.inputs(n)) for n in range(len(server.batches)))
    assert sum(sizes) == 20 + 10 + 20
    assert metrics(tmp_path / "r")["failed"] == 0


def test_a_request_that_fails_in_a_batch_fails_alone(tmp_path):
    def lines(n, body):
        if body["model"] == "m" and "book" in body["messages"][-1]["content"]:
            return {"response": {"status_code": 400, "body": {"error": {"message": "this is not allowed here"}}}}
        return True

    with BatchServer(lines=lines) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch"))
    assert ran.code == 1
    failed = [r for r in records(tmp_path / "r") if "failure" in r]
    assert failed
    assert all("book" in r["question"] and r["failure"]["kind"] == "rejected" for r in failed)
    assert "this is not allowed here" in ran.err


def test_a_setting_that_is_refused_in_a_batch_is_left_out_of_the_next(tmp_path):
    def lines(n, body):
        refused = {"response": {"status_code": 400, "body": {"error": {"message": "top_k is not supported"}}}}
        return refused if "top_k" in body else True

    with BatchServer(lines=lines) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 0, ran.err
    assert [len(server.inputs(n)) for n in range(3)] == [5, 5, 5]
    assert "does not support top_k: requests were sent without" in ran.out


def test_a_batch_that_the_server_refuses_ends_the_run_and_is_not_waited_for_again(tmp_path):
    with BatchServer(ends=lambda n: "failed" if n == 0 else "completed") as server:
        args = command(server, tmp_path / "r", "--batch", "--limit", "5")
        ran = bowstring(*args)
        assert ran.code == 1
        assert "batch_0 failed: the file is not to our taste" in ran.err.splitlines()[-1]
        assert bowstring(*args).code == 0


def test_a_batch_that_somebody_cancelled_is_not_sent_again_behind_their_back(tmp_path):
    with BatchServer(ends=lambda n: "cancelled", lines=lambda n, body: None) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 1
    assert len(server.batches) == 1
    assert metrics(tmp_path / "r")["failed"] == 5


def test_a_server_without_a_batch_api_is_named(tmp_path):
    with Server(faults=lambda r: Reply(404, b"not here") if r.path == "/v1/files" else None) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 1
    assert len(ran.err.strip().splitlines()[-1]) > 10
    assert "404" in ran.err


def test_models_without_a_batch_api_are_told(tmp_path):
    ran = bowstring("eval", "hicupid", "--model", "embedded", "--batch", "--out", tmp_path / "r")
    assert ran.code == 2
    assert "none of the models has the OpenAI batch API" in ran.err


def test_a_batch_costs_half_and_caches_nothing(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai/m@127.0.0.1/v1: {input: 10, cached: 1, output: 10}\n")
    with BatchServer() as server:
        base = ["eval", "hicupid", "--model", server.model("m"), "--prices", str(prices), "--dry-run", "--json"]
        plain, batch = (json.loads(bowstring(*base, *more, cwd=tmp_path).out) for more in ([], ["--batch"]))
    assert batch["roles"]["model"]["cost"] == pytest.approx(plain["roles"]["model"]["cost_unshared"] / 2)


def test_cupid_runs_in_batches_too(tmp_path):
    from tests.e2e.test_eval_cupid import answer, assert_right
    from tests.e2e.test_eval_cupid import command as cupid_command

    with BatchServer(answer) as server:
        ran = bowstring(*cupid_command(server, tmp_path / "r", "--batch"))
        assert ran.code == 0, ran.err
        assert chats(server) == 0
    assert_right(tmp_path / "r")


def test_answers_may_hold_any_character_a_file_can(tmp_path):
    """JSON may contain other Unicode line separators; only a newline ends a line of the file."""
    said = "one\u2028two\u2029three\u0085four"
    with BatchServer(lambda messages, body: said, raw=True) as server:
        base = ["eval", "hicupid", "--model", server.model("m"), "--batch", "--limit", "3"]
        ran = bowstring(*base, "--out", tmp_path / "r")
    assert ran.code == 0, ran.err
    assert len(server.batches) == 1
    assert {r["answer"] for r in records(tmp_path / "r")} == {said}


def test_a_batch_that_was_made_before_the_server_failed_is_not_made_again(tmp_path):
    made: list[int] = []

    def fails_after(request):
        if request.path == "/v1/batches" and request.body and len(made) < 2:
            server._answered(request)
            made.append(1)
            return Reply(502, b"bad gateway")
        return None

    with BatchServer() as server:
        server.faults = fails_after
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 0, ran.err
    assert [len(server.inputs(n)) for n in range(len(server.batches))] == [5, 5]


@pytest.mark.parametrize("status", [400, 404, 410])
def test_results_that_the_server_has_no_more_are_asked_for_again(tmp_path, status):
    gone: list[str] = []

    def fault(request):
        if request.path.endswith("/content") and not gone:
            gone.append(request.path)
            return Reply(status, b'{"error": {"message": "no such file"}}')
        return None

    with BatchServer(faults=fault) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 0, ran.err
    assert "its results are no longer at the server" in ran.err
    assert len(server.batches) == 3


@pytest.mark.parametrize("counts", [None, {"completed": None}, [1], {"completed": "three"}])
def test_counts_that_make_no_sense_are_not_shown(tmp_path, counts):
    with BatchServer(polls=1, counts=counts) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "2"))
    assert ran.code == 0, ran.err
    assert "batch_0: in_progress" in ran.err


def test_the_reason_of_an_error_line_is_told_in_any_form(tmp_path):
    def lines(n, body):
        return {"response": {"status_code": 400, "body": {"error": "bad thing"}}} if body["model"] == "m" else True

    with BatchServer(lines=lines) as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "2"))
    assert ran.code == 1
    assert "400 bad thing" in ran.err
    assert len(server.batches) == 1, "what was refused is not sent again"


@pytest.mark.parametrize("text", ["{", "[]", '{"model": 1}', '{"model": "m", "file": "f", "keys": null}'])
def test_a_damaged_ledger_is_named(tmp_path, text):
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "x.json").write_text(text)
    with BatchServer() as server:
        ran = bowstring(*command(server, tmp_path / "r", "--batch", "--limit", "5"))
    assert ran.code == 1
    assert "x.json cannot be read as a batch" in ran.err.splitlines()[-1]
