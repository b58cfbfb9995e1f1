"""`bowstring compare --labels`: a judge that favours one of two equal models is corrected by people's labels."""

import csv
import json
import random
import shutil
from pathlib import Path
from unittest.mock import ANY

import pytest

import bowstring as package
from bowstring.benchmarks.hicupid.people import item_of
from bowstring.errors import UsageError
from bowstring.metrics.comparing import CorrectedDifference
from bowstring.studies.corrected_comparison import Contradiction
from tests.support.command import bowstring
from tests.support.run_files import without_sums

USERS = 40
VERDICTS = {"schedule": ("no", "yes")}


def model(messages):
    return "A good idea."


def label(record, good):
    return VERDICTS.get(record["type"], ("lose", "win"))[good]


def rewritten(source: Path, folder: Path, change) -> dict[str, dict]:
    """A copy of a run with changed records."""
    without_sums(shutil.copytree(source, folder))
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [change(json.loads(line)) for line in lines]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "records.jsonl").write_text(text, encoding="utf-8")
    return {record["key"]: record for record in records}


def judged(record, opening, longer, verdict):
    """The record with an answer that is longer than the gold answer by so many words, and another verdict; None is an
    unparsed verdict."""
    told = None if verdict is None else label(record, verdict)
    score = None if verdict is None else float(verdict)
    words = len(record["personalized_answer"].split()) - 1 + longer
    return record | {"answer": " ".join([opening, *["word"] * words]), "verdict": told, "score": score}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Runs `plain` and `charming`, whose answers are equally good. The judge passes every second bad answer of
    `charming`, and leaves a fifth of the bad answers of both unread. People have labelled half of the answers."""
    folder = tmp_path_factory.mktemp("labels")
    small = ("--users", str(USERS), "--dimensions", "4", "--turns", "1")
    assert bowstring("synth", "hicupid", "--offline", *small, "--out", "set", cwd=folder).code == 0
    package.evaluate("hicupid", data=str(folder / "set"), model=model, out=folder / "base")
    draw = random.Random(1)
    good: dict[str, bool] = {}
    rows = {"plain": [], "charming": []}
    for run, passed in (("plain", 0.0), ("charming", 0.5)):

        def change(record, run=run, passed=passed):
            right = good.setdefault(record["key"], draw.random() < 0.4)
            verdict = True if right else None if draw.random() < 0.2 else draw.random() < passed
            found = judged(record, run, draw.randint(-6, 8), verdict)
            task = "satisfaction" if record["type"] == "schedule" else "compare"
            if draw.random() < 0.5:
                rows[run].append((item_of(task, found), "ann", label(record, right)))
            return found

        rewritten(folder / "base", folder / run, change)
    write_labels(folder / "both.csv", rows["plain"] + rows["charming"])
    for run, own in rows.items():
        write_labels(folder / f"{run}.csv", own)
    return folder


def write_labels(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "rater", "label"), *rows])


def compared(made, *arguments):
    ran = bowstring("compare", made / "plain", made / "charming", *arguments, "--json", cwd=made)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_a_judge_that_favours_a_run_is_seen_through(made):
    found = compared(made, "--labels", "both.csv")
    plain, charming = (run["name"] for run in found["runs"])
    by_judge = found["differences"]["score.total"][charming]
    corrected = found["corrected"]["differences"]["score.total"][charming]
    assert by_judge["low"] > 5
    assert corrected["low"] < 0 < corrected["high"]
    assert corrected["p"] > 0.05
    assert found["corrected"]["too_few"] == {}
    scores = found["corrected"]["scores"]["score.total"]
    assert scores[charming]["corrected"]["value"] - scores[plain]["corrected"]["value"] == pytest.approx(
        corrected["value"]
    )
    assert scores[plain]["unread"] > 10
    contradicted = [one["metric"] for one in found["corrected"]["contradictions"]]
    assert "score.total" in contradicted


def test_labels_may_be_in_several_files_and_a_run_without_labels_is_named(made):
    both = compared(made, "--labels", "plain.csv", "--labels", "charming.csv")
    one_file = compared(made, "--labels", "both.csv")
    assert both["corrected"] | {"labels": ANY} == one_file["corrected"]
    alone = compared(made, "--labels", "plain.csv")
    plain, charming = (run["name"] for run in alone["runs"])
    assert alone["corrected"]["differences"] == {}
    assert alone["corrected"]["too_few"]["score.total"] == [charming]
    assert alone["corrected"]["scores"]["score.total"].keys() == {plain}
    shown = bowstring("compare", made / "plain", made / "charming", "--labels", "plain.csv", cwd=made)
    assert f"not corrected for {charming}: fewer than 10 labels for a part of the score." in " ".join(shown.out.split())


def test_the_terminal_and_the_page_show_both_differences(made):
    ran = bowstring(
        *("compare", made / "plain", made / "charming", "--labels", "both.csv", "--out", made / "c.html"), cwd=made
    )
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "(difference), by the judge and corrected" in said
    assert "the judge's difference is significant, the corrected one is not" in said
    assert "Items without a verdict are included." in said
    page = (made / "c.html").read_text(encoding="utf-8")
    assert "Corrected with people’s labels" in page
    assert "the judge&#39;s difference is significant, the corrected one is not" in page


def test_tables_say_it_too(made):
    arguments = ("compare", made / "plain", made / "charming", "--labels", "both.csv", "--format")
    rows = list(csv.DictReader(bowstring(*arguments, "csv", cwd=made).out.splitlines()))
    found = compared(made, "--labels", "both.csv")["corrected"]
    (row,) = (r for r in rows if (r["metric"], r["difference_value"] != "") == ("score.total (corrected)", True))
    assert float(row["value"]) == found["scores"]["score.total"][row["run"]]["corrected"]["value"]
    assert float(row["difference_p"]) == found["differences"]["score.total"][row["run"]]["p"]
    assert "the judge's difference is significant" in bowstring(*arguments, "markdown", cwd=made).out


def test_what_is_said_depends_on_both_differences():
    def difference(value, p):
        return CorrectedDifference(value, value - 1, value + 1, p, 0.5, 50, 40, p, 1, 0)

    for judge, labels, said in [
        ((9, 0.01), (3, 0.3), "the judge's difference is significant, the corrected one is not"),
        ((9, 0.01), (-3, 0.3), "the corrected one is not and has the opposite sign"),
        ((9, 0.01), (-9, 0.01), "both differences are significant, with opposite signs"),
        ((3, 0.3), (9, 0.01), "the corrected difference is significant, the judge's is not"),
    ]:
        one = Contradiction("score", "run", difference(*judge), difference(*labels))
        assert one.what.endswith(said)


def test_without_labels_nothing_is_corrected(made):
    found = compared(made)
    assert "corrected" not in found
    assert "by the judge and corrected" not in bowstring("compare", made / "plain", made / "charming", cwd=made).out


def test_from_python(made):
    runs = [made / "plain", made / "charming"]
    found = package.compare(runs, labels=made / "both.csv")
    assert found.corrected is not None
    assert package.compare(runs, labels=[str(made / "both.csv")]).corrected == found.corrected
    with pytest.raises(UsageError, match="no such file; expected a"):
        package.compare(runs, labels="nowhere.csv")
    with pytest.raises(UsageError, match="--labels 3: expected a path"):
        package.compare(runs, labels=[3])
    write_labels(made / "other.csv", [("compare/9/9/000000000000", "ann", "win")])
    with pytest.raises(UsageError, match="no label is for an item of"):
        package.compare(runs, labels=[made / "other.csv"])


def test_scores_at_equal_length_are_compared_too(made):
    found = compared(made)["length_controlled"]
    plain, charming = found["runs"]
    for run in (plain, charming):
        own = found["runs"][run]
        assert own["score"]["n"] == own["rate"]["n"]
    apart = found["differences"][charming]
    assert apart["value"] == pytest.approx(
        found["runs"][charming]["rate"]["value"] - found["runs"][plain]["rate"]["value"]
    )
    shown = bowstring("compare", made / "plain", made / "charming", cwd=made).out
    assert "Score of compared answers at equal length (0 to 100)" in shown
    assert f"from {plain} at equal length" in " ".join(shown.split())
    rewritten(made / "plain", made / "brief", lambda record: record | {"answer": "Yes."})
    brief = " ".join(bowstring("compare", made / "plain", made / "brief", cwd=made).out.split())
    assert "brief: no score at equal length: fewer than 5% of the answers are within" in brief
