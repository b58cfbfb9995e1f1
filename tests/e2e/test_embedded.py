"""The real embedded model: llama.cpp, used over HTTP like any other server.

Its log would go to the file descriptor of stderr, past Python's: where that is tested, the command is a process.
"""

import json

import pytest

from tests.support.command import bowstring, bowstring_process


def test_two_questions_on_one_history_share_it(tmp_path):
    """The same as below on a small scale: the end of one history, prefilled once."""
    more = ["--split", "test_2", "--limit", "2", "--max-tokens", "1", "--type", "persona", "--history", "last:4"]
    ran = bowstring_process("eval", "hicupid", "--model", "embedded", "--out", tmp_path / "r", *more)
    assert ran.code == 0, ran.err
    usage = json.loads((tmp_path / "r" / "metrics.json").read_text())["usage"]["model"]
    assert usage["requests"] == 2
    assert usage["shareable_tokens"] > 500
    assert usage["cached_tokens"] >= 0.95 * usage["shareable_tokens"]
    assert "llama" not in ran.err.lower(), "the engine's log stays with the engine"


@pytest.mark.slow
def test_the_trunk_is_processed_once_and_the_rest_comes_from_the_cache(tmp_path):
    """At least 95% of the prompt tokens that could be cached are, by the server's own count."""
    more = ["--split", "test_2", "--limit", "12", "--max-tokens", "4", "--type", "persona", "--type", "schedule"]
    ran = bowstring_process("eval", "hicupid", "--model", "embedded", "--out", tmp_path / "r", *more)
    assert ran.code == 0, ran.err
    usage = json.loads((tmp_path / "r" / "metrics.json").read_text())["usage"]["model"]
    assert usage["requests"] == 12
    assert usage["shareable_tokens"] > 10_000
    assert usage["cached_tokens"] >= 0.95 * usage["shareable_tokens"]
    assert "was cacheable" in ran.out
    assert "llama" not in ran.err.lower(), "the engine's log stays with the engine"
    assert "smoke test, not a measurement" in ran.out


def test_a_prompt_that_does_not_fit_is_a_failed_item_with_that_reason(tmp_path):
    (tmp_path / "prompts" / "hicupid").mkdir(parents=True)
    endless = "system_prompt: |-\n  " + "lorem ipsum dolor " * 4000
    (tmp_path / "prompts" / "hicupid" / "ask.yaml").write_text(endless)
    more = ["--limit", "2", "--history", "none", "--prompts", tmp_path / "prompts"]
    ran = bowstring("eval", "hicupid", "--model", "embedded", "--out", tmp_path / "r", *more)
    assert ran.code == 1
    records = [json.loads(line) for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines()]
    assert [r["failure"]["kind"] for r in records] == ["context", "context"]


def test_models_says_what_can_be_used_and_what_is_missing():
    ran = bowstring("models", "--json", env={"ANTHROPIC_API_KEY": "sk-secret", "OPENAI_API_KEY": ""})
    rows = {row["name"]: row for row in json.loads(ran.out)}
    assert rows["embedded"]["usable"]
    assert rows["anthropic/NAME"]["usable"]
    assert rows["openai/NAME"] == {"name": "openai/NAME", "usable": False, "note": "needs OPENAI_API_KEY"}
    assert "sk-secret" not in ran.out + bowstring("models", env={"ANTHROPIC_API_KEY": "sk-secret"}).out
