"""Answers of a server that are none: failures inside a response with status 200, answers without text, thoughts.

A failure is never stored or scored. An answer without text is stored once, counted, and noted. A thought is not scored.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_eval import metrics, records
from tests.support.command import bowstring
from tests.support.server import Reply, Request, Server

ITEMS = 6


def choice(content: Any, finish: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}]}


def evaluation(server: Server, out: Path, *more: str) -> list[str]:
    asked = ("--model", server.model("m"), "--judge", "builtin", "--history", "none", "--attempts", "2")
    return ["eval", "hicupid", *asked, "--out", str(out), "--limit", str(ITEMS), *more]


def stored(out: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(out.parent / "responses.sqlite")) as db:
        return db.execute("SELECT text, finish FROM responses").fetchall()


def always(answer: Any) -> Callable[[Request], Reply]:
    return lambda request: Reply(body=json.dumps(answer).encode())


FAILURES = {
    "finish error, with text": choice("Half of an answer", "error"),
    "an error beside the text": {"choices": [choice("Half", "stop")["choices"][0] | {"error": {"message": "no"}}]},
    "an error object": {"error": {"code": 502, "message": "the provider failed"}},
    "no text, unknown finish": choice("", "unheard_of"),
    "no text, no finish": choice(None, None),
}


@pytest.mark.parametrize("form", FAILURES)
def test_a_failure_inside_a_200(form, tmp_path, record_property):
    out = tmp_path / "r"
    with Server(faults=always(FAILURES[form])) as server:
        ran = bowstring(*evaluation(server, out))
        assert ran.code == 1, ran.err
        assert f"{ITEMS} of {ITEMS} items failed; run the same command again to retry them." in ran.err
        assert [r["failure"]["kind"] for r in records(out)] == ["server"] * ITEMS
        assert len(server.requests) == 2 * ITEMS, "it is tried again"
        assert stored(out) == []
        server.faults = lambda request: None
        ran = bowstring(*evaluation(server, out))
        assert ran.code == 0, ran.err
    assert all(r["answer"].startswith("answer ") for r in records(out))
    assert len(stored(out)) == ITEMS
    record_property("tally", {"items": ITEMS, "failed, and said so": ITEMS, "stored": 0})


CALL = {"id": "c-1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
WITHOUT_TEXT = {
    "nothing": choice("", "stop"),
    "tool calls only": choice(None, "tool_calls", tool_calls=[CALL]),
    "thoughts only": choice("", "stop", reasoning_content="They like plums."),
}


@pytest.mark.parametrize("form", WITHOUT_TEXT)
def test_a_normal_end_without_text(form, tmp_path, record_property):
    out = tmp_path / "r"
    with Server(faults=always(WITHOUT_TEXT[form])) as server:
        for _ in range(2):
            ran = bowstring(*evaluation(server, out))
            assert ran.code == 0, ran.err
            assert len(server.requests) == ITEMS, "it is asked once"
            found = metrics(out)
            assert found["failures"]["model"] == {"empty": ITEMS}
            assert (
                f"{server.model('m')} gave {ITEMS} answers without text; they count as empty answers" in found["notes"]
            )
    assert stored(out) == [("", "stop")] * ITEMS
    record_property("tally", {"items": ITEMS, "empty, and said so": ITEMS, "asked twice": 0})


HARMONY = "<|channel|>analysis<|message|>They like plums.<|end|><|start|>assistant<|channel|>final<|message|>"
THOUGHTS = {  # what the server sends, and what of it is the answer
    "cut after the template opened <think>": ("Okay, they like plums, so", ""),
    "cut in <think>": ("<think>They like plums, so", ""),
    "cut in [THINK]": ("[THINK]They like plums, so", ""),
    "cut in <seed:think>": ("<seed:think>They like plums, so", ""),
    "cut in a channel of gpt-oss": ("<|channel|>analysis<|message|>They like plums, so", ""),
    "cut in a channel of Gemma": ("<|channel>thought\nThey like plums, so", ""),
    "cut in a second thought": ("<think>Plums?</think><think>They like plums, so", ""),
    "closed": ("They like plums.</think>\n\nTry plums.", "Try plums."),
    "two thoughts": ("<think>Plums?</think><think>Plums.</think>Try plums.", "Try plums."),
    "channels of gpt-oss": (f"{HARMONY}Try plums.", "Try plums."),
    "a channel of Gemma": ("<|channel>thought\nThey like plums.<channel|>Try plums.", "Try plums."),
}


@pytest.mark.parametrize("form", THOUGHTS)
def test_a_thought_is_no_answer(form, tmp_path, record_property):
    """From a server that says, as llama.cpp does, whether its template opens one."""
    said, answer = THOUGHTS[form]
    finish = "stop" if answer else "length"
    prompt = f"<|user|>Hi<|assistant|>{'<think>' if 'template' in form else ''}\n"

    def serve(request: Request) -> Reply:
        if request.path == "/apply-template":
            return Reply(body=json.dumps({"prompt": prompt}).encode())
        return Reply(body=json.dumps(choice(said, finish)).encode())

    out = tmp_path / "r"
    with Server(faults=serve) as server:
        for _ in range(2):
            ran = bowstring(*evaluation(server, out))
            assert ran.code == 0, ran.err
            asked = sum(r.path.endswith("/completions") for r in server.requests)
    assert [r["answer"] for r in records(out)] == [answer] * ITEMS
    assert set(stored(out)) == {(answer, finish)}
    assert metrics(out)["failures"]["model"] == ({} if answer else {"empty": ITEMS})
    assert metrics(out)["truncated"] == (0 if answer else ITEMS)
    assert asked <= ITEMS + 2, "once each, and two short ones to learn what the server does with thoughts"
    record_property("tally", {"items": ITEMS, "thoughts scored": 0})


def test_what_may_be_a_thought_is_said_after_a_resume_too(tmp_path):
    """The server does not say what its template opens. What was asked first does not matter."""

    def serve(request: Request) -> Reply | None:
        if not request.path.endswith("/completions"):
            return Reply(404)
        cut = len(request.body["messages"][-1]["content"]) % 2
        said = choice("Okay, they like", "length") if cut else choice("Plums.</think>Try plums.", "stop")
        return Reply(body=json.dumps(said).encode())

    with Server(faults=serve) as server:
        found = []
        for name, limits in (("whole", (40,)), ("resumed", (5, 40, 40))):
            out = tmp_path / name / "r"
            for limit in limits:
                ran = bowstring(*evaluation(server, out, "--limit", str(limit)))
                assert ran.code == 0, ran.err
            found.append(metrics(out)["notes"])
        cut = sum(r["answer"] == "Okay, they like" for r in records(out))
    whole, resumed = found
    assert resumed == whole
    assert 0 < cut < 40
    expected = (
        f"{server.model('m')} thinks, and {cut} of its answers ended at their limit without a marker: they may be"
    )
    assert any(note.startswith(expected) for note in whole)


def test_a_model_whose_answers_are_all_cut_may_think(tmp_path):
    def serve(request: Request) -> Reply | None:
        said = choice("Okay, they like", "length")
        return Reply(body=json.dumps(said).encode()) if request.path.endswith("/completions") else Reply(404)

    with Server(faults=serve) as server:
        ran = bowstring(*evaluation(server, tmp_path / "r", "--limit", "5"))
        assert ran.code == 0, ran.err
    expected = f"{server.model('m')} may think: all of its answers ended at their limit without a marker"
    assert any(note.startswith(expected) for note in metrics(tmp_path / "r")["notes"])
