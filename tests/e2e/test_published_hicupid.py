"""`bowstring eval hicupid --protocol published`: sides, settings and scores as in the authors' code."""

import hashlib
import json
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.hicupid.published import read_score
from bowstring.benchmarks.loading import load_hicupid
from bowstring.runs.folder import with_checksum
from tests.e2e.test_eval import command, metrics, records
from tests.e2e.test_eval_hicupid import UPSTREAM
from tests.support.command import bowstring
from tests.support.server import Server, digest_answer, text_of


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    """A folder of prompts that were imported from a checkout."""
    root = tmp_path_factory.mktemp("published")
    (root / "HiCUPID" / "src").mkdir(parents=True)
    (root / "HiCUPID" / "src" / "constants.py").write_text(UPSTREAM)
    assert bowstring("prompts", "import", "hicupid", "HiCUPID", "--out", "words", cwd=root).code == 0
    return root / "words"


def run(words, out, said=digest_answer, *more):
    with Server(said) as server:
        ran = bowstring(*command(server, out, "--protocol", "published", "--prompts", str(words), *more))
    assert ran.code == 0, ran.err
    return server, records(out), metrics(out), ran


def test_sides_come_from_one_shuffle_of_all_questions(words, tmp_path):
    _, rows, _, _ = run(words, tmp_path / "r")
    labels = ["A"] * 30 + ["B"] * 30
    random.seed(42)
    random.shuffle(labels)
    assert [r["answer_is"] for r in rows] == labels
    _, some, _, _ = run(words, tmp_path / "s", digest_answer, "--limit", "7")
    assert [r["answer_is"] for r in some] == labels[:7], "whatever part of them is asked"


def test_settings_are_those_of_the_authors(words, tmp_path):
    openai = ("--as-openai", "model", "--as-openai", "judge")
    server, _, _, _ = run(words, tmp_path / "r", digest_answer, "--limit", "5", *openai)
    assert sent(server) == {
        '{"max_completion_tokens": 200, "model": "m", "seed": 42, "temperature": 0.6}',
        '{"max_completion_tokens": 512, "model": "judge", "seed": 42, "temperature": 0.0}',
    }
    assert not any("JSON" in text_of(r.body["messages"][-1]) for r in server.requests)
    server, _, _, _ = run(words, tmp_path / "s", digest_answer, "--limit", "5")
    assert sent(server) == {
        '{"max_tokens": 200, "model": "m", "seed": 42, "temperature": 0.6, "top_k": 50, "top_p": 1.0}',
        '{"max_tokens": 512, "model": "judge", "seed": 42, "temperature": 0.0}',
    }


@pytest.mark.parametrize(
    ("more", "but"),
    [
        ((), ""),
        (("--top-p", "1", "--seed", "42"), ""),
        (("--shots", "3", "--instruction", "user"), ""),
        (("--temperature", "0", "--seed", "7"), ", but with temperature 0.0, seed 7"),
        (("--history", "bm25/utterance/5"), ""),
        (("--history", "bm25/utterance/5", "--bm25-tokens", "stems"), ", but with bm25 tokens stems"),
        (("--history", "gold"), ""),
        (("--history", "none"), ", but with the history none, which the authors' code does not have"),
        (("--history", "last:3"), ", but with the history last:3, which the authors' code does not have"),
        (
            ("--judge", "builtin"),
            ", but with the judge builtin, which is not a model; the authors' code has no such judge",
        ),
    ],
)
def test_a_run_with_other_settings_is_not_called_published(words, tmp_path, more, but):
    _, _, found, _ = run(words, tmp_path / "r", digest_answer, "--limit", "2", *more)
    (note,) = [one for one in found["notes"] if one.startswith("asked and scored")]
    assert note == f"asked and scored as published (--protocol published){but}"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--both-orders", "--protocol published judges in one order; leave out --both-orders\n"),
        (
            "--retrieval-only",
            "--retrieval-only asks no model and no judge, so it has no protocol; leave out --protocol",
        ),
    ],
)
def test_only_the_option_that_was_given_is_refused(tmp_path, option, said):
    given = ["--history", "bm25/utterance/5", "--protocol", "published", option]
    ran = bowstring("eval", "hicupid", *given, "--model", "python:json:dumps", "--out", tmp_path / "r")
    assert ran.code == 2
    assert said in ran.err
    assert sum(name in ran.err for name in ("--both-orders", "--retrieval-only")) == 1


def note_of(words, out) -> list[str]:
    _, _, found, _ = run(words, out, digest_answer, "--limit", "2")
    return [one for one in found["notes"] if "as published" in one or "imported" in one]


def test_a_prompt_that_was_changed_since_its_import_is_named(words, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(words, mine)
    assert note_of(mine, tmp_path / "r") == ["asked and scored as published (--protocol published)"]
    judge = mine / "hicupid" / "judge_persona.yaml"
    judge.write_text(judge.read_text().replace("Better Response", "Please. Better Response"))
    assert note_of(mine, tmp_path / "s") == [
        "asked and scored as published (--protocol published), but with prompts that were changed since their import: "
        "hicupid/judge_persona"
    ]
    (mine / "hicupid" / "imported.json").unlink()
    first, second = note_of(mine, tmp_path / "t")
    assert first == "asked and scored as published (--protocol published)"
    assert second.startswith("nothing says how the prompts were imported, so they may have been changed")


@pytest.mark.parametrize(("protocol", "by_id"), [("published", True), ("bowstring", False)])
def test_dialogues_are_in_the_order_of_their_ids_whatever_that_of_the_files(words, tmp_path, protocol, by_id):
    """The authors' code groups turns by dialogue id. The published files are in that order."""
    assert bowstring("data", "export", "mini", tmp_path / "set", "--benchmark", "hicupid").code == 0
    for path in (tmp_path / "set" / "dialogue").glob("*.parquet"):
        turns = pq.read_table(path)
        pq.write_table(turns.sort_by([("user_id", "ascending"), ("dialogue_id", "descending")]), path)
    with Server(digest_answer) as server:
        given = ("--protocol", protocol, "--prompts", str(words), "--data", str(tmp_path / "set"), "--limit", "1")
        assert bowstring(*command(server, tmp_path / "r", *given)).code == 0
    (asked,) = [r.body["messages"] for r in server.requests if r.body["model"] == "m"]
    data = load_hicupid("mini")
    dialogues = sorted(data.history(data.questions()[0].user_id), key=lambda d: d.id, reverse=not by_id)
    expected = [m.text for d in dialogues for m in d.messages]
    start = next(n for n, m in enumerate(asked) if text_of(m) == expected[0])
    # A dialogue of several turns keeps their order in the file.
    assert {*expected} == {text_of(m) for m in asked[start : start + len(expected)]}
    firsts = [d.messages[0].text for d in dialogues]
    assert [text_of(m) for m in asked if text_of(m) in firsts] == firsts


@pytest.mark.parametrize("openai", [(), ("--as-openai", "model")])
def test_top_p_is_sent_as_given_by_both_protocols(words, tmp_path, openai):
    def top_p(server):
        return {r.body["model"]: r.body.get("top_p") for r in server.requests}

    published, _, found, _ = run(words, tmp_path / "r", digest_answer, "--limit", "2", "--top-p", "0.9", *openai)
    assert top_p(published) == {"m": 0.9, "judge": None}
    assert found["config"]["settings"]["top_p"] == 0.9
    with Server() as server:
        bowstring(*command(server, tmp_path / "s", "--limit", "2", "--top-p", "0.9", *openai))
    assert top_p(server) == {"m": 0.9, "judge": None}
    with Server() as server:
        bowstring(*command(server, tmp_path / "t", "--limit", "2", *openai))
    assert top_p(server) == {"m": None, "judge": None}


def sent(server):
    """The settings of all requests."""
    return {json.dumps({k: v for k, v in r.body.items() if k != "messages"}, sort_keys=True) for r in server.requests}


@pytest.mark.parametrize(
    ("said", "as_a", "as_b"),
    [
        ("Better Response: A", 1.0, 0.0),
        ("better response: b", 0.0, 1.0),
        ("Better Response: Tie", 0.5, 0.5),
        ("Better Response: B, because A ignores the trip", 1.0, 0.0),
        ("Better Response: A, it is better", 0.0, 1.0),  # the b of better
        ("Better Response:\nA", 0.5, 0.5),
        ("Better Response: T\u0130e", 0.5, 0.5),  # without case, a dotted I is an i
        ("Both are fine.", 0.5, 0.5),
    ],
)
def test_a_verdict_is_the_last_letter_of_the_line(said, as_a, as_b):
    assert (read_score("persona", said, "A").score, read_score("persona", said, "B").score) == (as_a, as_b)


@pytest.mark.parametrize(
    ("said", "score"),
    [("Satisfaction: YES", 1.0), ("Satisfaction: no", 0.0), ("Satisfaction: YES, no doubt", 0.0), ("Fine.", 0.0)],
)
def test_satisfaction_is_the_last_word_of_the_line(said, score):
    assert read_score("schedule", said, "A").score == score


def test_what_cannot_be_read_is_a_tie_and_counts(words, tmp_path):
    def mute(messages, body):
        return "I cannot say." if body["model"] == "judge" else digest_answer(messages, body)

    _, rows, found, ran = run(words, tmp_path / "r", mute)
    values = {name: e["value"] for name, e in found["metrics"].items()}
    assert values["score.persona"] == values["score.profile"] == 50.0
    assert values["score.schedule"] == 0.0
    tied = sum(r["type"] != "schedule" for r in rows)
    assert values["tie"] == pytest.approx(100 * tied / 60), "schedule questions are pooled in"
    assert found["protocols"]["bowstring"] == {}
    total = found["metrics"]["score.total"]["value"]
    assert f"{total:.1f} (n 60)" in (tmp_path / "r" / "report.html").read_text(), "also where one has no value"
    assert found["differences"]["rules"] == {
        "a verdict that cannot be read is a tie": tied,
        "a verdict that cannot be read is NO": 60 - tied,
    }
    assert f"score.total no value {total:.1f} (n 60)" in " ".join(ran.out.split())
    assert "no value" in (tmp_path / "r" / "report.html").read_text()


def test_our_own_run_says_the_authors_number_too(tmp_path):
    def greedy(messages, body):
        said = digest_answer(messages, body)
        return said.replace("Better Response: B", "Better Response: B, because A is worse")

    with Server(greedy) as server:
        assert bowstring(*command(server, tmp_path / "r", "--verdicts", "text")).code == 0
    found, rows = metrics(tmp_path / "r"), records(tmp_path / "r")
    misread = sum("because A" in r["judgement"] for r in rows)
    assert found["differences"]["rules"] == {"the last letter of the line is the verdict": misread}
    assert found["protocols"]["bowstring"]["score.total"] == found["metrics"]["score.total"]["value"]
    assert found["protocols"]["published"]["score.total"] != found["protocols"]["bowstring"]["score.total"]
    assert {of["score.total"] for of in found["protocols_n"].values()} == {60}

    manifest = json.loads((tmp_path / "r" / "run.json").read_text())
    earlier = json.dumps({name: value for name, value in found.items() if name != "protocols_n"})
    (tmp_path / "r" / "metrics.json").write_text(earlier)
    manifest["files"]["metrics.json"] = hashlib.sha256(earlier.encode()).hexdigest()
    (tmp_path / "r" / "run.json").write_text(json.dumps(with_checksum(manifest)))
    ran = bowstring("report", tmp_path / "r")
    assert ran.code == 0, f"a run of an earlier version is still drawn: {ran.err}"


def test_it_needs_the_authors_prompts_and_one_order(words, tmp_path):
    for more, said in (
        ((), "--protocol published needs the authors' prompts; hicupid/ask is missing"),
        (("--prompts", str(words), "--both-orders"), "--protocol published judges in one order"),
    ):
        ran = bowstring("eval", "hicupid", "--model", "embedded", "--protocol", "published", *more, cwd=tmp_path)
        assert ran.code == 2
        assert said in ran.err
