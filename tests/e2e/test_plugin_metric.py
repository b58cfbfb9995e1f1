"""A third-party benchmark with a metric of its own: every command uses its scale, decimals and direction."""

import json
import re

import pytest

from bowstring.benchmarks import registry
from bowstring.benchmarks.loading import load
from tests.support.command import bowstring
from tests.support.errands import errands_installed, write_sets
from tests.support.plugin import MODELS, installed

LOWER = "Lower is better: slips."


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data, models and two runs of each benchmark."""
    folder = tmp_path_factory.mktemp("place")
    write_sets(folder)
    (folder / "models.py").write_text(MODELS)
    with errands_installed(folder / "site"):
        for name in ("errands", "chores"):
            for model in ("knows", "forgets"):
                ran = evaluated(folder, name, model, "--out", f"{name}-runs/{model}")
                assert ran.code == 0, ran.err
    return folder


def evaluated(folder, name, model, *more):
    data = ("--data", name, "--model", f"python:models:{model}", "--judge", "python:models:judge")
    return bowstring("eval", name, *data, *more, cwd=folder)


@pytest.fixture
def run(place):
    with errands_installed(place / "site"):
        yield lambda *arguments: bowstring(*arguments, cwd=place)


def test_the_terminal_and_the_pages_say_that_lower_is_better(run, place):
    assert LOWER in evaluated(place, "errands", "knows", "--out", "errands-runs/knows").out
    views = ("--history", "none", "--history", "full", "--out", "errands-runs/sweep")
    assert LOWER in " ".join(evaluated(place, "errands", "knows", *views).out.split())
    assert LOWER in (place / "errands-runs" / "sweep" / "report.html").read_text()
    compared = run("compare", "errands-runs/knows", "errands-runs/forgets", "--out", "compare.html")
    assert LOWER in " ".join(compared.out.split())
    assert LOWER in (place / "compare.html").read_text()


def test_figures_have_the_decimals_of_the_metric(place):
    page = (place / "errands-runs" / "knows" / "report.html").read_text()
    (shown,) = set(re.findall(r"<title>slips: (.*?), n", page))
    assert re.fullmatch(r"0\.00 \(0\.00 to \d\.\d\d\)", shown)


def test_the_help_names_only_what_the_benchmark_has(run):
    helped = " ".join(run("eval", "errands", "--help").out.split())
    assert "truth" not in helped
    assert "default: mini" not in helped
    assert "or mini" not in helped
    assert "summary" not in helped
    assert "builtin needs no model" in helped
    hicupid = " ".join(run("eval", "hicupid", "--help").out.split())
    assert "truth is for sets made by synth --offline" in hicupid
    assert "[default: mini]" in hicupid


def test_an_audit_is_in_the_metric_of_the_benchmark(run, place):
    ran = run("audit", "errands-runs/knows", "--second-judge", "builtin", "--json")
    findings = {f["name"]: f for f in json.loads(ran.out)["findings"]}
    gold = findings["gold answer in place of the model's, slips 0–7, lower is better"]
    assert (gold["value"], gold["expected"], gold["places"]) == (0.0, "0.35 or less", 2)
    guessed = findings["model without the history, slips 0–7, lower is better"]
    assert guessed["value"] == 7.0
    gain = next(f for name, f in findings.items() if name.startswith("model − itself"))
    assert (gain["value"], gain["expected"], gain["verdict"]) == (-7.0, "below 0", "fine")
    wrong = next(f for f in findings.values() if f["name"].startswith("answer to another question,"))
    assert (wrong["value"], wrong["expected"]) == (7.0, "6.3 or more")
    assert "correct (" not in ran.out
    assert run("audit", "errands-runs/knows").out.startswith("Errands: ")


def test_an_audit_finds_a_judge_that_accepts_everything(run, place):
    (place / "lenient.py").write_text("def judge(messages):\n    return 'Correct: YES'\n")
    ran = run("audit", "errands-runs/forgets", "--judge", "python:lenient:judge", "--json")
    findings = json.loads(ran.out)["findings"]
    wrong = next(f for f in findings if f["name"].startswith("answer to another question,"))
    assert (wrong["value"], wrong["verdict"]) == (0.0, "problem")


def test_labels_correct_the_metric_of_the_benchmark(run, place):
    people = registry.get("errands").people()
    records = [json.loads(line) for line in (place / "errands-runs/knows/records.jsonl").read_text().splitlines()]
    rows = [
        {"item": people.item(r), "rater": rater, "label": "no", "task": "verdict", "gold": n < 2}
        for n, r in enumerate(records)
        for rater in ("anna", "ben")
    ]
    (place / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("audit", "errands-runs/knows", "--checks", "length", "--labels", "people.jsonl", "--json")
    assert ran.err == "", "nothing is asked, so there is no progress"
    corrected = json.loads(ran.out)["corrected"]
    assert list(corrected["scores"]) == ["slips"]
    assert corrected["scores"]["slips"]["judge"]["value"] == 0.0
    assert corrected["scores"]["slips"]["corrected"]["value"] == 7.0
    assert corrected["left_out"] == {"of gold checks (left out)": 4}, "of both raters"


def test_a_benchmark_without_gold_answers_and_audit_is_not_told_of_them(run, place):
    compared = run("compare", "chores-runs/knows", "chores-runs/forgets", "--items", "1", "--out", "chores.html")
    assert "question" in compared.out
    assert "gold" not in compared.out
    assert "<dt>gold</dt>" not in (place / "chores.html").read_text()
    assert "bowstring audit" not in (place / "chores-runs" / "knows" / "report.html").read_text()
    assert evaluated(place, "errands", "knows", "--out", "errands-runs/unaudited").code == 0
    page = (place / "errands-runs" / "unaudited" / "report.html").read_text()
    assert "bowstring audit" in page
    assert "checks that need no model" not in page, "it has none of these"


def test_one_of_several_splits_in_a_file_is_evaluated(run, place):
    ran = evaluated(place, "errands", "knows", "--split", "autumn", "--out", "errands-runs/autumn", "--json")
    assert json.loads(ran.out)["n"] == 6
    loaded = load(str(place / "errands"), splits=["autumn"])
    assert (loaded.splits, len(loaded.items())) == (("autumn",), 6)
    refused = evaluated(place, "errands", "knows", "--split", "winter", "--out", "errands-runs/winter")
    assert refused.err == "errands has no split 'winter'; it has spring or autumn\n"


def test_agree_does_not_advise_metrics_that_the_benchmark_does_not_have(run):
    assert run("agree", "errands-runs/knows").err.endswith("add another run or a file of ratings\n")


def test_like_a_run_whose_data_was_moved_names_the_option(run, place):
    ran = evaluated(place, "errands", "knows", "--out", "errands-runs/moved")
    assert ran.code == 0, ran.err
    (place / "errands").rename(place / "elsewhere")
    try:
        like = (
            "eval",
            "--like",
            "errands-runs/moved",
            "--model",
            "python:models:forgets",
            "--out",
            "errands-runs/like",
        )
        refused = run(*like)
        assert refused.err == ("errands, the data of errands-runs/moved, is not there; give its location with --data\n")
        assert run(*like, "--data", "elsewhere").code == 0
    finally:
        (place / "elsewhere").rename(place / "errands")


def test_data_of_a_benchmark_that_cannot_be_loaded(place, tmp_path):
    about = tmp_path / "broken-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[bowstring.benchmarks]\nerrands = no_such_package:ERRANDS\n")
    with installed(tmp_path):
        ran = bowstring("data", "info", "errands", cwd=place)
    reason, problem = ran.err.splitlines()
    assert reason.startswith("the benchmark errands (no_such_package:ERRANDS) cannot be loaded: ModuleNotFoundError")
    assert problem.startswith("errands.json")


def test_a_package_cannot_replace_a_benchmark_of_ours(tmp_path):
    about = tmp_path / "false-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: false\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[bowstring.benchmarks]\ncupid = another:CUPID\n")
    with installed(tmp_path):
        ran = bowstring("data", "info", "mini/cupid", "--tokenizer", "none", cwd=tmp_path)
    assert ran.code == 0
    assert ran.err == "The benchmark cupid (another:CUPID) is ignored: Bowstring has one of this name.\n"
