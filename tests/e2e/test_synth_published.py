"""`bowstring synth cupid` with imported prompts sends the authors' requests and reads answers by their rules."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bowstring.benchmarks.loading import load_cupid
from bowstring.models import names
from tests.support.command import bowstring
from tests.support.cupid_checkout import CHANGED, PublishedWriter, part_of, simulated, write_checkout
from tests.support.server import Reply, Request, Server

SETTINGS = {  # temperature and token limit of each step
    "persona": (0.7, 4096),
    "factors": (1.0, 8192),
    "sessions": (0.7, 8192),
    "checklist": (0, 4096),
    "assistant": (0.7, 2048),
    "simulator": (0.3, 8192),
}


@pytest.fixture
def prompts(tmp_path) -> Path:
    write_checkout(tmp_path / "CUPID")
    ran = bowstring("prompts", "import", "cupid", tmp_path / "CUPID", "--out", tmp_path / "words")
    assert ran.code == 0, ran.err
    return tmp_path / "words"


def synth(server: Server, prompts: Path, out: Path, *more: str) -> list[str]:
    return ["synth", "cupid", "--model", server.model("m"), "--prompts", str(prompts), "--out", str(out), *more]


def asked(server: Server, what: str) -> list[Request]:
    return [r for r in server.requests if part_of(r.body["messages"]) == what]


def system_of(request: Request) -> str:
    return request.body["messages"][0]["content"]


def last_of(request: Request) -> str:
    return request.body["messages"][-1]["content"]


def ran_requests(out: Path) -> int:
    """How many parts a set has: as many requests, if none was repeated."""
    return sum(quality(out)["made"].values())


def quality(out: Path) -> dict:
    return json.loads((out / "quality.json").read_text())


def test_requests_have_the_authors_settings_and_no_seed(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1"))
    assert ran.code == 0, ran.err
    for what, (temperature, max_tokens) in SETTINGS.items():
        found = asked(server, what)
        assert found, what
        for request in found:
            settings = {name: value for name, value in request.body.items() if name != "messages"}
            assert settings == {"model": "m", "temperature": temperature, "max_tokens": max_tokens}, what
            assert request.body["messages"][0]["role"] == "system"


def test_openai_itself_gets_instructions_as_developer_and_chats_as_system(tmp_path, prompts, monkeypatch):
    with Server(PublishedWriter().answer) as server:
        url = server.model("m").partition("@")[2]
        monkeypatch.setitem(names.PROVIDERS, "openai", replace(names.PROVIDERS["openai"], url=url))
        given = ["--model", "openai/m", "--prompts", str(prompts), "--personas", "1", "--out", str(tmp_path / "s")]
        ran = bowstring("synth", "cupid", *given, env={"OPENAI_API_KEY": "k"})
        ours = ["--out", str(tmp_path / "o"), "--protocol", "bowstring"]
        bowstring("synth", "cupid", *given[:-2], *ours, env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    published, own = server.requests[: ran_requests(tmp_path / "s")], server.requests[-1]
    for request in published:
        is_chat = part_of(request.body["messages"]) in ("assistant", "simulator")
        assert request.body["messages"][0]["role"] == ("system" if is_chat else "developer")
        assert "max_completion_tokens" in request.body
    assert own.body["messages"][0]["role"] == "system"


def test_a_temperature_that_is_given_holds_for_all_steps(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1", "--temperature", "0.5"))
    assert ran.code == 0, ran.err
    assert {r.body["temperature"] for r in server.requests} == {0.5}


def test_personas_are_asked_for_in_batches_of_four_with_imported_attributes(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "6"))
    assert ran.code == 0, ran.err
    requests = sorted(last_of(r) for r in asked(server, "persona"))
    assert [len(text.splitlines()) for text in requests] == [6, 4]
    line = requests[0].splitlines()[2]
    assert re.fullmatch(
        r"1\. \{'id': 0, 'seed': .+, 'career_level': '(new|old)', 'personality_traits': \['(High|Low) \S.*', '.+'\], "
        r"'personal_values': \['\w+', '\w+'\], 'decision_making_styles': 'Coin'\}",
        line,
    )
    assert requests[1].splitlines()[2].startswith("1. {'id': 4, 'seed': ")
    ids = [i.persona_id for i in load_cupid(str(tmp_path / "s")).instances[::3]]
    assert ids == [f"{k}+maker_and_{k}_of_maps" for k in range(6)]
    assert quality(tmp_path / "s")["made"]["persona"] == 6


def test_sessions_are_named_a_and_b_and_factors_have_their_task_types(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1"))
    assert ran.code == 0, ran.err
    (request,) = asked(server, "sessions")
    kinds = dict(re.findall(r"^  \* No\. (\d+): (.+)$", system_of(request), re.MULTILINE))
    assert Counter(kinds.values()) == {"A as it was": 2, "A, changed to A'": 3, "B": 2}
    order = [kind for kind in kinds.values() if kind != "B"]
    assert order == ["A as it was"] * 2 + ["A, changed to A'"] * 3
    assert kinds["13"] == "A, changed to A'"
    assert not kinds.get("12", "").startswith("A")
    text = last_of(request).partition("```yaml\n")[2].rpartition("\n```")[0]
    listed = yaml.safe_load(text)["factors"]
    assert text == yaml.dump({"factors": listed}, default_flow_style=False)
    assert [f["task_types"] for f in listed[:2]] == [["Planning"], ["Planning", "Learning"]]
    assert f"are {listed[1]['context_factor']} | {listed[-1]['context_factor']}" in system_of(request)


@pytest.mark.parametrize("main", [0, 1])
def test_the_model_decides_which_of_the_pair_is_a(tmp_path, prompts, main):
    with Server(PublishedWriter(main=main).answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1"))
    assert ran.code == 0, ran.err
    assert bowstring("data", "validate", tmp_path / "s").out.endswith("no problems\n")
    pair = re.search(r"are (.+) \| (.+)", system_of(asked(server, "sessions")[0])).groups()
    consistent, contrastive, changing = load_cupid(str(tmp_path / "s")).instances
    assert consistent.context_factor == pair[main]
    assert pair[1 - main] in {s.context_factor for s in contrastive.sessions}
    assert changing.preference == CHANGED
    assert {len(i.sessions) for i in (consistent, contrastive, changing)} == {8}
    expected = ("Style", "Tone") if main == 0 else ("Harmless", "Trustworthiness")
    assert (consistent.category, consistent.preference_type) == expected


def test_the_simulated_user_sees_all_that_it_wrote(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1"))
    assert ran.code == 0, ran.err
    first = min(asked(server, "simulator"), key=lambda r: len(r.body["messages"]))
    later = max(asked(server, "simulator"), key=lambda r: len(r.body["messages"]))
    opening = first.body["messages"][1]
    assert opening["role"] == "assistant"
    assert opening["content"].startswith(
        "#### Evaluation of AI Assistant's Response\n\nN/A\n\n#### Evaluation Score\n\n"
    )
    assert (
        "#### Continue or End?\n\nCONTINUE\n\n#### Selected Checklist Items\n\nN/A\n\n#### Thinking"
        in opening["content"]
    )
    own = later.body["messages"][3]["content"]
    assert own in {r.answer.strip() for r in asked(server, "simulator")}
    assert "#### Thinking\n\nhm" in own
    requests = {r.body["messages"][1]["content"] for r in asked(server, "assistant")}
    assert all(text.endswith("\n") for text in requests), "sent as it was written"
    assert any(text.rstrip().endswith("N/A") for text in requests), "a resource is pasted, whatever it is"
    assert any(opening["content"].endswith(f"#### Your Message\n\n{text.strip()}") for text in requests)
    assert "1. Is  it" in system_of(first)
    assert len(re.findall(r"^\d\. ", system_of(first), re.MULTILINE)) == 5, "no limit of items"
    dialogue = load_cupid(str(tmp_path / "s")).instances[0].sessions[0].dialogue
    assert dialogue.messages[0].text.strip() == dialogue.messages[0].text
    assert dialogue.messages[2].text.startswith('"'), "quotes are part of a message"


def test_what_cannot_be_read_is_requested_again_unchanged(tmp_path, prompts):
    bad = {"persona": "none", "factors": "x: 1", "sessions": "```yaml\nscenarios: 3\n```", "checklist": "{}"}
    bad["simulator"] = simulated("END", "Bye.").replace("#### Your Message", "### Your Message")
    writer = PublishedWriter(lambda what, n: bad.get(what) if n == 0 else None)
    with Server(writer.answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    for what in bad:
        texts = Counter(json.dumps(r.body) for r in asked(server, what))
        assert max(texts.values()) == 2, what
    assert quality(tmp_path / "s")["invalid"] == {
        "checklist": 1,
        "context factors": 1,
        "persona": 1,
        "sessions": 1,
        "user message": 1,
    }


@pytest.mark.parametrize("decision", ["CONTINUE", "END.", "The END", "end"])
def test_only_end_alone_ends_and_the_limit_leaves_the_last_reply(tmp_path, prompts, decision):
    writer = PublishedWriter(lambda what, n: simulated(decision, f"No. {n}") if what == "simulator" else None)
    with Server(writer.answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1", "--turns", "3"))
    assert ran.code == 0, ran.err
    assert len(asked(server, "assistant")) == 12 * 3
    assert len(asked(server, "simulator")) == 12 * 2
    for session in load_cupid(str(tmp_path / "s")).instances[0].sessions:
        assert [m.role for m in session.dialogue.messages] == ["user", "assistant"] * 3
    assert quality(tmp_path / "s")["flaws"] == {"the user does not close the conversation": 12}


def test_flaws_are_counted_and_accepted(tmp_path, prompts):
    writer = PublishedWriter(lambda what, n: "One two three four. " * 20 if what == "assistant" and n == 0 else None)
    with Server(writer.answer) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1"))
    assert ran.code == 0, ran.err
    assert quality(tmp_path / "s")["flaws"] == {"the reply is longer than six sentences": 1}
    assert "flaws were counted and not corrected (quality.json)" in (tmp_path / "s" / "README.md").read_text()
    assert len(asked(server, "assistant")) == quality(tmp_path / "s")["made"]["reply"]


def test_answers_that_are_cut_are_named_as_such_with_the_way_out(tmp_path, prompts):
    def cut(request: Request) -> Reply | None:
        if request.body is None or part_of(request.body["messages"]) != "checklist":
            return None
        choice = {"message": {"role": "assistant", "content": "", "reasoning_content": "hm"}, "finish_reason": "length"}
        return Reply(body=json.dumps({"choices": [choice]}).encode())

    with Server(PublishedWriter().answer, faults=cut) as server:
        ran = bowstring(*synth(server, prompts, tmp_path / "set", "--personas", "1"))
    said = " ".join(ran.err.split())
    assert ran.code == 1
    assert re.search(r"were cut at their token limit and requested again: \d+ checklist; the limits are fixed", said)
    assert "checklist: the answer was cut at its limit of 4,096 tokens" in said
    assert "parsed" not in said


def test_the_protocol_can_be_chosen(tmp_path, prompts):
    missing = bowstring("synth", "cupid", "--model", "python:json:dumps", "--protocol", "published")
    assert missing.code == 2
    assert "--protocol published needs the authors' prompts; missing: synthesis/persona_generator, " in missing.err
    (prompts / "cupid" / "synthesis" / "series_structure.yaml").unlink()
    partly = ["synth", "cupid", "--model", "python:json:dumps", "--prompts", str(prompts)]
    ran = bowstring(*partly, "--protocol", "published")
    assert ran.code == 2
    assert "missing: synthesis/series_structure. Import them with bowstring prompts import cupid" in ran.err
    assert bowstring(*partly, "--dry-run").code == 0, "ours, as not everything was imported"


def test_our_form_can_be_used_with_imported_prompts(tmp_path, prompts):
    with Server(PublishedWriter().answer) as server:
        bowstring(*synth(server, prompts, tmp_path / "s", "--personas", "1", "--protocol", "bowstring"))
        bowstring(*synth(server, prompts, tmp_path / "t", "--personas", "1"))
    used = json.loads((tmp_path / "t" / "made.json").read_text())["config"]["settings"]["protocol"]
    assert used == "published", "what was resolved is written"
    first = server.requests[0].body
    assert "(career: " in first["messages"][-1]["content"]
    assert "seed" in first


def test_a_checkout_is_read_and_not_run(tmp_path):
    checkout = write_checkout(tmp_path / "CUPID")
    source = checkout / "synthesis" / "modules" / "sessions_generator.py"
    source.write_text(source.read_text().replace("text += f", "text = f", 1))
    ran = bowstring("prompts", "import", "cupid", checkout, "--out", tmp_path / "words")
    assert ran.code == 2
    assert "expected 3 lines of a structure of sessions, each with a number" in ran.err
    source.unlink()
    (checkout / "synthesis" / "modules" / "persona_template_sampler.py").write_text("PERSONA_ATTRIBUTES = f()")
    ran = bowstring("prompts", "import", "cupid", checkout, "--out", tmp_path / "words")
    assert ran.code == 2
    assert "PERSONA_ATTRIBUTES: expected a list of options of career_level" in ran.err
