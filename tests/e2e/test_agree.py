"""`bowstring agree`: judges of real runs, people in files, and metrics, as raters of the same items."""

import csv
import json
import random
import re

import pytest

from bowstring.benchmarks.hicupid.people import item_of
from bowstring.benchmarks.hicupid.scores import cluster_of
from bowstring.labels import COMPARED
from bowstring.metrics.text import bleu
from tests.e2e.test_eval import command, records
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.e2e.test_eval_cupid import command as cupid_command
from tests.support.command import bowstring
from tests.support.server import Server, digest_answer, text_of


def agree(*arguments):
    """The JSON output of the command."""
    ran = bowstring("agree", *arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def judged_twice(server, folder, *more):
    """Two runs of one model by two judges; the answers come from the store the second time."""
    for judge in ("one", "two"):
        ran = bowstring(*command(server, folder / judge, *more, "--judge", server.model(judge)))
        assert ran.code == 0, ran.err
    return folder / "one", folder / "two"


def test_two_judges_meet_on_the_same_answers(tmp_path):
    with Server() as server:
        runs = judged_twice(server, tmp_path)
    found = agree(*runs)
    assert found["tasks"].keys() == {"compare", "satisfaction"}
    one, two = (records(run) for run in runs)
    for task, kinds in (("compare", ("persona", "profile")), ("satisfaction", ("schedule",))):
        same = [a["verdict"] == b["verdict"] for a, b in zip(one, two, strict=True) if a["type"] in kinds]
        pair = found["tasks"][task]["pairs"][0]
        assert pair["raters"] == [server.model("one"), server.model("two")]
        assert pair["n"] == len(same)
        assert pair["agreement"]["value"] == pytest.approx(sum(same) / len(same))
        assert pair["agreement"]["clusters"] == 6, "intervals are by user"
        assert found["tasks"][task]["clusters"] == "cluster"
    disputed = found["tasks"]["compare"]["disputed"][0]
    question = next(r for r in one if item_of("compare", r) == disputed["item"] and r["type"] != "schedule")
    assert disputed["about"] == question["question"]
    shown = bowstring("agree", *runs)
    assert shown.code == 0
    assert "compare: the answer against the gold answer" in shown.out
    assert "? fewer than 30 users: do not trust the interval" in shown.out


def test_verdicts_on_different_answers_are_never_compared(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "a", "--judge", server.model("one")))
        bowstring(*command(server, tmp_path / "b", "--judge", server.model("two"), "--model", server.model("other")))
    ran = bowstring("agree", tmp_path / "a", tmp_path / "b")
    assert ran.code == 2
    one, two = server.model("one"), server.model("two")
    assert ran.err.startswith(f"no item has two raters: {one} (60), {two} (60); ")


def test_both_orders_are_two_raters_and_a_judge_can_be_named(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--both-orders"))
    found = agree(f"gpt={tmp_path / 'r'}")["tasks"]["compare"]
    assert list(found["raters"]) == ["gpt", "gpt, sides swapped"]
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert 100 * found["agreement"]["value"] == pytest.approx(metrics["metrics"]["consistency"]["value"])


def test_people_join_the_judge_by_items_and_are_its_reference(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r"))
    rows = [r for r in records(tmp_path / "r") if r["type"] != "schedule"]
    with (tmp_path / "people.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)  # with BOM and CRLF, as spreadsheets save it
        writer.writerow(["item", "rater", "label"])
        for n, record in enumerate(rows):
            said = record["verdict"] if n % 4 else {"win": "lose", "lose": "win", "tie": "win"}[record["verdict"]]
            writer.writerow([item_of("compare", record), "ann", said])
    found = agree(tmp_path / "people.csv", tmp_path / "r", "--reference", "ann")
    compared = found["tasks"]["compare"]
    assert "ratings" not in found["tasks"], "the task of an item is known from the run"
    other = compared["reference"]["others"][server.model("judge")]
    right = sum(n % 4 > 0 for n in range(len(rows)))
    assert other["n"] == len(rows)
    assert other["accuracy"]["value"] == pytest.approx(right / len(rows))
    assert other["accuracy"]["clusters"] == 6, "whose items they are is known from the run"
    assert sum(map(sum, other["confusion"])) == len(rows)
    assert sum(score["n"] for score in other["labels"].values()) == len(rows)
    shown = bowstring("agree", tmp_path / "people.csv", tmp_path / "r", "--reference", "ann")
    assert "compared with 1, ann" in shown.out
    assert "macro F1" in shown.out
    assert "precision" in shown.out


def test_metrics_rate_by_their_sign(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r"))
    found = agree(tmp_path / "r", "--metrics")["tasks"]["compare"]
    assert list(found["raters"]) == [server.model("judge"), "bleu", "rouge_l", "length"]
    assert found["fleiss_kappa"]["ratings"] == 4
    rows = [r for r in records(tmp_path / "r") if r["type"] != "schedule"]
    nearer = [bleu(r["answer"], r["personalized_answer"]) - bleu(r["answer"], r["general_answer"]) for r in rows]
    assert found["raters"]["bleu"]["labels"].get("win", 0) == sum(x > 0 for x in nearer)
    assert found["raters"]["bleu"]["labels"].get("tie", 0) == sum(x == 0 for x in nearer)
    only = agree(tmp_path / "r", "--metrics", "--rater", "bleu", "--rater", "rouge_l")["tasks"]
    assert list(only) == ["compare"]
    assert list(only["compare"]["raters"]) == ["bleu", "rouge_l"]


def test_verdicts_that_cannot_be_read_are_counted(tmp_path):
    def mute(messages, body):
        last = text_of(messages[-1])
        unsure = body["model"] == "two" and "Better Response:" in last and len(last) % 2
        return "I cannot say." if unsure else digest_answer(messages, body)

    with Server(mute) as server:
        runs = judged_twice(server, tmp_path)
    unread = sum(r["verdict"] is None for r in records(runs[1]))
    assert unread
    found = agree(*runs)
    lost = {"task": "compare", "rater": server.model("two"), "reason": "unparsed", "n": unread}
    assert found["left_out"] == [lost]
    assert found["tasks"]["compare"]["shared"] == found["tasks"]["compare"]["items"] - unread
    assert "(unparsed)" in bowstring("agree", *runs).out


def test_scores_and_coverage_of_cupid(tmp_path):
    def second_opinion(messages, body):
        said = cupid_answer(messages, body | {"model": "judge" if body["model"] == "two" else body["model"]})
        if body["model"] == "two":
            marked = len(text_of(messages[-1])) % 3
            return said.replace("Score\n7", f"Score\n{7 + marked}").replace(
                "Partially", ["Fully", "Partially", "Not"][marked]
            )
        return said

    with Server(second_opinion) as server:
        bowstring(*cupid_command(server, tmp_path / "a"))
        bowstring(*cupid_command(server, tmp_path / "b", "--judge", server.model("two")))
    found = agree(f"first={tmp_path / 'a'}", f"second={tmp_path / 'b'}")["tasks"]
    assert found.keys() == {"rate", "coverage"}
    rates = zip(records(tmp_path / "a"), records(tmp_path / "b"), strict=True)
    same = [a["generation"]["score"] == b["generation"]["score"] for a, b in rates]
    assert found["rate"]["pairs"][0]["agreement"]["value"] == pytest.approx(sum(same) / 12)
    assert found["rate"]["level"] == "interval"
    assert found["rate"]["agreement"]["clusters"] == 4, "by persona"
    assert found["rate"]["pairs"][0]["weighted_kappa"].keys() == {"linear", "quadratic"}
    assert found["coverage"]["labels"] == ["Not Covered", "Partially Covered", "Fully Covered"]
    assert found["coverage"]["level"] == "ordinal"
    assert found["coverage"]["pairs"][0]["n"] == 24 + 36


def export(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_sweet_spot_of_an_export(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r"))
    rows = []
    for n, record in enumerate(records(tmp_path / "r")):
        degree = n % 5 + 1
        row = {
            "item": item_of("personal", record),
            "label": "personalized" if degree < 3 else "tie" if degree == 3 else "general",
            "task": "personal",
            "cluster": cluster_of(record),
            "type": record["type"],
            "criteria": {"personalization": degree},
            "seconds": 4.0,
            "gold": n % 30 == 0,
        }
        rows += [row | {"rater": "ann"}, row | {"rater": "bob"}]
    path = export(tmp_path / "people.jsonl", rows)
    found = agree(path)
    assert found["personal"]["win_rate"]["n"] == 2 * 58
    rates = {degree: rate["value"] for degree, rate in found["personal"]["by_personalization"].items()}
    assert rates == {"1": 100.0, "2": 100.0, "3": 50.0, "4": 0.0, "5": 0.0}
    assert found["personal"]["by_type"].keys() == {"persona", "profile", "schedule"}
    assert found["personal"]["slope"]["high"] < 0
    assert found["tasks"]["personal"]["alpha"]["ordinal"]["value"] == pytest.approx(1.0)
    assert {"task": "personal", "rater": "bob", "reason": "gold check", "n": 2} in found["left_out"]
    shown = bowstring("agree", path)
    assert "win rate of the personalized answer, 0–100 (a tie is half a win; 50 = no preference)" in shown.out
    assert "win rate per degree of rated personalization: -" in shown.out
    alone = agree(export(tmp_path / "ann.jsonl", [row for row in rows if row["rater"] == "ann"]))
    assert alone["personal"]["win_rate"]["n"] == 58, "one person is enough to say what they like"
    assert "personal" not in agree(tmp_path / "r", "--metrics"), "nobody chose between the two gold answers"


def test_labels_may_be_merged_ordered_and_taken_at_another_level(tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("item,rater,label\n1,a,Win\n1,b,win\n2,a,tie\n2,b,lose\n3,a,lose\n3,b,lose\n")
    found = agree(table)["tasks"]["ratings"]
    assert found["agreement"]["value"] == pytest.approx(1 / 3)
    assert "differ only in case" in found["notes"][0]
    merged = agree(table, "--merge", "Win=win", "--merge", "tie=lose")["tasks"]["ratings"]
    assert (merged["agreement"]["value"], merged["notes"]) == (1.0, [])
    words = tmp_path / "w.jsonl"
    said = [("bad", "fair"), ("good", "good"), ("fair", "good"), ("bad", "bad")]
    export(
        words,
        [{"item": n, "rater": r, "label": x} for n, pair in enumerate(said) for r, x in zip("ab", pair, strict=True)],
    )
    assert agree(words)["tasks"]["ratings"]["levels"] == ["nominal"]
    ordered = agree(words, "--labels", "bad,fair,good")["tasks"]["ratings"]
    assert ordered["levels"] == ["nominal", "ordinal"]
    assert ordered["alpha"]["ordinal"]["value"] > ordered["alpha"]["nominal"]["value"]
    assert agree(table, "--merge", "Win=win", "--level", "interval")["tasks"]["ratings"]["alpha"].keys() == {"interval"}


def test_words_of_files_do_not_steer_the_terminal(tmp_path):
    rows = [
        {"item": "\x1b[2J[bold]1", "rater": rater, "label": label}
        for rater, label in (("\x1b[31mann", "[red]yes\x07"), ("bob[/]", "no"))
    ]
    ran = bowstring("agree", export(tmp_path / "a.jsonl", rows))
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    assert "[red]yes" in ran.out
    assert "bob[/]" in ran.out


def test_a_rater_may_say_the_same_twice_but_not_two_things(tmp_path):
    (tmp_path / "a.csv").write_text("item,rater,label\n1,ann,win\n1,bob,win\n1,ann,win\n2,bob,tie\n2,ann,tie\n")
    assert agree(tmp_path / "a.csv")["tasks"]["ratings"]["raters"]["ann"]["n"] == 2
    (tmp_path / "b.csv").write_text("item,rater,label\n2,ann,lose\n")
    ran = bowstring("agree", tmp_path / "a.csv", tmp_path / "b.csv")
    assert ran.code == 2
    assert ran.err == (
        f"{tmp_path / 'b.csv'} line 2: ann says 'lose' of item 2, and 'tie' in {tmp_path / 'a.csv'} line 6; "
        "remove one, or give the judges of the runs different names: NAME=RUN\n"
    )


def test_wrong_usage_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "a.csv").write_text("item,rater,label\n1,ann,good\n1,bob,bad\n")
    (tmp_path / "alone.csv").write_text("item,rater,label\n1,ann,good\n2,ann,bad\n")
    (tmp_path / "open.csv").write_text("item,rater,label\n1,ann,\n")
    (tmp_path / "task.csv").write_text("item,rater,label,task,cluster\n1,ann,x,rate,u\n1,bob,x,other,u\n")
    (tmp_path / "cluster.csv").write_text("item,rater,label,task,cluster\n1,ann,x,rate,u\n1,bob,x,rate,v\n")
    (tmp_path / "empty").mkdir()
    for arguments, message in [
        ((), "Missing argument 'SOURCE…'"),
        (("nowhere",), "nowhere does not exist; expected the folder of a run, or a .jsonl or .csv file of ratings"),
        (("empty",), "empty is not a run; expected a run's folder, such as runs/NAME"),
        (("alone.csv",), "there is only one rater, ann (2); add another run or a file of ratings"),
        (("open.csv",), "there are no ratings to compare: 1 left open"),
        (("a.csv", "--reference", "cy"), "--reference 'cy': no such rater; the raters are ann, bob"),
        (("a.csv", "--rater", "cy"), "no rater is called 'cy'; the raters are ann, bob"),
        (("a.csv", "--level", "interval"), "--level: interval needs numbers; the labels are bad, good"),
        (("a.csv", "--level", "high"), "--level high: expected auto, nominal, ordinal or interval"),
        (("a.csv", "--labels", "bad,best"), "--labels bad,best lacks good; expected every label of a task"),
        (("a.csv", "--merge", "bad"), "--merge: expected LABEL=OTHER, such as tie=lose"),
        (("a.csv", "--metrics"), "--metrics: no source is a run with judged comparisons of a benchmark whose"),
        (("task.csv",), "task.csv line 3: task of item 1 is 'other', and 'rate' in "),
        (("cluster.csv",), "cluster.csv line 3: cluster of item 1 is 'v', and 'u' in "),
    ]:
        ran = bowstring("agree", *arguments, cwd=tmp_path)
        assert ran.code == 2, arguments
        assert message in ran.err
        assert len(ran.err.splitlines()) == 1
        assert not ran.out


def crowd(path, people, judges, *, items=120, per_item=None, seed=0):
    """A table of people and judges that are right with these probabilities; ten items per user."""
    rng = random.Random(seed)
    rows = ["item,rater,label,cluster"]
    for n in range(items):
        truth = rng.choice(COMPARED)
        asked = rng.sample(sorted(people), per_item) if per_item else people
        for rater, right in [*((name, people[name]) for name in asked), *judges.items()]:
            label = truth if rng.random() < right else rng.choice([x for x in COMPARED if x != truth])
            rows.append(f"{n},{rater},{label},user {n // 3}")
    path.write_text("\n".join(rows))
    return path


def test_judges_are_compared_with_people_and_with_each_other(tmp_path):
    people = {"ann": 0.8, "bob": 0.8, "cy": 0.8}
    table = crowd(tmp_path / "a.csv", people, {"good": 0.95, "coin": 1 / 3}, items=300)
    judges = ("--judge", "good", "--judge", "coin")
    found = agree(table, *judges)["tasks"]["ratings"]
    assert found["judges"] == ["good", "coin"]
    majority = found["majority"]
    assert majority["items"] + majority["tied"] == 300
    assert majority["judges"]["good"]["accuracy"]["low"] > majority["judges"]["coin"]["accuracy"]["high"]
    (differ,) = found["judge_differences"]
    assert (differ["judges"], differ["reference"]) == (["good", "coin"], "majority")
    assert differ["high"] < 0
    assert {judge: own["replaces"] for judge, own in found["alternative_annotator"].items()} == {
        "good": True,
        "coin": False,
    }
    shown = bowstring("agree", table, *judges).out
    assert f"{majority['items']} items with a majority; left out: {majority['tied']} where people are split" in shown
    assert "is a judge as good as one more person? (alternative annotator test, epsilon 0.1)" in shown
    assert re.search(r"4 +yes +3 of 3 people", shown)
    assert re.search(r"5 +no +0 of 3 people", shown)
    strict = agree(table, *judges, "--epsilon", "0", "--reference", "ann")["tasks"]["ratings"]
    assert strict["alternative_annotator"]["coin"]["epsilon"] == 0
    assert strict["judge_differences"][0]["reference"] == "ann"
    everyone = agree(table)["tasks"]["ratings"]
    assert everyone["judges"] == []
    assert "majority" not in everyone
    assert "--judge RATER says who is a judge" in bowstring("agree", table).out


def test_too_few_people_are_said(tmp_path):
    table = crowd(tmp_path / "a.csv", {"ann": 0.8, "bob": 0.8}, {"judge": 0.8}, items=40)
    shown = " ".join(bowstring("agree", table, "--judge", "judge").out.split())
    assert "3: no answer. 2 people rated 30 or more of its items together with others; 3 are needed." in shown


def test_hundreds_of_raters_fit_on_two_screens(tmp_path):
    people = {f"w{n:03}": 0.8 for n in range(150)} | {"lazy": 0.34}
    table = crowd(tmp_path / "a.csv", people, {"judge": 0.8}, items=750, per_item=8)
    found = agree(table, "--judge", "judge")["tasks"]["ratings"]
    assert len(found["raters"]) == 152
    assert len(found["pairs"]) > 5_000
    pair = found["pairs"][0]
    assert pair["agreement"].keys() == {"value", "n"}, "an interval for each would take minutes"
    for more in ((), ("--reference", "lazy")):
        shown = bowstring("agree", table, "--judge", "judge", *more).out
        assert len(shown.splitlines()) < 75
        assert "151 people: " in shown
        assert "--json has all raters" in shown
        if not more:
            lowest = shown.partition("lowest agreement with the other people")[2]
            assert lowest.splitlines()[1].split()[0] == "lazy"


def test_names_and_labels_that_look_alike_are_one(tmp_path):
    composed, decomposed = "Zo\u00eb", "Zoe\u0308"
    rows = [
        {"item": "1", "rater": composed, "label": "A"},
        {"item": "2", "rater": decomposed, "label": "\uff22\u200b"},
        {"item": "1", "rater": "bob", "label": "\uff21"},
        {"item": "2", "rater": "bob\u00a0", "label": "B"},
    ]
    found = agree(export(tmp_path / "a.jsonl", rows), "--reference", decomposed)["tasks"]["ratings"]
    assert list(found["raters"]) == [composed, "bob"]
    assert found["labels"] == ["A", "B"]
    assert found["agreement"]["value"] == 1.0
    assert found["reference"]["rater"] == composed
    again = {"item": "1", "rater": decomposed, "label": "B"}
    ran = bowstring("agree", export(tmp_path / "b.jsonl", [*rows, again]))
    assert ran.code == 2
    assert f"line 5: {composed} says 'B' of item 1, and 'A' in " in ran.err


def test_macro_f1_is_over_the_labels_of_the_task(tmp_path):
    (tmp_path / "a.csv").write_text(
        "item,rater,label,task\n1,a,win,compare\n1,b,win,compare\n2,a,lose,compare\n2,b,lose,compare\n"
    )
    found = agree(tmp_path / "a.csv", "--reference", "a")["tasks"]["compare"]
    assert found["labels"] == ["lose", "tie", "win"]
    assert found["reference"]["others"]["b"]["macro_f1"]["value"] == pytest.approx(2 / 3)
    assert found["notes"] == ["no rater gave tie, which counts as 0 in macro F1"]
    merged = agree(tmp_path / "a.csv", "--reference", "a", "--merge", "tie=lose")["tasks"]["compare"]
    assert (merged["labels"], merged["notes"]) == (["lose", "win"], [])
    assert merged["reference"]["others"]["b"]["macro_f1"]["value"] == 1.0
