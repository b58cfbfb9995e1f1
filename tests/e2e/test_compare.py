"""`bowstring compare`: real runs, compared by the real command; the page in a real browser."""

import csv
import io
import json
import shutil
import statistics
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

import bowstring as package
from tests.e2e.test_published_cupid import import_words
from tests.support.command import bowstring
from tests.support.run_files import without_sums

MODELS = """
import hashlib
from bowstring.benchmarks.loading import load_cupid, load_hicupid

# Two users may have the same question: the first message of the history tells them apart.
SET = load_hicupid("set")
KNOWN = {(SET.history(q.user_id)[0].messages[0].text, q.question): q for q in SET.questions()}
REQUESTS = {i.request: i for i in load_cupid("mini").instances}
BAD = "<script>document.title = 'owned'</script><img src=x onerror=\\"document.title='owned'\\"> \\u202eabc =1+1 "

def lot(text, name):
    return int(hashlib.sha256(f"{name}{text}".encode()).hexdigest()[:8], 16) / 2**32

def reply(messages, name, right):
    question = KNOWN[messages[1]["content"], messages[-1]["content"]]
    text = question.key
    known = (lot(text, "all") + lot(text, name)) / 2 < right
    return question.personalized_answer if known else question.general_answer

def weak(messages):
    return reply(messages, "weak", 0.35)

def twin(messages):
    return reply(messages, "twin", 0.36)

def strong(messages):
    return reply(messages, "strong", 0.65)

def hostile(messages):
    if lot(messages[-1]["content"], "fails") < 0.05:
        raise ValueError("no")
    return BAD + reply(messages, "hostile", 0.5)

def vague(messages):
    return "### Most Likely Preference\\nThe user wants clear and friendly answers."

def knowing(messages):
    text = messages[-1]["content"]
    found = next(i for request, i in REQUESTS.items() if request in text)
    return f"### Most Likely Preference\\n{found.preference}"

def mute(messages):
    text = messages[-1]["content"]
    return "I cannot say." if lot(text, "mute") < 0.3 else vague(messages)
"""


def evaluate(folder: Path, benchmark: str, model: str, out: str, **settings: Any) -> None:
    """A real run in this process; the test is about the comparison."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        package.evaluate(benchmark, model=f"python:compared_models:{model}", out=out, **settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A set of 36 users and runs on it; and runs on CUPID's mini set."""
    folder = tmp_path_factory.mktemp("compare")
    small = ("--users", "36", "--dimensions", "4", "--turns", "1")
    assert bowstring("synth", "hicupid", "--offline", *small, "--out", "set", cwd=folder).code == 0
    (folder / "compared_models.py").write_text(MODELS, encoding="utf-8")
    for model in ("weak", "twin", "strong", "hostile"):
        evaluate(folder, "hicupid", model, f"runs/{model}", data="set", judge="truth")
    evaluate(folder, "hicupid", "weak", "runs/builtin", data="set")
    evaluate(folder, "hicupid", "strong", "runs/some", data="set", judge="truth", limit=50)
    evaluate(folder, "hicupid", "strong", "runs/test_2", data="set", judge="truth", splits="test_2")
    for model in ("vague", "knowing", "mute"):
        evaluate(folder, "cupid", model, f"runs/{model}")
    evaluate(folder, "cupid", "vague", "runs/published", protocol="published", prompts=import_words(folder))
    return folder


def compare(made: Path, *arguments: str | Path):
    return bowstring("compare", *arguments, cwd=made)


def compared(made: Path, *arguments: str | Path) -> dict:
    ran = compare(made, *arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def metrics(made: Path, run: str) -> dict:
    return json.loads((made / "runs" / run / "metrics.json").read_text(encoding="utf-8"))


def records(made: Path, run: str) -> dict[str, dict]:
    with (made / "runs" / run / "records.jsonl").open(encoding="utf-8", newline="\n") as file:
        return {r["key"]: r for r in map(json.loads, file)}


@pytest.mark.parametrize("runs", [("weak", "strong", "hostile"), ("vague", "knowing", "mute")])
def test_each_runs_own_numbers_are_those_of_its_metrics_json(made, runs):
    found = compared(made, *(f"runs/{run}" for run in runs))
    assert [run["name"] for run in found["runs"]] == list(runs)
    for run in runs:
        own = metrics(made, run)
        here = {name: values[run] for name, values in found["metrics"].items() if run in values}
        expected = {n: e for n, e in own["metrics"].items() if n != "inference_generation.correlation"}
        assert here.keys() == expected.keys()
        for name, e in here.items():
            shared = {one["n"] for other, one in found["metrics"][name].items() if other in runs}
            lacking = any(metrics(made, other)["metrics"][name]["missing"]["items"] for other in runs)
            assert lacking or e | {"missing": expected[name]["missing"]} == expected[name]
            assert lacking or shared == {e["n"]}
        (listed,) = (r for r in found["runs"] if r["name"] == run)
        assert (listed["n"], listed["failed"], listed["unparsed"]) == (own["n"], own["failed"], own["unparsed"])


def test_groups_are_those_of_the_runs(made):
    found = compared(made, "runs/weak", "runs/strong")
    for run in ("weak", "strong"):
        groups = metrics(made, run)["groups"]
        assert list(found["groups"]) == list(groups)
        for axis, members in found["groups"].items():
            assert list(members) == list(groups[axis])
            for group, told in members.items():
                for metric, values in told.items():
                    difference = values[run].pop("difference")
                    assert values[run] | {"missing": ANY} == groups[axis][group][metric]
                    assert (difference is None) == (run == "weak")
    assert list(found["groups"]["type"]["schedule"]) == ["score.schedule"]


def test_a_difference_is_that_of_the_items_that_both_were_scored_on(made):
    found = compared(made, "runs/weak", "runs/hostile")
    weak, hostile = records(made, "weak"), records(made, "hostile")
    failed = {key for key, r in hostile.items() if "failure" in r}
    assert failed
    both = [key for key in weak if key not in failed]
    total = found["differences"]["score.total"]["hostile"]
    assert (total["n"], total["left_out"]) == (len(both), len(failed))
    means = []
    for run in (weak, hostile):
        by_type = {
            t: [run[k]["score"] for k in both if run[k]["type"] == t] for t in ("persona", "profile", "schedule")
        }
        mean = {t: sum(values) / len(values) for t, values in by_type.items()}
        means.append(100 * (25 * mean["persona"] + 5 * mean["profile"] + 5 * mean["schedule"]) / 40)
    assert total["value"] == pytest.approx(means[1] - means[0])
    assert any(f"hostile: {len(failed)} failed" in note for note in found["notes"])


def test_runs_that_differ_are_told_apart_and_those_that_do_not_are_not(made):
    found = compared(made, "runs/weak", "runs/twin", "runs/strong")
    twin, strong = (found["differences"]["score.total"][name] for name in ("twin", "strong"))
    assert strong["low"] > 0
    assert strong["p"] <= strong["corrected"] < 0.05
    assert strong["trusted"]
    assert strong["clusters"] == 36
    assert twin["low"] < 0 < twin["high"]
    assert twin["corrected"] > 0.05
    assert found["ranks"]["strong"] == {"place": 1, "best": 1, "worst": 1}
    for run in ("weak", "twin"):
        assert (found["ranks"][run]["best"], found["ranks"][run]["worst"]) == (2, 3)


def test_the_baseline_can_be_another_and_turns_the_signs(made):
    first = compared(made, "runs/weak", "runs/strong")
    turned = compared(made, "runs/weak", "runs/strong", "--baseline", "runs/strong")
    outside = compared(made, "runs/weak", "--baseline", "runs/strong")
    a = first["differences"]["score.total"]["strong"]
    for other in (turned, outside):
        assert other["baseline"] == "strong"
        b = other["differences"]["score.total"]["weak"]
        assert (b["value"], b["low"], b["high"]) == pytest.approx((-a["value"], -a["high"], -a["low"]))


def test_the_table_is_read_in_a_terminal(made):
    ran = compare(made, "runs/weak", "runs/twin", "runs/strong", "--detect", "2.5")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[1].startswith("set (synthetic) · splits "), "what the scores are of comes first"
    assert sum(line.split() == ["weak", "twin", "strong"] for line in lines) == 1
    for metric in ("score.total", "score.persona", "score.profile", "score.schedule", "tie", "lose", "bleu"):
        assert sum(line.startswith(f"{metric} ") for line in lines) == 3, "side by side, and two differences"
    assert "strong − weak (difference)" in ran.out
    assert "1 strong" in ran.out
    assert "detecting a difference of 2.5 needs about" in " ".join(ran.out.split())
    assert "\x1b" not in ran.out


def test_power_says_how_many_users_would_be_needed(made):
    found = compared(made, "runs/weak", "runs/strong", "--detect", "2.5")
    total = found["differences"]["score.total"]["strong"]
    asked = found["power"]["strong"]
    assert asked["apart"] == 2.5
    assert asked["clusters"] == pytest.approx(36 * (2.8016 * total["error"] / 2.5) ** 2, rel=0.01, abs=2.1)
    assert asked["items"] == pytest.approx(asked["clusters"] * total["n"] / 36, abs=1.1)
    assert asked["clusters"] > 36
    assert compared(made, "runs/weak", "runs/strong")["power"] == {}, "of the difference that was found, p says it all"


@pytest.mark.parametrize(
    ("others", "least", "why"), [(1, 6, ""), (2, 7, " for p < 0.05 after Holm correction for 2 comparisons")]
)
def test_too_few_personas_are_told_that_they_show_nothing(made, others, least, why):
    runs = ("runs/vague", "runs/knowing", "runs/mute")[: others + 1]
    found = compared(made, *runs)
    known = found["differences"]["inference.f1"]["knowing"]
    assert (known["clusters"], known["detectable"], known["least_clusters"]) == (4, None, least)
    assert compared(made, *runs, "--detect", "1")["power"]["knowing"]["clusters"] >= least
    ran = compare(made, *runs, "--out", "pages/few.html")
    said = f"with 4 personas no difference can be detected; at least {least} are needed{why}."
    assert said in " ".join(ran.out.split())
    assert "suffice" not in ran.out
    page = (made / "pages" / "few.html").read_text(encoding="utf-8")
    assert said.replace("<", "&lt;") in page
    assert "suffice" not in page


def test_runs_on_other_items_are_compared_on_those_they_share(made):
    found = compared(made, "runs/weak", "runs/some")
    assert found["items"] == 50
    assert found["differences"]["bleu"]["strong"]["n"] == 50
    assert any("compared on the 50 items that all runs have" in note for note in found["notes"])
    assert all(e["n"] <= 50 for e in found["metrics"]["bleu"].values())
    assert not any("that all runs have" in note for note in compared(made, "runs/weak", "runs/twin")["notes"])


def test_other_splits_of_one_set_are_compared_and_it_says_what_was_not_checked(made):
    found = compared(made, "runs/weak", "runs/test_2")
    assert found["items"] == len(records(made, "test_2")) < len(records(made, "weak"))
    assert any("different splits" in note for note in found["notes"])
    assert [run["name"] for run in found["runs"]] == ["weak, all splits", "strong, test_2"]


def test_other_splits_with_other_items_of_the_same_keys_are_not_compared(made, tmp_path):
    changed = without_sums(shutil.copytree(made / "runs" / "test_2", tmp_path / "changed"))
    lines = (changed / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    lines[0] = json.dumps(json.loads(lines[0]) | {"question": "Another one?"}) + "\n"
    (changed / "records.jsonl").write_text("".join(lines), encoding="utf-8")
    ran = compare(made, "runs/weak", changed)
    assert ran.code == 2
    assert "their data differs: set (" in ran.err


def test_other_judges_are_a_note_not_an_error(made):
    found = compared(made, "runs/weak", "runs/builtin")
    assert [run["name"] for run in found["runs"]] == ["judge truth", "judge builtin"]
    assert any("different judges" in note and "not comparable" in note for note in found["notes"])
    assert found["differences"]["bleu"]["judge builtin"]["value"] == 0
    assert found["differences"]["bleu"]["judge builtin"]["p"] == 1


def test_cupid_is_compared_by_personas_and_says_what_could_not_be_read(made):
    found = compared(made, "runs/vague", "runs/knowing", "runs/mute")
    assert found["metric"] == "inference.f1"
    better = found["differences"]["inference.f1"]["knowing"]
    assert better["value"] > 0
    unread = [r for r in records(made, "mute").values() if "unparsed" in r["inference"]]
    assert (better["n"], better["clusters"], better["trusted"]) == (12 - len(unread), 4, False)
    assert better["p"] >= 1 / 8, "four personas cannot be sure"
    read = f"inference.f1: {12 - len(unread)} of 12 items have a score in all runs (mute lacks {len(unread)})"
    assert read in found["notes"]
    lacking = found["differences"]["inference.f1"]["mute"]
    assert unread
    assert (lacking["n"], lacking["left_out"]) == (12 - len(unread), len(unread))
    assert "inference.precision" in found["differences"]
    assert "generation.score" in found["differences"]


def test_cupid_inference_and_generation_are_correlated_across_runs(made):
    runs = ("runs/vague", "runs/knowing", "runs/mute")
    found = compared(made, *runs)
    (across,) = found["correlations"]
    names = [run["name"] for run in found["runs"]]
    x, y = (
        [found["metrics"][metric][name]["value"] for name in names] for metric in (across["first"], across["second"])
    )
    assert (across["first"], across["second"], across["runs"]) == ("inference.f1", "generation.score", 3)
    assert across["value"] == pytest.approx(statistics.correlation(x, y))
    assert across["interval"] is None, "three runs"
    said = (
        f"Correlation of inference.f1 and generation.score across 3 runs: {across['value']:.2f} (Pearson; no interval"
    )
    assert said in " ".join(compare(made, *runs).out.split())
    assert said in " ".join(compare(made, *runs, "--format", "markdown").out.split())
    compare(made, *runs, "--out", "pages/correlated.html")
    assert said in (made / "pages" / "correlated.html").read_text(encoding="utf-8")
    assert compared(made, *runs[:2])["correlations"] == [], "two runs lie on a line"
    assert compared(made, "runs/weak", "runs/twin", "runs/strong")["correlations"] == [], "no such metrics"


def test_a_sweep_stands_for_its_runs(made):
    ran = bowstring(
        *("eval", "hicupid", "--retrieval-only", "--data", "set", "--out", "sweep"),
        *("--history", "bm25/dialogue/1", "--history", "bm25/dialogue/5"),
        cwd=made,
    )
    assert ran.code == 0, ran.err
    found = compared(made, "sweep")
    assert [run["name"] for run in found["runs"]] == ["bm25/dialogue/1", "bm25/dialogue/5"]
    assert found["metric"] == "recall.total"
    assert found["differences"]["recall.total"]["bm25/dialogue/5"]["value"] > 0


def test_items_that_differ_most_come_with_both_answers_and_verdicts(made):
    weak, strong = records(made, "weak"), records(made, "strong")
    widest = max(abs(weak[k]["score"] - strong[k]["score"]) for k in weak)
    found = compared(made, "runs/weak", "runs/strong", "--items", "4")["examples"]
    assert len(found) == 4
    for example in found:
        key = example["key"]
        assert abs(weak[key]["score"] - strong[key]["score"]) == widest == example["apart"]
        for name, own in (("weak", weak), ("strong", strong)):
            told = example["answers"][name]
            assert (told["answer"], told["verdict"]) == (own[key]["answer"], own[key]["verdict"])
            assert told["judgement"] == own[key]["judgement"]
    shown = compare(made, "runs/weak", "runs/strong", "--items", "4")
    for example in found:
        assert example["question"].split()[0] in shown.out
        assert example["key"] in shown.out
    assert not compared(made, "runs/weak", "runs/strong")["examples"]


def test_another_metric_can_rank(made):
    found = compared(made, "runs/weak", "runs/strong", "--metric", "lose", "--items", "1")
    assert found["metric"] == "lose"
    assert list(found["ranks"]) == ["strong", "weak"], "who loses less is ahead"
    assert found["differences"]["lose"]["strong"]["value"] < 0
    assert found["ranks"]["strong"]["worst"] == 1


def test_a_stopped_run_has_the_items_it_reached(made, tmp_path):
    without_sums(shutil.copytree(made / "runs" / "strong", tmp_path / "stopped"))
    lines = (tmp_path / "stopped" / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "stopped" / "records.jsonl").write_text("".join(lines[:30]), encoding="utf-8")
    _rewrite(tmp_path / "stopped", status="stopped")
    assert compared(made, "runs/weak", tmp_path / "stopped")["items"] == 30


def test_only_records_are_needed(made, tmp_path):
    bare = without_sums(shutil.copytree(made / "runs" / "strong", tmp_path / "bare"))
    (bare / "metrics.json").unlink()
    whole, found = (compared(made, "runs/weak", run) for run in ("runs/strong", bare))
    assert found["differences"] == whole["differences"]


def _rewrite(folder: Path, *, status: str | None = None, fingerprint: str | None = None) -> None:
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    manifest["status"] = status or manifest["status"]
    manifest["config"]["data"]["fingerprint"] = fingerprint or manifest["config"]["data"]["fingerprint"]
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs/weak"], "one run to compare"),
        (["runs/weak", "runs/../runs/weak"], "one run to compare"),
        (["runs/weak", "runs/vague"], "their benchmark differs: hicupid and cupid"),
        (["runs/vague", "runs/published"], "their --protocol differs: bowstring and published"),
        (["runs/weak", "runs/nowhere"], "runs/nowhere is not a run"),
        (["runs/weak", "set"], "set is not a run"),
        (["runs/weak", "runs/strong", "--baseline", "nowhere"], "nowhere is not a run"),
        (["runs/weak", "runs/strong", "--metric", "charm"], "--metric charm: not a metric of all runs"),
        (["runs/weak", "runs/strong", "--detect", "0"], "--detect 0: expected a difference above 0"),
        (["runs/weak", "runs/strong", "--detect", "nan"], "--detect nan"),
        (["runs/weak", "runs/strong", "--out", "page"], "--out page: expected a file"),
        (["runs/weak", "runs/strong", "--json", "--format", "csv"], "exclude each other"),
        (["runs/weak", "runs/strong", "--format", "word"], "--format word: expected markdown, csv or latex"),
        ([], "Missing argument 'RUN…'"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_line(made, arguments, said):
    ran = compare(made, *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""


def test_runs_of_other_data_or_still_running_are_refused(made, tmp_path):
    (tmp_path / "sweep.json").write_text("{", encoding="utf-8")
    ran = compare(made, "runs/weak", tmp_path)
    assert ran.code == 2
    assert "sweep.json cannot be read" in ran.err
    for name in ("other", "running", "empty", "elsewhere"):
        without_sums(shutil.copytree(made / "runs" / "strong", tmp_path / name))
    _rewrite(tmp_path / "other", fingerprint="f" * 64)
    ran = compare(made, "runs/weak", tmp_path / "other")
    assert ran.code == 2
    assert "their data differs: set (" in ran.err
    assert "(ffffffff)" in ran.err
    _rewrite(tmp_path / "running", status="running")
    ran = compare(made, "runs/weak", tmp_path / "running")
    assert ran.code == 2
    assert "has not ended" in ran.err
    (tmp_path / "empty" / "records.jsonl").unlink()
    ran = compare(made, "runs/weak", tmp_path / "empty")
    assert ran.code == 2
    assert "records.jsonl cannot be read: No such file" in ran.err
    (tmp_path / "elsewhere" / "records.jsonl").write_text("", encoding="utf-8")
    ran = compare(made, "runs/weak", tmp_path / "elsewhere")
    assert ran.code == 2
    assert "have no item in common" in ran.err


def test_tables_for_papers(made):
    runs = ("runs/weak", "runs/strong", "runs/hostile")
    own = metrics(made, "strong")["metrics"]["score.total"]
    value = f"{own['value']:.1f}"
    markdown = compare(made, *runs, "--format", "markdown").out.splitlines()
    assert markdown[0].startswith("| run | score.total |")
    assert len({line.count("|") for line in markdown[:5]}) == 1
    own = compared(made, *runs)["metrics"]["score.total"]["strong"]
    value = f"{own['value']:.1f}"
    assert f"| strong | {value}▲ [{own['low']:.1f}, {own['high']:.1f}] |" in markdown[3]
    differs = "better and ▼ worse than weak, p < 0.05 by a paired t-test, corrected for the number of runs (Holm)."
    assert f"▲ {differs}".replace("<", "\\<") in markdown
    latex = compare(made, *runs, "--format", "latex").out
    assert "rouge\\_l" in latex
    assert f"strong & {value}$^{{\\uparrow}}$ &" in latex
    differs = differs.replace("▼", r"$\downarrow$")
    assert (
        f"$\\uparrow$ {differs}\\par".replace("<", "\\textless{}") in latex.partition("\\end{tabular}")[2].splitlines()
    )
    few = sum(not e["trusted"] for name in compared(made, *runs)["metrics"].values() for e in name.values())
    assert latex.count("]*}") == "".join(markdown).count("]\\* |") == few > 0, "a star is for few users, nothing else"
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1
    rows = list(csv.DictReader(io.StringIO(compare(made, *runs, "--format", "csv").out)))
    (row,) = (r for r in rows if (r["run"], r["metric"]) == ("strong", "score.total"))
    assert float(row["value"]) == own["value"]
    found = compared(made, *runs)["differences"]["score.total"]["strong"]
    assert float(row["difference_corrected"]) == found["corrected"]


def test_a_star_means_few_clusters_and_nothing_else(made):
    """The terminal, every table and the page say that four personas are too few to detect a difference."""
    runs = ("runs/vague", "runs/knowing")
    own = compared(made, *runs)["metrics"]["inference.f1"]["knowing"]
    interval = f"[{own['low']:.1f}, {own['high']:.1f}]"
    few = "* fewer than 30 personas: do not trust the interval."
    plain, markdown, latex = (
        compare(made, *runs, *form).out for form in ((), ("--format", "markdown"), ("--format", "latex"))
    )
    assert f"{interval}*" in plain
    assert few in " ".join(plain.split())
    assert f"{own['value']:.1f} {interval}\\* |" in markdown
    assert f"\\{few}" in markdown.splitlines()
    assert f"{{\\scriptsize {interval}*}}" in latex
    assert f"{few}\\par" in latex.partition("\\end{tabular}")[2].splitlines()
    assert "▲" not in markdown
    assert "uparrow" not in latex


def test_what_to_keep_in_mind_is_under_the_tables_and_on_the_page(made, browser):
    runs = ("runs/builtin", "runs/hostile")
    builtin = "judged by builtin, which compares words: a smoke test, not a measurement"
    notes = compared(made, *runs)["notes"]
    assert any(note.endswith(builtin) for note in notes)
    assert any("failed and 0 unparsed" in note and " 0 failed" not in note for note in notes)
    assert any("the generator's ground truth" in note for note in notes)
    markdown = compare(made, *runs, "--format", "markdown").out.splitlines()
    latex = compare(made, *runs, "--format", "latex").out.partition("\\end{tabular}")[2].splitlines()
    assert [line.startswith("Note: ") for line in markdown].count(True) == len(notes)
    assert [line.startswith("Note: ") for line in latex].count(True) == len(notes)
    for note in notes:
        assert f"Note: {note}." in markdown
        assert f"Note: {note}.\\par" in latex
    compare(made, *runs, "--out", "pages/notes.html")
    page = browser.new_page()
    page.goto((made / "pages" / "notes.html").as_uri())
    assert page.locator("p.note:not(.about)").all_inner_texts() == notes
    assert [said.partition(":")[0] for said in page.locator("p.about").all_inner_texts()] == [
        "Not the HiCUPID benchmark"
    ]
    page.close()


def test_names_cannot_break_out_of_a_table(made, tmp_path):
    for n, name in enumerate(("=1+1 & | <b>_50%", "@sum\u202e")):
        without_sums(shutil.copytree(made / "runs" / ("weak", "strong")[n], tmp_path / str(n)))
        manifest = json.loads((tmp_path / str(n) / "run.json").read_text(encoding="utf-8"))
        manifest["config"]["model"] = name
        (tmp_path / str(n) / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    runs = (tmp_path / "0", tmp_path / "1")
    rows = list(csv.DictReader(io.StringIO(compare(made, *runs, "--format", "csv").out)))
    assert {row["run"] for row in rows} == {"'=1+1 & | <b>_50%", "'@sum\\u202e"}
    latex = compare(made, *runs, "--format", "latex").out
    assert "=1+1 \\& \\textbar{} \\textless{}b\\textgreater{}\\_50\\%" in latex
    markdown = compare(made, *runs, "--format", "markdown").out.splitlines()
    assert markdown[2].startswith("| =1+1 & \\| \\<b\\>\\_50% |")
    assert "\u202e" not in compare(made, *runs).out


def test_the_page_shows_everything_and_obeys_nothing(made, browser):
    runs = ("runs/weak", "runs/strong", "runs/hostile")
    ran = compare(made, *runs, "--out", "pages/compare.html", "--items", "6")
    assert ran.code == 0, ran.err
    assert ran.out.endswith("\npages/compare.html\n")
    found = compared(made, *runs, "--items", "6")
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto((made / "pages" / "compare.html").as_uri())
    assert page.title() == "HiCUPID: 3 runs compared"
    assert len(asked) == 1, "the page is one file"
    assert said == []
    ranking = page.locator("#ranking + .scroll tr")
    assert [cell.strip() for cell in ranking.nth(1).locator("td, th").all_inner_texts()[:2]] == ["1", "strong"]
    assert page.locator("#pairs + .scroll td.good").count() >= 1
    assert page.locator("#pairs + .scroll td.good").count() == page.locator("#pairs + .scroll td.bad").count()
    assert page.locator("#metrics + .scroll tr").count() == 1 + len(found["metrics"])
    assert page.locator("details > summary[id^=by-]").all_inner_texts() == [f"By {axis}" for axis in found["groups"]]
    assert page.locator(".answers").count() == 6
    hostile = found["examples"][0]["answers"]["hostile"]["answer"]
    assert "<script>" in hostile
    assert hostile.replace("\u202e", "\\u202e") in page.locator(".answers section p").nth(2).text_content()
    assert page.locator("script, img").count() == 0
    assert "\u202e" not in page.content()
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
def test_the_page_fits_its_window_and_tables_can_be_scrolled_by_keyboard(made, browser, width, scheme):
    compare(made, "runs/weak", "runs/strong", "runs/hostile", "runs/twin", "--out", "pages/four.html")
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((made / "pages" / "four.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for region in page.locator(".scroll").all():
        assert region.get_attribute("tabindex") == "0"
        assert page.locator(f"#{region.get_attribute('aria-labelledby')}").count() == 1
    page.close()


def test_the_same_comparison_is_the_same_page(made):
    pages = []
    for _ in range(2):
        compare(made, "runs/vague", "runs/knowing", "--out", "pages/twice.html")
        pages.append((made / "pages" / "twice.html").read_bytes())
    assert pages[0] == pages[1]


def test_in_python_it_is_a_call(made, monkeypatch):
    monkeypatch.chdir(made)
    found = package.compare(["runs/weak", Path("runs/strong")], items=1)
    assert found.baseline == "weak"
    assert found.differences["score.total"]["strong"].value > 0
    assert found.between("strong", "weak").value == -found.between("weak", "strong").value
    ran = package.evaluate("cupid", model="python:compared_models:vague", limit=3, out=made / "runs" / "api")
    other = package.compare([ran, "runs/knowing"])
    assert other.items == 3
    with pytest.raises(package.BowstringError, match="one run to compare"):
        package.compare([ran])


def test_a_run_that_fails_on_hard_items_is_not_ranked_first(made):
    """Worse on every kind of question, but with answers to the easy ones alone."""
    by_key = records(made, "strong")
    easy = {key for key, r in by_key.items() if r["score"]}
    picky = made / "runs" / "picky"
    shutil.copytree(made / "runs" / "weak", picky, dirs_exist_ok=True)
    lines = []
    for key, record in records(made, "weak").items():
        if key in easy:
            lines.append(record)
        else:
            failed = {"stage": "answer", "kind": "server", "reason": "500"}
            kept = {k: v for k, v in record.items() if k not in ("score", "verdict", "judgement", "bleu", "rouge_l")}
            lines.append(kept | {"failure": failed})
    (picky / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = json.loads((picky / "run.json").read_text())
    manifest.pop("files")
    manifest.pop("sum")
    (picky / "run.json").write_text(json.dumps(manifest))
    found = compared(made, "runs/picky", "runs/strong")
    assert list(found["ranks"]) == ["strong", "weak"], "runs are called by their models"
    for rank in found["ranks"].values():
        assert rank["best"] <= rank["place"] <= rank["worst"]
    values = {name: e["value"] for name, e in found["metrics"]["score.total"].items()}
    difference = found["differences"]["score.total"]["strong"]["value"]
    assert difference == pytest.approx(values["strong"] - values["weak"]), "the table and the difference agree"
