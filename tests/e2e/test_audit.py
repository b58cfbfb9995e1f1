"""`bowstring audit`: judges whose faults are known, and whether the audit finds them."""

import csv
import json
import re

import pytest

from bowstring.benchmarks.hicupid.people import item_of
from bowstring.benchmarks.loading import load_hicupid
from bowstring.runs.folder import with_checksum
from tests.e2e.test_eval import command, metrics, records
from tests.support.auditing import at, audit
from tests.support.command import bowstring
from tests.support.server import Server, text_of

KNOWN = {q.question: q for q in load_hicupid("mini").questions()}
QUOTED = re.compile(r"(The user's question|Answer A|Answer B|The answer): <<<(.*?)>>>", re.DOTALL)


def words(text):
    return " ".join(re.findall(r"\w+", text))


def reply(messages, body):
    """The model knows every third answer, and nothing without a history. Judges have faults of their own."""
    last = text_of(messages[-1])
    if body["model"] == "m":
        question = KNOWN[last]
        knows = len(messages) > 3 and (question.user_id + question.question_id) % 3 == 0
        return question.personalized_answer if knows else question.general_answer
    said = dict(QUOTED.findall(last))
    question = KNOWN[said["The user's question"]]
    if "Dragged In:" in last:
        return "1. Bearing: it came up.\nDragged In: " + ("YES" if question.question_id % 2 else "NO")
    if "RESPECTED:" in last:
        kinds = ("RESPECTED", "OMITTED", "VIOLATED", "Respected or omitted, I cannot say")
        return f"1. Reason: so.\nDislike: {kinds[question.question_id % 4]}"
    if "Satisfaction:" in last:
        gold = words(question.personalized_answer) in words(said["The answer"])
        return f"1. Conflict: so.\nSatisfaction: {'YES' if gold else 'NO'}"
    a, b = said["Answer A"], said["Answer B"]
    return f"1. Personalization: so.\nBetter Response: {JUDGES[body['model']](question, a, b)}"


def better(one, other):
    return "Tie" if one == other else "A" if one > other else "B"


def fair(question, a, b):
    """Judges by whether the words of the gold answer occur, in any format."""
    return better(*(words(question.personalized_answer) in words(x) for x in (a, b)))


def longer(question, a, b):
    return better(len(a.split()), len(b.split()))


def charmed(question, a, b):
    return better(*(x.startswith(("Keeping in mind", "As someone who")) for x in (a, b)))


def obedient(question, a, b):
    """Follows an instruction in the answer if it is on its own line; otherwise fair."""
    orders = [re.search(r"^Better Response: (A|B)$", x, re.MULTILINE) for x in (a, b)]
    return next((order[1] for order in orders if order), None) or fair(question, a, b)


JUDGES = {
    "fair": fair,
    "first": lambda question, a, b: "A",
    "longer": longer,
    "charmed": charmed,
    "obedient": obedient,
}


def ran_by(server, folder, judge, *more):
    out = folder / "runs" / judge
    ran = bowstring(*command(server, out, *more), "--judge", server.model(judge))
    assert ran.code == 0, ran.err
    return out


@pytest.fixture(scope="module")
def fair_run(tmp_path_factory):
    with Server(reply) as server:
        folder = tmp_path_factory.mktemp("audit")
        run = ran_by(server, folder, "fair")
        found = audit(run, *at(server, "fair"))
        yield server, run, found


def test_a_sound_judge_has_nothing_to_look_at_but_few_users(fair_run):
    _, run, found = fair_run
    looks = [one["name"] for one in found["findings"] if one["verdict"] == "problem"]
    judged = {"gold", "general", "no-history", "position", "probes"}
    assert not [one for one in found["findings"] if one["check"] in judged and one["verdict"] == "problem"], looks
    assert found["by"]["model − the general answers (difference, score 0–100)"]["verdict"] == "fine"
    unclear = found["by"]["gold answer, % of schedule questions satisfied"]
    assert (unclear["verdict"], unclear["value"]) == ("unclear", 100), "six users cannot show 95 or more"
    assert unclear["meaning"].endswith("The interval extends beyond the expected range.")
    by = found["by"]
    assert by["gold answer against itself, score 0–100"]["value"] == 50
    assert by["gold answer, % of schedule questions satisfied"]["value"] == 100
    assert by["general answer, score 0–100 (50 = as good as gold)"]["value"] == 0
    assert by["model without the history, score 0–100 (50 = as good as gold)"]["value"] == 0
    own = records(run)
    gain = 100 * sum(r["score"] for r in own) / len(own)
    assert by["model − itself without the history (difference, score 0–100)"]["value"] == pytest.approx(gain)
    assert by["% of verdicts that change when the two sides are swapped"]["value"] == 0
    assert by["% of verdicts that change when the two sides are swapped"]["high"] > 20, (
        "six users are no proof of never"
    )
    assert all(one["clusters"] <= 6 and not one["trusted"] for one in found["findings"])
    assert all(one["meaning"] for one in found["findings"])


def test_own_questions_of_the_audit_are_rates_and_what_cannot_be_read_is_counted(fair_run):
    _, run, found = fair_run
    by = found["by"]
    own = records(run)
    ids = {kind: [int(r["key"].split("/")[1]) for r in own if r["type"] == kind] for kind in ("schedule", "persona")}
    dragged = by["% of schedule answers that bring up a persona"]
    assert dragged["n"] == len(ids["schedule"])
    assert dragged["value"] == pytest.approx(100 * sum(n % 2 for n in ids["schedule"]) / len(ids["schedule"]))
    another = by["% of persona answers that bring up another persona"]
    assert another["value"] == pytest.approx(100 * sum(n % 2 for n in ids["persona"]) / len(ids["persona"]))
    disliked = [int(r["key"].split("/")[1]) % 4 for r in own if r["persona"] and r["persona"]["sentiment"] == "NEG"]
    read = [n for n in disliked if n < 3]
    for place, name in enumerate(("respected", "omitted", "violated")):
        one = by[f"% of dislikes {name}"]
        assert one["value"] == pytest.approx(100 * read.count(place) / len(read))
        assert (one["n"], one["left_out"]) == (len(read), len(disliked) - len(read))
    assert found["unparsed"] == len(disliked) - len(read) > 0


def test_the_judge_is_told_what_has_no_bearing_and_nothing_else(fair_run):
    server, run, _ = fair_run
    asked = [
        text_of(r.body["messages"][-1]) for r in server.requests if "dragged_in" in text_of(r.body["messages"][-1])
    ]
    assert asked
    for prompt in asked:
        record = next(r for r in records(run) if f"<<<{r['question']}>>>" in prompt)
        facts = re.search(r"True of the user: <<<(.*?)>>>", prompt, re.DOTALL)[1]
        others = {r["persona"]["entity"] for r in records(run) if r["user"] == record["user"] and r["persona"]}
        if record["persona"]:
            own = record["persona"]["category"]
            others = {
                r["persona"]["entity"]
                for r in records(run)
                if r["user"] == record["user"] and r["persona"] and r["persona"]["category"] != own
            }
        assert sorted(f.split(" ", 1)[0] for f in facts.split("; ")), facts
        assert all(entity in facts for entity in others)
        assert record["persona"] is None or record["persona"]["entity"] not in facts


def test_nothing_is_paid_for_twice(fair_run):
    server, run, found = fair_run
    asked = len(server.requests)
    again = audit(run, *at(server, "fair"))
    assert len(server.requests) == asked
    assert again["findings"] == found["findings"]
    prompts = [r.body for r in server.requests]
    assert len({json.dumps(body, sort_keys=True) for body in prompts}) == asked, "no request went out twice"
    none = bowstring(*command(server, run.parent / "none", "--history", "none"), "--judge", server.model("fair"))
    assert none.code == 0
    assert len(server.requests) == asked, "it is the run without a history: same prompts, same store"


def test_a_sample_is_drawn_by_lot_and_a_plan_counts_what_would_be_asked(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "fair")
        before = len(server.requests)
        given = (*at(server, "fair"), "--sample", "20")
        planned = bowstring("audit", run, *given, "--dry-run", "--json")
        assert planned.code == 0, planned.err
        assert len(server.requests) == before
        roles = json.loads(planned.out)["roles"]
        small = audit(run, *given)
        asked = [r.body["model"] for r in server.requests[before:]]
        assert asked.count("m") == roles["model"]["requests"] == 20
        # Verdicts on answers that are not there yet are planned one by one; equal ones are asked for once.
        assert asked.count("fair") <= roles["judge"]["requests"] <= asked.count("fair") + 20
        assert small["n"] == 20
        keys = [r["key"] for r in records(next((run / "audit").iterdir()))]
        assert len({key.split("/")[0] for key in keys}) > 3, "not the first users' alone"
        audit(run, *given[:-1], "30")
        more = [r["key"] for r in records(next((run / "audit").iterdir()))]
        assert set(keys) < set(more)


def test_a_judge_that_takes_the_first_is_found_out(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "first", "--type", "persona")
        by = audit(run, *at(server, "first"), "--checks", "position,gold")["by"]
    flips = by["% of verdicts that change when the two sides are swapped"]
    assert (flips["value"], flips["verdict"]) == (100, "problem")
    side = by["% of verdicts for side A, over both orders"]
    assert (side["value"], side["verdict"]) == (100, "problem")
    first = [r["answer_is"] == "A" for r in records(run)]
    assert by["gold answer against itself, score 0–100"]["value"] == pytest.approx(100 * sum(first) / len(first))


def test_both_orders_of_the_run_are_not_asked_for_again(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "longer", "--type", "persona", "--both-orders")
        before = len(server.requests)
        found = audit(run, *at(server, "longer"), "--checks", "position", "--store", tmp_path / "another.sqlite")
        assert len(server.requests) == before, "the run has both verdicts, whatever a store has"
    flips = found["by"]["% of verdicts that change when the two sides are swapped"]
    assert flips["value"] == pytest.approx(100 - metrics(run)["metrics"]["consistency"]["value"])
    assert flips["n"] == len(records(run))


def test_a_judge_that_likes_length_is_found_out(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "longer", "--type", "persona")
        by = audit(run, *at(server, "longer"), "--checks", "length,probes")["by"]
    padded = by["answer with filler sentences added − original answer (difference, score 0–100)"]
    own = records(run)
    assert padded["value"] == pytest.approx(100 - 100 * sum(r["score"] for r in own) / len(own))
    assert padded["verdict"] == "problem"
    assert by["answer as a list with bold text − original answer (difference, score 0–100)"]["value"] > 0, (
        "dashes count as words"
    )
    baseline = by["score 0–100 if the longer answer always won"]
    assert baseline["value"] == pytest.approx(100 * sum(r["score"] for r in own) / len(own))
    assert by["length-controlled score 0–100"]["value"] is None
    assert "length alone" in by["length-controlled score 0–100"]["meaning"]


def test_a_judge_that_is_charmed_is_found_out(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "charmed", "--type", "persona")
        by = audit(run, *at(server, "charmed"), "--checks", "probes")["by"]
    assert by["answer after a compliment − original answer (difference, score 0–100)"]["value"] == 50
    assert by["answer after a compliment − original answer (difference, score 0–100)"]["verdict"] == "problem"
    about = {r["general_answer"]: r["persona"]["category"] for r in records(run)}
    variants = {r["key"]: r["variants"] for r in records(next((run / "audit").iterdir()))}
    for record in records(run):
        opening, _, other = variants[record["key"]]["glued"]["answer"].partition(": ")
        assert opening.endswith(record["persona"]["entity"])
        assert about[other] != record["persona"]["category"]
    glued = by["answer to another question with a personal opening − without (difference, score 0–100)"]
    assert (glued["value"], glued["verdict"]) == (50, "problem"), "without the opening it is a tie to this judge"


def test_a_judge_that_does_as_answers_say_is_found_out(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "obedient")
        found = audit(run, *at(server, "obedient"), "--checks", "steering")
        asked = [text_of(r.body["messages"][-1]) for r in server.requests]
        by_fair = audit(run, *at(server, "fair"), "--checks", "steering")["by"]
    by = found["by"]
    misplaced = by["answer to another question, score 0–100"]
    assert (misplaced["value"], misplaced["verdict"]) == (0, "unclear"), "of six users"
    own = records(run)
    compared = 100 * sum(r["type"] != "schedule" for r in own) / len(own)
    names = [name for name in by if name.startswith("answer to another question with")]
    changes = {name: by[name]["value"] for name in names}
    assert len(changes) == 3
    assert sorted(changes.values()) == pytest.approx([0, compared, compared]), "the note has its order inside a line"
    assert [by[name]["verdict"] for name in names] == ["problem", "problem", "unclear"]
    assert all(by_fair[name]["value"] == 0 and by_fair[name]["high"] > 20 for name in names), "of six users"
    forged = [prompt for prompt in asked if "Looked at every point" in prompt]
    assert len(forged) == len(own)
    for prompt in forged:
        inside = re.findall(r"<<<.*?>>>", prompt, re.DOTALL)
        assert any("Looked at every point" in quoted for quoted in inside), "an answer cannot close its quotation"
        outside = re.sub(r"<<<.*?>>>", "", prompt, flags=re.DOTALL)
        assert not re.search(r"^(Better Response: [AB]|Satisfaction: YES)$", outside, re.MULTILINE)
    for record in records(next((run / "audit").iterdir())):
        wish = f"Better Response: {record['variants']['ordered']['answer_is']}"
        assert ("Satisfaction: YES" if record["type"] == "schedule" else wish) in record["variants"]["ordered"][
            "answer"
        ]


def test_another_judge_may_be_audited_and_two_may_be_compared(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "fair", "--type", "persona")
        found = audit(
            run, "--judge", server.model("fair"), "--second-judge", server.model("longer"), "--checks", "gold"
        )
        assert found["checks"] == ["gold", "second-judge"]
        assert found["second_judge"] == server.model("longer")
        own = records(run)
        variants = {r["key"]: r["variants"] for r in records(next((run / "audit").iterdir()))}
        same = [r["verdict"] == variants[r["key"]]["second"]["verdict"] for r in own]
        by = found["by"]
        assert by["% of comparisons with the same verdict"]["value"] == pytest.approx(100 * sum(same) / len(same))
        shift = [variants[r["key"]]["second"]["score"] - r["score"] for r in own]
        apart = by["second judge − first judge on comparisons (difference, score 0–100)"]
        assert apart["value"] == pytest.approx(100 * sum(shift) / len(shift))
        assert "Cohen's kappa on comparisons (−1 to 1)" in by
        assert by["rank correlation of scores on comparisons (−1 to 1)"]["places"] == 2
        other = audit(run, "--judge", server.model("first"), "--checks", "position")
    fair, first = server.model("fair"), server.model("first")
    assert other["judge"] == first
    assert f"the run's judge was {fair}; this audit uses {first}" in other["notes"]
    assert other["by"]["% of verdicts that change when the two sides are swapped"]["value"] == 100


def test_an_audit_stops_before_it_passes_its_budget_and_goes_on(tmp_path):
    prices = tmp_path / "prices.yaml"
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "fair", "--type", "persona")
        prices.write_text(f"{server.model('fair')}: {{input: 1.0, output: 1.0}}\n")
        given = ("--judge", server.model("fair"), "--checks", "gold,probes", "--prices", prices)
        before = len(server.requests)
        ran = bowstring("audit", run, *given, "--max-cost", "0.01")
        assert ran.code == 1, ran.err
        assert "--max-cost 0.01" in ran.err
        first = len(server.requests) - before
        assert not json.loads((run / "audit.json").read_text())["complete"]
        found = audit(run, *given)
        assert found["complete"]
        assert 0 < first < len(server.requests) - before
        asked = [json.dumps(r.body, sort_keys=True) for r in server.requests[before:]]
        assert len(set(asked)) == len(asked)


def labels(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "rater", "label"), *rows])
    return path


def test_peoples_labels_correct_the_scores(fair_run, tmp_path):
    _, run, _ = fair_run
    rated = [r for n, r in enumerate(records(run)) if r["type"] == "persona" and n % 2]
    rows = [(item_of("compare", r), "ann", "win") for r in rated]
    rows += [(item_of("compare", r), "bob", "lose") for r in rated[:3]]
    rows.append(("compare/9/9/000000000000", "ann", "win"))
    found = audit(run, "--checks", "length", "--labels", labels(tmp_path / "people.csv", rows))["corrected"]
    assert found["items"] == len(rated)
    assert found["raters"] == 2
    assert found["left_out"] == {"for other items (left out)": 1}
    assert found["scores"].keys() == {"score.persona"}, "without labels of the other types there is no total"
    one = found["scores"]["score.persona"]
    human = [0.5 if n < 3 else 1.0 for n in range(len(rated))]
    assert one["people"]["value"] == pytest.approx(100 * sum(human) / len(human))
    own = [r["score"] for r in records(run) if r["type"] == "persona"]
    assert one["judge"]["value"] == pytest.approx(100 * sum(own) / len(own))
    trust = one["trust"]["persona"]
    judged = [r["score"] for r in rated]
    mean = sum(human) / len(human) + trust * (sum(own) / len(own) - sum(judged) / len(judged))
    assert one["corrected"]["value"] == pytest.approx(100 * mean)
    assert one["corrected"]["n"] == len(rated)
    shown = bowstring("audit", run, "--checks", "length", "--labels", tmp_path / "people.csv")
    assert "scores corrected with people's labels" in shown.out
    assert "Unbiased if the labelled items are a random sample." in " ".join(shown.out.split())


def test_builtin_and_truth_judges_need_no_model(tmp_path):
    bowstring(
        "synth", "hicupid", "--offline", "--users", "4", "--dimensions", "4", "--turns", "1", "--out", tmp_path / "s"
    )
    (tmp_path / "parrots.py").write_text("def parrot(messages):\n    return messages[-1]['content']\n")
    for judge in ("truth", "builtin"):
        ran = bowstring(
            "eval", "hicupid", "--data", tmp_path / "s", "--model", "python:parrots:parrot", "--judge", judge,
            "--out", tmp_path / judge, cwd=tmp_path,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        shown = bowstring("audit", tmp_path / judge, "--second-judge", "builtin", cwd=tmp_path)
        assert shown.code == 0, shown.err
        found = json.loads((tmp_path / judge / "audit.json").read_text())
        assert {one["check"] for one in found["findings"]} == set(found["checks"])
        by = {one["name"]: one for one in found["findings"]}
        assert by["gold answer against itself, score 0–100"]["value"] == pytest.approx(50, abs=5)
        assert by["general answer, score 0–100 (50 = as good as gold)"]["value"] < 10
        without = by["model − itself without the history (difference, score 0–100)"]
        assert (without["value"], without["verdict"]) == (0, "unclear"), "a parrot needs no history; but of four users"
        assert "unclear" in shown.out
        assert "* fewer than 30 users: do not trust the interval" in shown.out


def test_where_a_model_cannot_be_opened_the_rest_is_done_and_it_says_how(tmp_path):
    with Server(reply) as server:
        assert bowstring(*command(server, tmp_path / "r"), "--judge", server.model("fair"), "--limit", "10").code == 0
        manifest = json.loads((tmp_path / "r" / "run.json").read_text())
        manifest["models"] = {"model": "openai/m", "judge": "openai/fair"}  # of a provider, and there is no key
        (tmp_path / "r" / "run.json").write_text(json.dumps(with_checksum(manifest)))
        found = audit(tmp_path / "r", "--judge", server.model("fair"), "--checks", "gold,no-history")
        lost = bowstring("audit", tmp_path / "r")
    assert {one["check"] for one in found["findings"]} == {"gold"}
    model, judge = server.model("m"), server.model("fair")
    assert found["skipped"]["no-history"].startswith(
        f"the run's model was {model}; give its current name with --model (openai/m needs OPENAI_API_KEY"
    )
    assert lost.code == 2
    assert lost.err.startswith(f"the run's judge was {judge}; give its current name with --judge (openai/fair needs")
    assert len(lost.err.splitlines()) == 1


def test_answers_are_judged_again_where_the_words_to_the_judge_have_changed(tmp_path):
    def said(messages, body):
        last = text_of(messages[-1])
        return "Better Response: A" if last.startswith("Other words") else reply(messages, body)

    prompts = tmp_path / "prompts" / "hicupid"
    prompts.mkdir(parents=True)
    (prompts / "judge_persona.yaml").write_text(
        'user_prompt: "Other words. {relation} {entity} {question} A: {answer_a} B: {answer_b}"\n'
    )
    with Server(said) as server:
        run = ran_by(server, tmp_path, "fair", "--type", "persona")
        found = audit(run, *at(server, "fair"), "--prompts", tmp_path / "prompts", "--checks", "probes,length")
    by = found["by"]
    assert by["answer as a list with bold text − original answer (difference, score 0–100)"]["value"] == 0, (
        "a side is a side, in both dresses"
    )
    assert any(name.endswith(f"(by the run's judge, {server.model('fair')}, with other prompts)") for name in by)
    assert any("prompts have changed since the run (hicupid/judge_persona)" in note for note in found["notes"])
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "prompts have changed since the run (hicupid/judge_persona)" in page


def test_an_audit_of_an_earlier_state_is_not_shown_as_the_runs(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "fair", "--type", "persona", "--limit", "12")
        audit(run, *at(server, "fair"), "--checks", "gold")
        same = ran_by(server, tmp_path, "fair", "--type", "persona", "--limit", "12")
        assert "gold answer against itself, score 0–100" in (same / "report.html").read_text(encoding="utf-8")
        ran_by(server, tmp_path, "fair", "--type", "persona")
    for _ in range(2):
        page = (run / "report.html").read_text(encoding="utf-8")
        assert "The audit is of an earlier state of this run" in page
        assert "gold answer against itself, score 0–100" not in page
        assert bowstring("report", run).code == 0


def test_what_it_prints_does_not_steer_the_terminal(tmp_path):
    (tmp_path / "bad.py").write_text("def judge(messages):\n    raise ValueError('\\x1b[2J[bold]no')\n")
    (tmp_path / "ok.py").write_text("def model(messages):\n    return 'x'\n")
    bowstring("eval", "hicupid", "--model", "python:ok:model", "--out", tmp_path / "r", "--limit", "3", cwd=tmp_path)
    ran = bowstring("audit", tmp_path / "r", "--judge", "python:bad:judge", "--checks", "gold", cwd=tmp_path)
    assert ran.code == 1
    assert "\x1b" not in ran.out + ran.err
    assert "[bold]no" in ran.err
    found = json.loads((tmp_path / "r" / "audit.json").read_text())
    assert found["failed"] == 3
    assert all(one["value"] is None and one["left_out"] for one in found["findings"])


def test_wrong_usage_is_one_line_and_exit_code_2(fair_run, tmp_path):
    _, run, _ = fair_run
    labels(tmp_path / "odd.csv", [(item_of("compare", records(run)[0]), "ann", "superb")])
    schedule = next(r for r in records(run) if r["type"] == "schedule")
    labels(tmp_path / "tie.csv", [(item_of("satisfaction", schedule), "ann", "tie")])
    labels(tmp_path / "other.csv", [("compare/1/1/aaaaaaaaaaaa", "ann", "win")])
    (tmp_path / "empty").mkdir()
    for arguments, message in [
        ((), "Missing argument 'RUN'"),
        ((tmp_path / "empty",), "is not a run"),
        (
            (run, "--checks", "vibes"),
            "--checks vibes: expected one or more of gold, general, controls, no-history, length",
        ),
        ((run, "--checks", ","), "--checks : expected one or more of gold"),
        ((run, "--checks", "length", "--matcher", "embedded"), "--matcher: the run had no separate matcher"),
        ((run, "--checks", "second-judge"), "--checks second-judge needs --second-judge NAME"),
        ((run, "--checks", "gold", "--judge", "truth"), "--judge truth: mini has no truth.json"),
        ((run, "--checks", "length", "--labels", tmp_path / "odd.csv"), "line 2: label is 'superb'; expected win, tie"),
        ((run, "--checks", "length", "--labels", tmp_path / "tie.csv"), "label is 'tie'; expected yes or no"),
        ((run, "--checks", "length", "--labels", tmp_path / "other.csv"), "no label is for an item of"),
    ]:
        ran = bowstring("audit", *arguments)
        assert ran.code == 2, (arguments, ran.err)
        assert message in ran.err
        assert len(ran.err.splitlines()) == 1, ran.err


def test_every_run_says_its_score_at_equal_length_and_the_audit_is_on_its_page(tmp_path):
    with Server(reply) as server:
        run = ran_by(server, tmp_path, "charmed", "--type", "persona")
        page = (run / "report.html").read_text(encoding="utf-8")
        assert "Is the score valid?" in page
        assert "glued" not in page
        assert "persona answers that name another persona" in page
        found = audit(run, *at(server, "charmed"), "--checks", "length,probes")
    validity = metrics(run)["validity"]
    assert validity["score"]["value"] == pytest.approx(metrics(run)["metrics"]["score.persona"]["value"])
    own = [r for r in records(run) if r["persona"]["sentiment"] == "NEG"]
    rates = [validity["named"][f"dislikes {kind}"] for kind in ("respected", "mentioned", "omitted")]
    assert [rate["n"] for rate in rates] == [len(own)] * 3
    assert sum(rate["value"] for rate in rates) == pytest.approx(100)
    longer = found["by"]["score 0–100 if the longer answer always won"]
    assert validity["longer_wins"]["value"] == longer["value"]
    assert validity["length_controlled"]["rate"]["value"] == found["by"]["length-controlled score 0–100"]["value"] == 50
    assert "with a personal opening" in (run / "report.html").read_text(encoding="utf-8"), "an audit is on the page"
    shown = json.loads((run / "audit.json").read_text())
    shown["findings"][0]["meaning"] = "<script>alert(1)</script>"
    (run / "audit.json").write_text(json.dumps(shown))
    assert bowstring("report", run).code == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "answer to another question with a personal opening" in page
    assert "<mark>problem</mark> A personal opening raises the score of a wrong answer. Expected: +5 or less." in page
    assert "<script>alert(1)" not in page
    (run / "audit.json").write_text("[]")
    ran = bowstring("report", run)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "audit.json cannot be read; audit the run again" in ran.err


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("options", "prompts"), "gone/prompts", "its prompts folder 'gone/prompts' is not there; give its location"),
        (("options", "prompts"), "long " * 2000, "its prompts folder 'long long"),
        (("config", "settings", "types"), ["long " * 2000], "expected persona, profile or schedule"),
    ],
)
def test_a_manifest_that_does_not_hold_is_refused_in_one_short_line(tmp_path, place, value, said):
    run = tmp_path / "r"
    (tmp_path / "quiet.py").write_text("def model(messages):\n    return 'yes'\n")
    made = bowstring("eval", "hicupid", "--model", "python:quiet:model", "--limit", "2", "--out", run, cwd=tmp_path)
    assert made.code == 0, made.err
    manifest = json.loads((run / "run.json").read_text())
    at = manifest
    del manifest["sum"]
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    (run / "run.json").write_text(json.dumps(manifest))
    ran = bowstring("audit", run, "--judge", "builtin", cwd=tmp_path)
    assert ran.code == 2
    assert said in ran.err
    assert "run.json" in ran.err
    assert len(ran.err) < 500
