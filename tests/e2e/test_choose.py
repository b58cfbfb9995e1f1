"""`--task choose`: what a coin, cheats and a model that reads the history score, by the command and the Python API."""

import json
import zlib

import pytest

import bowstring as package
from bowstring.errors import DataError, UsageError
from tests.support import choices
from tests.support.choices import write_choices_set
from tests.support.command import bowstring
from tests.support.server import Server, text_of
from tests.support.tiny import write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_choices_set(tmp_path_factory.mktemp("choices") / "set")


def chosen(folder, model, out, **more):
    return package.evaluate("hicupid", task="choose", data=str(folder), model=model, out=out, **more)


def value(run, name="accuracy.total"):
    found = run.metrics["metrics"][name]
    return found["value"], found["low"], found["high"]


@pytest.mark.parametrize("model", [choices.coin, choices.always_a])
def test_a_coin_and_one_letter_for_everything_get_chance(folder, tmp_path, model):
    run = chosen(folder, model, tmp_path / "r")
    got, low, high = value(run)
    assert low <= 20 <= high
    assert abs(got - 20) < 8
    assert run.metrics["chance"] == pytest.approx(20)
    if model is choices.always_a:
        assert run.metrics["letters"]["A"]["value"] == 100
        places = run.metrics["gold_at"]
        assert run.metrics["n"] * got / 100 == pytest.approx(places["A"], abs=25)


def test_the_place_of_gold_is_uniform_and_depends_on_seed_and_question_alone(folder, tmp_path):
    run = chosen(folder, choices.coin, tmp_path / "a" / "r")
    places = run.metrics["gold_at"]
    assert len(places) == 5
    assert all(abs(n / run.metrics["n"] - 0.2) < 0.06 for n in places.values())
    part = chosen(folder, choices.coin, tmp_path / "b" / "r", limit=7, types=["persona", "profile"])
    by_key = {r["key"]: r["options"] for r in run.records()}
    assert all(r["options"] == by_key[r["key"]] for r in part.records())
    other = chosen(folder, choices.coin, tmp_path / "c" / "r", seed=1)
    assert sum(r["options"] != by_key[r["key"]] for r in other.records()) > 0.9 * run.metrics["n"]


def test_a_model_that_reads_the_history_gets_all_and_without_history_no_more_than_the_design_allows(folder, tmp_path):
    full = chosen(folder, choices.reads_history, tmp_path / "full" / "r", history="full")
    assert value(full)[0] > 98
    assert full.metrics["metrics"]["side"]["value"] > 98
    gold = chosen(folder, choices.reads_history, tmp_path / "gold" / "r", history="gold")
    assert value(gold)[0] > 98
    none = chosen(folder, choices.reads_history, tmp_path / "none" / "r", history="none")
    assert value(none)[1] <= 20 <= value(none)[2]
    side, subject = none.metrics["metrics"]["side"], none.metrics["metrics"]["subject"]
    assert abs(side["value"] - 50) < 20, "a quarter of 320 questions have the right subject"
    assert abs(subject["value"] - 50) < 10


def test_the_longest_option_gets_no_more_than_the_floors_beside_the_score_say(folder, tmp_path):
    run = chosen(folder, choices.longest, tmp_path / "r")
    floor = run.metrics["floors"]["controls"]["longest"]["accuracy.total"]
    assert value(run)[0] == pytest.approx(floor["value"], abs=1)


def test_all_letters_at_once_are_no_choice(folder, tmp_path):
    run = chosen(folder, choices.all_letters, tmp_path / "r", limit=22)
    assert run.metrics["unparsed"] == 22
    assert "accuracy.total" not in run.metrics["metrics"]
    assert run.metrics["unscored"]["accuracy.total"]["as_worst"] == 0
    assert {r["choice"] for r in run.records()} == {None}


def test_what_cannot_be_read_is_missing_and_not_wrong(folder, tmp_path):
    def half(messages):
        asked = messages[-1]["content"]
        return choices.all_letters(messages) if zlib.crc32(asked.encode()) % 2 else choices.reads_history(messages)

    run = chosen(folder, half, tmp_path / "r")
    found = run.metrics["metrics"]["accuracy.total"]
    assert found["value"] > 98
    assert 0 < found["missing"]["items"] == run.metrics["unparsed"] < run.metrics["n"]
    assert found["missing"]["as_worst"] < 70


def test_controls_without_the_history_are_at_the_floor_of_the_design(folder, tmp_path):
    """General answers are never gold, so a control that recognizes them has 25; for schedule, two options name an
    appointment of that time: 50."""
    floors = chosen(folder, choices.coin, tmp_path / "r").metrics["floors"]
    assert floors["chance"] == pytest.approx(20)
    assert (floors["questions"], floors["users"]) == (440, 40)
    for control in ("options", "options+question"):
        found = floors["controls"][control]
        for kind, design in (("persona", 25), ("profile", 25), ("schedule", 50)):
            estimate = found[f"accuracy.{kind}"]
            assert estimate["low"] <= design + 2, (control, kind, estimate)


def test_a_leak_shows_in_the_floors(folder, tmp_path):
    leaky = tmp_path / "set"
    write_choices_set(leaky)
    lines = [json.loads(line) for line in (leaky / "choices.jsonl").read_text().splitlines()]
    for line in lines:
        for one in line["options"]:
            if one["kind"] != "gold":
                one["text"] = one["text"].replace("your thing", "a thing of yours").replace("then", "at that time")
    (leaky / "choices.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    floors = chosen(leaky, choices.coin, tmp_path / "r").metrics["floors"]["controls"]
    assert floors["options"]["accuracy.persona"]["low"] > 80


def test_which_wrong_option_was_chosen_is_counted(folder, tmp_path):
    wanted = {"persona": "wrong_side", "profile": "wrong_profile", "schedule": "books_over"}
    by_text = {}
    for line in (folder / "choices.jsonl").read_text().splitlines():
        for one in json.loads(line)["options"]:
            by_text.setdefault(one["text"], set()).add(one["kind"])

    def ignores(messages):
        for letter, text in choices.shown_options(messages).items():
            if by_text[text] & {"general", "books_over"}:
                return letter
        raise AssertionError

    run = chosen(folder, ignores, tmp_path / "r")
    assert run.metrics["metrics"]["chose.ignored"]["value"] == 100
    assert run.metrics["metrics"]["chose.wrong_side"]["value"] == 0
    assert run.metrics["chosen"]["persona"] == {"ignored": 320}
    assert wanted


def test_the_command_shows_accuracy_letters_and_floors_and_the_page_shows_the_options(folder, tmp_path):
    with Server(lambda messages, body: "Choice: B") as server:
        command = ("eval", "hicupid", "--task", "choose", "--data", folder, "--model", server.model("m"))
        plan = bowstring(*command, "--out", tmp_path / "r", "--dry-run", "--limit", "6")
        ran = bowstring(*command, "--out", tmp_path / "r", "--limit", "6")
        asked = [text_of(r.body["messages"][-1]) for r in server.requests]
        again = bowstring(*command, "--out", tmp_path / "r", "--limit", "6")
        count = len(server.requests)
    assert plan.code == ran.code == again.code == 0, ran.err
    assert "6" in next(line for line in plan.out.splitlines() if line.startswith("requests"))
    assert len(asked) == count == 6, "a stored choice is not asked again"
    assert "\nA. Choose " in asked[0]
    for said in ("accuracy.persona", "letters chosen", "Floors, without the history", "a classifier of the options"):
        assert said in ran.out
    page = (tmp_path / "r" / "report.html").read_text()
    for said in ("What was chosen", "gold is there", "classifier of options and question", "chosen by letter"):
        assert said in page


def test_a_server_with_schemas_is_asked_for_one_of_the_letters(folder, tmp_path):
    with Server(lambda messages, body: '{"choice": "C"}') as server:
        run = chosen(folder, server.model("m"), tmp_path / "r", limit=3)
        schemas = [r.body["response_format"]["json_schema"]["schema"] for r in server.requests]
    assert {r["choice"] for r in run.records()} == {"C"}
    assert schemas[0]["properties"]["choice"]["enum"] == list("ABCDE")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--judge", "builtin"), "without a judge"),
        (("--judgements", "2"), "without a judge"),
        (("--both-orders",), "leave out --both-orders"),
        (("--by", "likelihood"), "use --by letter"),
        (("--task", "answer", "--by", "likelihood"), "only for --task choose"),
    ],
)
def test_wrong_usage_is_one_line(folder, tmp_path, more, said):
    with Server() as server:
        ran = bowstring(
            "eval", "hicupid", "--task", "choose", "--data", folder, "--model", server.model("m"),
            "--out", tmp_path / "r", *more,
        )  # fmt: skip
        assert not server.requests
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_sweep_over_histories_and_a_comparison_show_accuracy(folder, tmp_path):
    swept = package.sweep(
        "hicupid", task="choose", data=str(folder), model=choices.reads_history, history=["gold", "none"],
        out=tmp_path / "s",
    )  # fmt: skip
    points = {name: point["metrics"]["accuracy.total"]["value"] for name, point in swept.summary["points"].items()}
    assert points["gold"] > 98 > 40 > points["none"]
    runs = [str(run.folder) for run in swept.points.values()]
    compared = bowstring("compare", *runs, "--out", tmp_path / "c.html")
    assert compared.code == 0, compared.err
    assert "accuracy.total" in compared.out
    for folder_ in (tmp_path / "s", runs[0]):
        tables = bowstring("report", folder_, "--figures", "none")
        assert tables.code == 0, tables.err
    assert "accuracy.total" in (tmp_path / "s" / "tables" / "sweep.md").read_text()


def test_by_likelihood_on_local_weights_a_run_is_resumed_and_repeated_from_the_store(folder, tmp_path):
    model = write_model(tmp_path / "m")
    common = {"task": "choose", "data": str(folder), "model": f"hf/{model}", "limit": 11}
    first = package.evaluate("hicupid", out=tmp_path / "r", **common)
    assert first.metrics["config"]["settings"]["by"] == "likelihood", "the default for local weights"
    usage = first.metrics["usage"]["model"]
    assert (usage["requests"], usage["from_store"]) == (11, 0)
    assert usage["cached_tokens"] > 0
    for r in first.records():
        per_token = [p / n for p, n in zip(r["log_probabilities"], r["tokens"], strict=True)]
        assert r["choice"] == "ABCDE"[per_token.index(max(per_token))]
        assert r["score"] == (r["choice"] == r["gold_is"])
        by_sum = r["log_probabilities"].index(max(r["log_probabilities"]))
        assert r["score_by_sum"] == (r["options"][by_sum]["kind"] == "gold")
    again = package.evaluate("hicupid", out=tmp_path / "r2", store=tmp_path / "responses.sqlite", **common)
    assert again.metrics["usage"]["model"]["requests"] == 0
    assert again.records() == first.records()
    shown = bowstring("store", "list", "--store", tmp_path / "responses.sqlite")
    assert shown.code == 0, shown.err


@pytest.mark.parametrize("most", [2, 3, 4])
def test_fewer_options_have_another_chance(tmp_path, most):
    run = chosen(write_choices_set(tmp_path / "set", users=4, most=most), choices.coin, tmp_path / "r")
    assert run.metrics["chance"] == pytest.approx(100 / most)
    assert {len(r["options"]) for r in run.records()} == {most}


def with_last(line, text, kind):
    return line | {"options": [*line["options"][:4], {"text": text, "kind": kind}]}


def lines_of(folder):
    return (folder / "choices.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one | {"question_id": 999999}, "has no question 0/999999"),
        (lambda one: one | {"options": one["options"][:1]}, "at least 2"),
        (lambda one: one | {"options": [one["options"][0]] * 2}, "2 gold options"),
        (lambda one: with_last(one, one["options"][1]["text"], "general"), "repeats option 2"),
        (lambda one: with_last(one, " ", "general"), "option 5 has no text"),
        (lambda one: with_last(one, "x", "best"), "kind is 'best'"),
        (lambda one: one | {"options": [{"text": "y", "kind": "gold"}, *one["options"][1:]]}, "not the personalized"),
        (lambda one: one | {"options": one["options"] * 3}, "at most 10"),
        (lambda one: "[" * 100_000, "nested too deeply"),
        (lambda one: "x" * 2_000_000, "is longer than"),
        (lambda one: "{", "is not JSON"),
        (lambda one: [], "line 3"),
    ],
)  # fmt: skip
def test_a_file_of_options_that_does_not_fit_is_an_error_with_its_line(tmp_path, change, said):
    folder = write_choices_set(tmp_path / "set", users=2)
    lines = lines_of(folder)
    changed = change(json.loads(lines[2]))
    lines[2] = changed if isinstance(changed, str) else json.dumps(changed)
    (folder / "choices.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"choices\.jsonl line 3: ") as raised:
        chosen(folder, choices.coin, tmp_path / "r")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


def test_a_question_without_options_is_an_error(tmp_path):
    folder = write_choices_set(tmp_path / "set", users=2)
    (folder / "choices.jsonl").write_text("\n".join(lines_of(folder)[:-1]))
    with pytest.raises(DataError, match="has no options for question 1/110 of test_2"):
        chosen(folder, choices.coin, tmp_path / "r")


def test_lines_of_other_splits_are_not_needed(tmp_path):
    folder = write_choices_set(tmp_path / "set", users=3, splits=("train", "test_2"))
    run = chosen(folder, choices.coin, tmp_path / "r")
    assert run.metrics["splits"] == ["test_2"]


def test_another_file_of_options_is_another_run(tmp_path):
    folder = write_choices_set(tmp_path / "set", users=2)
    first = chosen(folder, choices.coin, tmp_path / "r")
    (folder / "choices.jsonl").write_text("\n".join(lines_of(folder)) + "\n\n")
    with pytest.raises(UsageError, match="different configuration"):
        chosen(folder, choices.coin, first.folder)


def test_what_needs_a_judge_says_that_there_is_none(folder, tmp_path):
    run = chosen(folder, choices.coin, tmp_path / "r", limit=3)
    audited = bowstring("audit", run.folder)
    assert audited.code == 2
    assert "without a judge" in audited.err
    agreed = bowstring("agree", run.folder)
    assert agreed.code == 2, agreed.out


def test_a_run_of_answers_is_repeated_as_choices_and_back(folder, tmp_path):
    answers = package.evaluate("hicupid", data=str(folder), model=choices.coin, out=tmp_path / "a", limit=2)
    chose = package.evaluate(like=answers, model=choices.coin, task="choose", out=tmp_path / "b")
    assert chose.metrics["config"]["judge"] is None
    assert all("choice" in r for r in chose.records())
    back = package.evaluate(like=chose, model=choices.coin, task="answer", out=tmp_path / "c")
    assert back.metrics["config"]["judge"] == "builtin"
