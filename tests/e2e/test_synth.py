"""`bowstring synth`: both pipelines with a model that writes correct or flawed data."""

import json
from pathlib import Path

import pytest
import yaml

from bowstring.benchmarks.loading import load_cupid, load_hicupid
from tests.support.command import bowstring
from tests.support.hub import Hub
from tests.support.reader import PAIR_MARK, Reader
from tests.support.server import Server
from tests.support.writer import CUPID_PARTS, HICUPID_PARTS, Writer

SMALL = ["--users", "3", "--dimensions", "4", "--turns", "3", "--schedules", "2", "--profile-questions", "1"]


def cupid(server: Server, out: Path, *more: str) -> list[str]:
    return ["synth", "cupid", "--model", server.model("m"), "--personas", "2", "--out", str(out), *more]


def hicupid(server: Server, out: Path, *more: str) -> list[str]:
    return ["synth", "hicupid", "--model", server.model("m"), *SMALL, "--out", str(out), *more]


def quality(out: Path) -> dict:
    return json.loads((out / "quality.json").read_text())


def test_cupid_from_a_model_is_a_set_in_the_published_form(tmp_path):
    writer = Writer()
    with Server(writer.answer) as server:
        ran = bowstring(*cupid(server, tmp_path / "s"))
        assert ran.code == 0, ran.err
        validated = bowstring("data", "validate", tmp_path / "s")
        assert validated.code == 0, validated.out
        evaluated = bowstring(
            "eval", "cupid", "--data", tmp_path / "s", "--model", "python:json:dumps", "--out", tmp_path / "e"
        )
        assert evaluated.code == 0, evaluated.err
    instances = load_cupid(str(tmp_path / "s")).instances
    assert [i.type for i in instances] == ["consistent", "contrastive", "changing"] * 2
    for consistent, contrastive, changing in (instances[:3], instances[3:]):
        assert {len(i.sessions) for i in (consistent, contrastive, changing)} == {8}
        assert consistent.request == contrastive.request == changing.request
        assert consistent.preference == contrastive.preference != changing.preference
        main, old, new = consistent.context_factor, consistent.preference, changing.preference
        assert [s.preference for s in changing.sessions if s.context_factor == main] == [old, old, new, new]
        assert [s.preference for s in contrastive.sessions if s.context_factor == main] == [old, old]
        assert sum(s.context_factor == main for s in consistent.sessions) == 2
        opposite = {s.context_factor for s in contrastive.sessions} - {s.context_factor for s in consistent.sessions}
        assert len(opposite) == 1, "the contrastive factor"
        assert 2 <= len(consistent.checklist) <= 4
        assert {(i.category, i.preference_type) for i in (consistent, contrastive, changing)} == {("Content", "Depth")}
        assert all(s.dialogue.messages[-1].role == "user" for s in changing.sessions), "a session ends on the user"
    made = quality(tmp_path / "s")
    assert made["made"]["persona"] == 2
    assert made["flaws"] == made["invalid"] == {}
    assert "generated" not in (tmp_path / "s" / "README.md").read_text().split("## How it was made")[0]


def test_the_simulated_user_hints_at_one_thing_at_a_time_and_forgets_nothing(tmp_path):
    """A closing message that leaves an item untouched is asked for again."""

    def forgets(what, n):
        if what == "simulator" and n == 0:
            return (
                "#### Evaluation Score\n10\n#### Continue or End?\nEND\n#### Selected Checklist Items\n1\n"
                "#### Your Message\nThank you."
            )
        return None

    with Server(Writer(forgets).answer) as server:
        ran = bowstring(*cupid(server, tmp_path / "s", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    assert quality(tmp_path / "s")["flaws"] == {"the closing message forgets an item": 1}
    assert "flaws found: 1 the closing message forgets an item" in ran.out


def test_the_simulated_user_knows_the_checklist_and_not_the_preference(tmp_path):
    """Nothing that reaches its prompt has the preference, also where a template of the user's has a place for it."""
    words = tmp_path / "words" / "cupid" / "synthesis"
    words.mkdir(parents=True)
    (words / "user_simulator.yaml").write_text(
        "system_prompt: 'You play a user who works with an AI assistant. You want {preference}: {checklist}'\n"
    )
    for more in ([], ["--prompts", str(tmp_path / "words")]):
        with Server(Writer().answer) as server:
            ran = bowstring(*cupid(server, tmp_path / f"s{len(more)}", "--personas", "1", *more))
        assert ran.code == 0, ran.err
        said = [json.dumps(r.body["messages"]) for r in server.requests]
        simulated = [text for text in said if "You play a user" in text]
        preferences = {s.preference for i in load_cupid(str(tmp_path / f"s{len(more)}")).instances for s in i.sessions}
        assert len(preferences) > 5
        assert all(any(p in text for text in said) for p in preferences), "the control: it is in other prompts"
        assert len(simulated) > 20
        assert not [p for p in preferences for text in simulated if p in text]
        assert all("Is the opening" in text for text in simulated)


def spoilt_sessions(change):
    """A writer whose first attempt at the sessions is changed."""
    writer = Writer()

    def spoil(what, n):
        if what != "sessions" or n:
            return None
        scenarios = yaml.safe_load(writer._sessions(spoil.messages, {}))["scenarios"]
        return yaml.safe_dump({"scenarios": change(scenarios)}, width=1000)

    writer.spoil = spoil

    def answer(messages, body):
        spoil.messages = messages
        return writer.answer(messages, body)

    return answer


def resource_that_tells(scenarios):
    scenarios[2]["resource"] = f"Notes: {scenarios[2]['preference']} Thank you."
    return scenarios


def last_resource_that_tells_the_old(scenarios):
    """The last request is also that of the instances whose preference is the old one."""
    main = scenarios[-1]["context_factor"]
    scenarios[-1]["resource"] = f"Notes: {next(s['preference'] for s in scenarios if s['context_factor'] == main)}"
    return scenarios


def preference_that_stays(scenarios):
    main = scenarios[-1]["context_factor"]
    old = next(s["preference"] for s in scenarios if s["context_factor"] == main)
    for s in scenarios:
        if s["context_factor"] == main and s["preference"] != old:
            s["preference"] = old.replace("Texts must", "The text should always")
    return scenarios


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (resource_that_tells, "the pasted resource leaks the preference"),
        (last_resource_that_tells_the_old, "the pasted resource leaks the preference"),
        (preference_that_stays, "the changed preference is the old one"),
    ],
)
def test_sessions_that_tell_or_do_not_change_the_preference_are_asked_for_again(tmp_path, change, flaw):
    with Server(spoilt_sessions(change)) as server:
        ran = bowstring(*cupid(server, tmp_path / "s", "--personas", "1", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    assert quality(tmp_path / "s")["flaws"] == {flaw: 1}


def changed(found: dict) -> dict:
    (row,) = found["checks"]["rates"]
    return row


def also(scenarios):
    """The changed preference can be met together with the old one, in other words than a rule knows."""
    main = scenarios[-1]["context_factor"]
    old = next(s["preference"] for s in scenarios if s["context_factor"] == main)
    for s in scenarios:
        if s["context_factor"] == main and s["preference"] != old:
            s["preference"] = "Texts must also thank the reader by name."
    return scenarios


def test_a_change_that_can_be_met_together_with_the_old_preference_is_asked_for_again(tmp_path):
    with Server(spoilt_sessions(also)) as server:
        ran = bowstring(*cupid(server, tmp_path / "s", "--personas", "2", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    found = quality(tmp_path / "s")
    assert found["flaws"] == {"the changed preference can be met together with the old one": 1}
    (known,) = found["checks"]["known_texts"].values()
    assert (known["value"], known["n"], known["chance"], known["able"]) == (100, 32, 50, True)
    assert (changed(found)["value"], changed(found)["n"]) == (50, 4), "two orders of two changes"
    assert (
        "| changed preference excludes the old one, each order | as first written |"
        in (tmp_path / "s" / "README.md").read_text()
    )


@pytest.mark.parametrize(
    "judge",
    [
        Reader(able=lambda kind: 0.0),
        Reader(answer=lambda options: "Yes."),
        *(
            Reader(answer=lambda options, w=w: next(o for o, said in options if said.startswith(w)))
            for w in ("Yes", "No")
        ),
    ],
    ids=["coin", "yes", "always compatible", "always excluding"],
)
def test_a_judge_that_cannot_tell_what_excludes_what_is_found_out_and_drops_nothing(tmp_path, judge):
    writer = Writer(reader=judge)
    with Server(writer.answer) as server:
        ran = bowstring(*cupid(server, tmp_path / "s"))
    assert ran.code == 0, ran.err
    found = quality(tmp_path / "s")
    (known,) = found["checks"]["known_texts"].values()
    assert not known["able"]
    assert known["low"] <= 50
    assert found["flaws"] == {}
    assert found["checks"]["rates"] == []
    assert "cannot be trusted with this: whether two preferences exclude each other" in ran.out
    assert len(load_cupid(str(tmp_path / "s")).instances) == 6


def test_an_assistant_that_is_the_writer_is_warned_about_in_one_line(tmp_path):
    for more, warned in ([], 1), (["--assistant", "openai/weak"], 0), (["--assistant", "openai/m"], 1):
        ran = bowstring("synth", "cupid", "--model", "openai/m", "--dry-run", *more, cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert ran.err.count("--assistant is the same model as --model") == warned
        assert len(ran.err.splitlines()) == warned


def test_roles_of_the_cupid_pipeline_go_to_their_models(tmp_path):
    with Server(Writer().answer) as server:
        roles = ["--assistant", server.model("helper"), "--judge", server.model("player")]
        ran = bowstring(*cupid(server, tmp_path / "s", *roles, "--personas", "1"))
    assert ran.code == 0, ran.err
    by_model = {name: [r for r in server.requests if r.body["model"] == name] for name in ("m", "helper", "player")}
    assert len(by_model["m"]) == 3
    assert all("at most six sentences" in r.body["messages"][0]["content"] for r in by_model["helper"])
    pairs = [r for r in by_model["player"] if PAIR_MARK in r.body["messages"][0]["content"]]
    assert len(pairs) == 4 * 16 + 2, "pairs of known preferences and the changed one, in both orders"
    assert len(by_model["player"]) - len(pairs) == len(by_model["helper"]) + 9, "the user, and nine checklists"


def test_hicupid_from_a_model_is_a_set_in_the_published_form(tmp_path):
    with Server(Writer().answer) as server:
        ran = bowstring(*hicupid(server, tmp_path / "s"))
        assert ran.code == 0, ran.err
    assert bowstring("data", "validate", tmp_path / "s").code == 0
    data = load_hicupid(str(tmp_path / "s"))
    assert len(data.user_ids) == 3
    for user in data.user_ids:
        kinds = [d.kind for d in data.history(user)]
        assert sorted(kinds) == ["persona"] * 4 + ["profile"] * 5 + ["schedule"] * 2
        questions = [q for q in data.questions() if q.user_id == user]
        assert sorted(q.type for q in questions) == ["persona"] * 4 + ["profile"] + ["schedule"] * 2
        by_id = {d.id: d for d in data.history(user)}
        for q in questions:
            kinds = [by_id[i].kind for i in q.evidence]
            assert (
                kinds
                == {"persona": ["persona"], "schedule": ["schedule"], "profile": ["profile"] * 5 + ["persona"]}[q.type]
            )
    evaluated = bowstring(
        "eval", "hicupid", "--data", tmp_path / "s", "--model", "python:json:dumps", "--out", tmp_path / "e"
    )
    assert evaluated.code == 0, evaluated.err


def test_users_who_share_a_persona_share_what_was_paid_for(tmp_path):
    writer = Writer()
    with Server(writer.answer) as server:
        ran = bowstring(*hicupid(server, tmp_path / "s", "--share", "3"))
    assert ran.code == 0, ran.err
    assert writer.asked["persona_dialogue"] == 4
    assert writer.asked["persona_question"] >= 12, "what is tested must not be what was trained on"
    data = load_hicupid(str(tmp_path / "s"))
    personas = {(q.persona.category, q.persona.entity) for q in data.questions() if q.type == "persona"}
    assert len(personas) == 4


@pytest.mark.parametrize("part", CUPID_PARTS)
def test_cupid_output_that_cannot_be_used_is_repaired_or_asked_for_again(tmp_path, part):
    for folder, spoilt, counted in (("repaired", 1, "repaired"), ("again", 2, "invalid")):
        writer = Writer(lambda what, n, spoilt=spoilt: "I would rather not." if what == part and n < spoilt else None)
        with Server(writer.answer) as server:
            ran = bowstring(*cupid(server, tmp_path / folder / "s", "--personas", "1", "--concurrency", "1"))
        assert ran.code == 0, ran.err
        found = quality(tmp_path / folder / "s")
        if part in ("checklist", "simulator"):  # several are under way: the two answers belong to two of them
            assert sum(found["repaired"].values()) == spoilt
        else:
            assert sum(found[counted].values()) == 1


@pytest.mark.parametrize("part", HICUPID_PARTS)
def test_hicupid_output_that_cannot_be_used_is_repaired_or_asked_for_again(tmp_path, part):
    for folder, spoilt, counted in (("repaired", 1, "repaired"), ("again", 2, "invalid")):
        writer = Writer(lambda what, n, spoilt=spoilt: '{"x": [1]}' if what == part and n < spoilt else None)
        with Server(writer.answer) as server:
            ran = bowstring(*hicupid(server, tmp_path / folder / "s", "--users", "1", "--concurrency", "1"))
        assert ran.code == 0, ran.err
        found = quality(tmp_path / folder / "s")
        if part == "table":  # those of all dimensions are under way: the two answers belong to two of them
            assert sum(found["repaired"].values()) == spoilt
        else:
            assert sum(found[counted].values()) == 1


@pytest.mark.parametrize("part", CUPID_PARTS)
def test_a_persona_that_cannot_be_made_is_dropped_with_its_reason(tmp_path, part):
    with Server(Writer(lambda what, n: "no" if what == part else None).answer) as server:
        ran = bowstring(*cupid(server, tmp_path / "s", "--personas", "1"))
    assert ran.code == 1
    assert "No item could be generated" in ran.err
    assert "dropped: 1 " in ran.err
    assert not (tmp_path / "s").exists()


def test_what_is_dropped_of_a_user_leaves_the_rest(tmp_path):
    with Server(Writer(lambda what, n: "no" if what == "persona_dialogue" and n < 6 else None).answer) as server:
        ran = bowstring(*hicupid(server, tmp_path / "s", "--users", "1", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    (dropped,) = quality(tmp_path / "s")["dropped"]
    assert dropped["what"] == "persona dialogue"
    assert len(load_hicupid(str(tmp_path / "s")).history(0)) == 10
    assert bowstring("data", "validate", tmp_path / "s").code == 0


def spoilt_by(part: str, text: str):
    return lambda what, n: text if what == part and n == 0 else None


@pytest.mark.parametrize(
    ("part", "text", "flaw"),
    [
        (
            "persona_question",
            json.dumps(
                {
                    "question": "What should I do for a quiet evening at home?",
                    "personalized_answer": "Take a long walk by the river and read a book.",
                    "general_answer": "Take a long walk by the river and read the book.",
                }
            ),
            "the personalized answer reads like the general one",
        ),
        (
            "persona_question",
            json.dumps(
                {
                    "question": "Whom should I call about the garden fence this week?",
                    "personalized_answer": "Ring the carpenter you trust on 0161 496 1234 before noon.",
                    "general_answer": "A local fence builder will usually give a free quote.",
                }
            ),
            "personal information",
        ),
        (
            "schedule_dialogues",
            json.dumps(
                {
                    "dialogues": [
                        {"user": "At 1 PM on May 2 call 0161 496 1234.", "assistant": "Noted, 1 PM on May 2, 2025."},
                        {"user": "And at 2 PM on May 3, 2025.", "assistant": "Noted, 2 PM on May 3, 2025."},
                    ]
                }
            ),
            "personal information",
        ),
        (
            "profile_dialogues",
            json.dumps({"dialogues": [{"user": "I earn $40,000-$50,000 a year.", "assistant": "That is noted."}] * 5}),
            "the dialogue states the profile",
        ),
    ],
)
def test_flaws_are_found_counted_and_made_anew(tmp_path, part, text, flaw):
    with Server(Writer(spoilt_by(part, text)).answer) as server:
        ran = bowstring(*hicupid(server, tmp_path / "s", "--users", "1", "--concurrency", "1"))
    assert ran.code == 0, ran.err
    assert quality(tmp_path / "s")["flaws"] == {flaw: 1}


def test_a_preview_shows_two_writes_nothing_and_is_kept(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai/m@127.0.0.1/v1: {input: 1000, output: 1000}\n")
    with Server(Writer().answer) as server:
        args = cupid(server, tmp_path / "s", "--personas", "4", "--prices", str(prices))
        ran = bowstring(*args, "--preview", "2")
        assert ran.code == 0, ran.err
        assert ran.out.count("the first session") == 2
        assert "The preview cost $" in ran.out
        assert "all 4 would cost about $" in ran.out
        assert not (tmp_path / "s").exists()
        asked, once = len(server.requests), 4 * 16
        assert bowstring(*args).code == 0
        rest = len(server.requests) - asked
        assert 0.8 * (asked - once) < rest < 1.2 * (asked - once), "two of the four were there"


def test_a_dry_run_projects_and_asks_nothing(tmp_path):
    ran = bowstring("synth", "cupid", "--model", "openai/gpt-4o-mini", "--personas", "100", "--dry-run", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "simulated user" in ran.out
    assert "$" in ran.out
    ran = bowstring("synth", "hicupid", "--model", "openai/gpt-4o-mini", "--users", "100", "--dry-run", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert not list(tmp_path.iterdir())


def test_a_failing_server_leaves_no_half_set(tmp_path):
    from tests.support.server import Reply

    def fault(request):
        return Reply(400, b'{"error": "no"}') if "exactly 3 turns" in json.dumps(request.body) else None

    with Server(Writer().answer, faults=fault) as server:
        ran = bowstring(*hicupid(server, tmp_path / "s"))
        assert ran.code == 1
        assert "nothing was written" in ran.err
        assert not (tmp_path / "s").exists()
        server.faults = lambda request: None
        assert bowstring(*hicupid(server, tmp_path / "s")).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cupid"], "synth cupid needs --model or --offline"),
        (["hicupid"], "synth hicupid needs --model or --offline"),
        (["cupid", "--model", "embedded", "--sessions", "12"], "--sessions 12: expected a whole number from 13 to 60"),
        (["cupid", "--model", "embedded", "--factors", "2"], "--factors 2: expected"),
        (["hicupid", "--offline", "--model", "embedded"], "--offline uses no model"),
        (["hicupid", "--offline", "--users", "0"], "--users 0: expected a whole number from 1"),
        (["hicupid", "--offline", "--dimensions", "26"], "--dimensions 26: expected a whole number from 1 to 25"),
        (
            ["hicupid", "--model", "embedded", "--seeds", "no/such file"],
            "neither an existing file or folder nor a valid hub id",
        ),
        (["cupid", "--offline", "--out", "."], "is not empty"),
        (["hicupid", "--offline", "--preview", "2"], "--offline uses no model; leave out --preview"),
        (["cupid", "--offline", "--sessions", "20"], "--offline uses no model; leave out --sessions"),
        (["hicupid", "--offline", "--users", "360", "--share", "1"], "expected --share 3 or more"),
        (["cupid", "--model", "embedded", "--seeds", "nope.txt"], "--seeds nope.txt: no such file"),
        (["cupid", "--model", "embedded", "--seeds", "x.csv"], "--seeds x.csv: no such file"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, said, tmp_path):
    (tmp_path / "something").write_text("x")
    ran = bowstring("synth", *arguments, cwd=tmp_path, env={"HF_HUB_OFFLINE": "1"})
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_seeds_of_ones_own(tmp_path):
    (tmp_path / "seeds.txt").write_text("A baker who sings.\n\nA baker who sings.\n")
    (tmp_path / "seeds.jsonl").write_text('{"who": "A diver who knits."}\n')
    for name, more, said in (("seeds.txt", [], "baker"), ("seeds.jsonl", ["--seeds-field", "who"], "diver")):
        with Server(Writer().answer) as server:
            own = ["--personas", "1", "--seeds", str(tmp_path / name), *more]
            ran = bowstring(*cupid(server, tmp_path / "sets" / name, *own))
            assert ran.code == 0, ran.err
            assert said in server.requests[0].body["messages"][-1]["content"]
    (tmp_path / "bad.jsonl").write_text('{"x": 1}\n')
    ran = bowstring("synth", "cupid", "--model", "embedded", "--seeds", tmp_path / "bad.jsonl")
    assert ran.code == 2
    assert "line 1: no text in the field 'input persona'" in ran.err


def test_seeds_from_the_hub(tmp_path):
    rows = b'{"input persona": "A beekeeper who writes limericks."}\n'
    with Hub({"someone/people": {"README.md": b"x", "instruction.jsonl": rows, "math.jsonl": b"{}\n"}}) as hub:
        with Server(Writer().answer) as server:
            own = ["--personas", "1", "--seeds", "someone/people:instruction"]
            ran = bowstring(*cupid(server, tmp_path / "s", *own), env=hub.env(tmp_path / "home"))
            assert ran.code == 0, ran.err
            assert "beekeeper" in server.requests[0].body["messages"][-1]["content"]
        missing = ["synth", "cupid", "--model", "embedded", "--seeds", "someone/people:poems"]
        ran = bowstring(*missing, env=hub.env(tmp_path / "home"))
        assert ran.code == 2
        assert "has no .jsonl, .parquet or .txt file with 'poems'" in ran.err
    gone = bowstring(
        "synth", "cupid", "--model", "embedded", "--seeds", "no/one", env={"HF_ENDPOINT": "http://127.0.0.1:9"}
    )
    assert gone.code == 1
    assert len(gone.err.strip().splitlines()) == 1
