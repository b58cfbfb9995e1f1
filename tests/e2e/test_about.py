"""No number without its name: what a score is of stands wherever it is shown."""

import csv
import json
import shutil
from html import unescape
from pathlib import Path

import pytest

from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load
from tests.datasets.test_cupid import write_raw
from tests.e2e.test_eval import metrics
from tests.e2e.test_eval_hicupid import UPSTREAM
from tests.support.command import Ran, bowstring
from tests.support.hub import COMMIT, OLDER, Hub, files_below
from tests.support.run_files import without_sums
from tests.support.server import Server
from tests.support.sets import write_cupid, write_hicupid
from tests.support.viewer import Viewer

MODELS = """
def answer(messages):
    return "### Most Likely Preference\\nKeep it short, in plain words."

def other(messages):
    return "### Most Likely Preference\\nA long letter with every detail."
"""
UNCOMPARABLE = "Scores on it cannot be compared with published ones."
MINI = (
    f"Not the HiCUPID benchmark: mini/hicupid is a small set bundled with Bowstring for trying it out. {UNCOMPARABLE}"
)
SWEEP = ("--data", "made", "--history", "none", "--history", "gold", "--out", "runs/sweep")
OLD = MINI.replace("mini/hicupid", "mini")  # runs of earlier versions have only the name that was given
SEARCH = ("--retrieval-only", "--history", "bm25/utterance/5")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("about")
    (folder / "models.py").write_text(MODELS)
    write_hicupid(folder / "made", users=6)
    write_cupid(folder / "whole", personas=252)
    export(load("mini/cupid"), folder / "small")
    export(load("mini/hicupid"), folder / "exported")
    run(folder, "hicupid", *SWEEP)
    run(folder, "hicupid", "--out", "runs/both")
    run(folder, "hicupid", "--split", "test_1", "--model", "python:models:other", "--out", "runs/one")
    return folder


def run(place: Path, benchmark: str, *more: str | Path, env: dict[str, str] | None = None) -> Ran:
    model = () if "--retrieval-only" in more or "--model" in more else ("--model", "python:models:answer")
    ran = bowstring("eval", benchmark, *model, *more, cwd=place, env=env)
    assert ran.code == 0, ran.err
    return ran


def about(place: Path, benchmark: str, *more: str | Path, env: dict[str, str] | None = None) -> dict:
    ran = run(place, benchmark, *more, "--out", "runs/last", "--json", env=env)
    shutil.rmtree(place / "runs" / "last")
    return json.loads(ran.out)["about"]


def searched(place: Path, *more: str | Path) -> dict:
    return about(place, "hicupid", *SEARCH, *more)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def page(path: Path) -> str:
    return in_one_line(unescape(path.read_text(encoding="utf-8")))


def test_mini_is_said_not_to_be_the_benchmark_wherever_its_score_is_shown(place):
    ran = run(place, "hicupid", "--out", "runs/both")
    facts = ("mini/hicupid (bundled)", "splits test_1 and test_2 together", "60 of 60 questions", "protocol bowstring")
    line = " · ".join((*facts, "judge builtin"))
    assert in_one_line(ran.out).startswith(f"{line} ! {MINI}")
    shown = page(place / "runs" / "both" / "report.html")
    for fact in (*facts, "judge builtin", MINI):
        assert f"<bdi>{fact}</bdi>" in shown
    assert metrics(place / "runs" / "both")["about"] == {
        "benchmark": "HiCUPID",
        "data": "mini/hicupid",
        "kind": "bundled",
        "revision": None,
        "splits": ["test_1", "test_2"],
        "types": None,
        "n": 60,
        "of": 60,
        "items": "questions",
        "clusters_n": 6,
        "clusters_of": 6,
        "clusters": "users",
        "protocol": "bowstring",
        "judge": "builtin",
        "matcher": None,
        "is_benchmark_data": False,
        "whole": True,
        "note": MINI,
        "shard": None,
    }
    assert bowstring("report", "runs/both", "--figures", "none", cwd=place).code == 0
    tables = place / "runs" / "both" / "tables"
    markdown = (tables / "scores.md").read_text().replace("\\_", "_")
    assert f"{line}." in markdown
    assert MINI in markdown
    assert MINI in in_one_line((tables / "by-type.tex").read_text())
    row = next(csv.DictReader((tables / "scores.csv").read_text().splitlines()))
    assert [row[name] for name in ("data", "splits", "evaluated", "of", "judge", "is_benchmark_data")] == [
        "mini/hicupid",
        "test_1+test_2",
        "60",
        "60",
        "builtin",
        "false",
    ]


def test_a_dry_run_says_it_before_anything_is_paid_for(place):
    ran = bowstring("eval", "hicupid", "--model", "python:models:answer", "--dry-run", cwd=place)
    assert in_one_line(ran.out).startswith(f"! {MINI}")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (("--limit", "15"), "split test_1 · 15 of 30 questions, 2 of 3 users"),
        (("--users", "2"), "splits test_1 and test_2 together · 20 of 60 questions, 2 of 6 users"),
        (("--type", "persona"), "splits test_1 and test_2 together · 36 of 36 persona questions"),
        (
            ("--type", "persona", "--type", "profile", "--limit", "3"),
            "3 of 24 persona and profile questions, 1 of 3 users",
        ),
        (("--split", "test_2"), "split test_2 · 30 of 30 questions"),
    ],
)
def test_a_part_says_how_much_of_the_set_it_is(place, chosen, said):
    ran = run(place, "hicupid", *SEARCH, *chosen, "--out", "runs/part")
    assert f"{said} · no judge ! {MINI}" in in_one_line(ran.out)
    shutil.rmtree(place / "runs" / "part")


def test_repeated_answers_are_not_counted_as_items(place):
    found = about(place, "hicupid", "--answers", "2", "--limit", "15")
    assert (found["n"], found["of"], found["clusters_n"], found["clusters_of"]) == (15, 30, 2, 3)


def test_a_sweep_says_it_on_its_page_in_its_files_and_in_the_terminal(place):
    ran = run(place, "hicupid", *SWEEP)
    note = f"Not the HiCUPID benchmark: made was made by bowstring synth, offline, without a model. {UNCOMPARABLE}"
    n = metrics(place / "runs" / "sweep" / "none")["about"]["n"]
    line = f"made (synthetic) · splits test_1 and test_2 together · {n} of {n} questions · protocol bowstring"
    assert in_one_line(ran.out).startswith(f"{line} · judge builtin ! {note}")
    assert ran.out.count("Not the HiCUPID") == 1, "once, not per point"
    shown = page(place / "runs" / "sweep" / "report.html")
    assert f"<bdi>{line} · judge builtin</bdi>" in shown
    assert f"<bdi>{note}</bdi>" in shown
    points = json.loads((place / "runs" / "sweep" / "sweep.json").read_text())["points"]
    assert {name: point["about"]["kind"] for name, point in points.items()} == dict.fromkeys(points, "synthetic")
    assert bowstring("report", "runs/sweep", "--figures", "none", cwd=place).code == 0
    assert note in (place / "runs" / "sweep" / "tables" / "sweep.md").read_text()
    rows = list(csv.DictReader((place / "runs" / "sweep" / "tables" / "sweep.csv").read_text().splitlines()))
    assert [(row["history"], row["data"], row["of"]) for row in rows] == [(name, "made", str(n)) for name in points]


def test_a_comparison_says_what_its_runs_have_in_common_and_what_differs(place):
    runs = ("runs/both", "runs/one")
    common = "mini/hicupid (bundled) · protocol bowstring · judge builtin"
    own = ("splits test_1 and test_2 together · 60 of 60 questions", "split test_1 · 30 of 30 questions")
    shown = in_one_line(bowstring("compare", *runs, cwd=place).out)
    names = [one["name"] for one in json.loads(bowstring("compare", *runs, "--json", cwd=place).out)["runs"]]
    each = [f"{name}: {said}" for name, said in zip(names, own, strict=True)]
    assert shown.startswith(f"{common} {' '.join(each)} ! {MINI}")
    assert bowstring("compare", *runs, "--out", "compared.html", cwd=place).code == 0
    for said in (common, *each):
        assert f"<bdi>{said}</bdi>" in page(place / "compared.html")
    assert f'<p class="note about">{MINI}</p>' in page(place / "compared.html")
    markdown = bowstring("compare", *runs, "--format", "markdown", cwd=place).out.replace("\\", "")
    assert all(f"{said}." in markdown for said in (common, *each))
    assert MINI in markdown
    assert MINI in in_one_line(bowstring("compare", *runs, "--format", "latex", cwd=place).out)
    rows = csv.DictReader(bowstring("compare", *runs, "--format", "csv", cwd=place).out.splitlines())
    assert {(row["splits"], row["evaluated"]) for row in rows} == {("test_1+test_2", "60"), ("test_1", "30")}
    found = json.loads(bowstring("compare", *runs, "--json", cwd=place).out)["runs"]
    assert [one["about"]["n"] for one in found] == [60, 30]


def test_a_synthetic_set_is_known_wherever_it_lies(place, tmp_path):
    shutil.copytree(place / "made", tmp_path / "12kimih" / "HiCUPID")
    shutil.copy(place / "models.py", tmp_path)
    for data in ("12kimih/HiCUPID", "12kimih", tmp_path / "12kimih" / "HiCUPID" / "qa" / "test_1.parquet"):
        found = searched(tmp_path, "--data", data)
        assert (found["kind"], found["is_benchmark_data"]) == ("synthetic", False)
    (tmp_path / "12kimih" / "HiCUPID" / "made.json").unlink()
    found = searched(tmp_path, "--data", "12kimih/HiCUPID")
    assert (found["kind"], found["is_benchmark_data"]) == ("folder", False)
    assert "is a local folder, with" in found["note"]
    assert "questions in test_1, not 10,000 as in 12kimih/HiCUPID on the hub" in found["note"]


def test_a_run_keeps_its_name_when_its_set_is_gone(place, tmp_path):
    shutil.copytree(place / "exported", tmp_path / "set")
    run(tmp_path, "hicupid", *SEARCH, "--data", "set", "--out", "run")
    note = metrics(tmp_path / "run")["about"]["note"]
    assert note.startswith("Not the HiCUPID benchmark: set is a local folder, with 30 questions in test_1, not 10,000")
    shutil.rmtree(tmp_path / "set")
    assert bowstring("report", "run", "--figures", "none", cwd=tmp_path).code == 0
    assert f"<bdi>{note}</bdi>" in page(tmp_path / "run" / "report.html")


def test_as_many_items_as_published_are_not_taken_for_the_published_set(place, tmp_path):
    shutil.copy(place / "models.py", tmp_path)
    (tmp_path / "kixlab" / "CUPID").mkdir(parents=True)
    shutil.copy(place / "whole" / "test.parquet", tmp_path / "kixlab" / "CUPID")
    for data, kind in (("kixlab/CUPID", "folder"), ("kixlab/CUPID/test.parquet", "file")):
        found = about(tmp_path, "cupid", "--task", "inference", "--limit", "3", "--data", data)
        assert (found["kind"], found["is_benchmark_data"], found["n"], found["of"]) == (kind, None, 3, 756)
        assert found["note"] == (
            f"{data} is a local {kind}; whether it is published data of CUPID was not checked. It has as many "
            "instances as kixlab/CUPID; their content was not compared."
        )


def test_a_published_set_is_named_with_the_revision_that_was_read(place, tmp_path):
    whole, small = ({"test.parquet": (place / name / "test.parquet").read_bytes()} for name in ("whole", "small"))
    raw = tmp_path / "raw"
    write_raw(raw / "data")
    repositories = {
        "kixlab/CUPID": whole,
        "kixlab/CUPID-Unverified": small,
        "kixlab/CUPID-Raw": files_below(raw),
        "somebody/CUPID": small,
        "somebody/copy": whole,
        "12kimih/HiCUPID": files_below(place / "exported"),
    }
    with Hub(repositories, {"kixlab/CUPID": small}) as hub:
        env = hub.env(tmp_path / "home")

        def of(data: str, *more: str) -> dict:
            return about(place, "cupid", "--task", "inference", "--data", data, *more, env=env)

        line = run(place, "cupid", "--task", "inference", "--data", "kixlab/CUPID", "--out", "runs/hub", env=env).out
        named = f"kixlab/CUPID · revision {COMMIT[:12]} · split test · 756 of 756 instances · protocol bowstring"
        assert in_one_line(line).startswith(f"{named} · judge builtin value 95% interval n")
        found = metrics(place / "runs" / "hub")["about"]
        assert found["revision"] == COMMIT
        assert (found["kind"], found["is_benchmark_data"], found["whole"], found["note"]) == (
            "published",
            True,
            True,
            "",
        )
        assert '<p class="note about">' not in page(place / "runs" / "hub" / "report.html")

        part = of("kixlab/CUPID", "--users", "2")
        assert part["note"] == "A part of the published set: 6 of 756 instances. Published scores are of all of it."
        assert (part["is_benchmark_data"], part["whole"]) == (True, False)
        older = of("kixlab/CUPID", "--revision", "v0")
        assert older["revision"] == OLDER
        assert "at this revision kixlab/CUPID has 12 instances in test, not 756 as published" in older["note"]

        for data, why in {
            "kixlab/CUPID-Unverified": "has instances that people have not verified; the paper's test set is "
            "kixlab/CUPID",
            "kixlab/CUPID-Raw": "has raw data of the authors' pipeline, from which Bowstring builds instances; the "
            "paper's test set is kixlab/CUPID",
            "somebody/CUPID": "is another set on the hub, with 12 instances in test, not 756 as in kixlab/CUPID on the "
            "hub",
        }.items():
            found = of(data)
            assert found["note"] == f"Not the CUPID benchmark: {data} {why}. {UNCOMPARABLE}"
            assert (found["is_benchmark_data"], found["revision"]) == (False, COMMIT)
        copied = of("somebody/copy", "--limit", "3")
        assert (copied["kind"], copied["is_benchmark_data"]) == ("hub", None)
        assert "whether it is published data of CUPID was not checked" in copied["note"]

        train = about(place, "hicupid", *SEARCH, "--data", "12kimih/HiCUPID", env=env)
        assert (train["kind"], train["is_benchmark_data"]) == ("published", False)
        assert "has 30 questions in test_1, not 10,000 as published" in train["note"]


def test_the_published_protocol_does_not_make_mini_the_benchmark(place, tmp_path):
    (tmp_path / "HiCUPID" / "src").mkdir(parents=True)
    (tmp_path / "HiCUPID" / "src" / "constants.py").write_text(UPSTREAM)
    assert bowstring("prompts", "import", "hicupid", "HiCUPID", "--out", "words", cwd=tmp_path).code == 0
    published = ("--protocol", "published", "--prompts", tmp_path / "words")
    ran = run(place, "hicupid", *published, "--limit", "3", "--out", "runs/published")
    assert "protocol published · judge builtin" in in_one_line(ran.out)
    assert MINI in in_one_line(ran.out)
    assert "comparison with published" not in ran.out


def test_a_name_that_the_user_gave_a_judge_is_marked(place, tmp_path):
    with Server() as server:
        ran = run(
            place, "hicupid", "--judge", server.model("m"), "--served-as", "judge=gpt-4o", "--limit", "3",
            "--out", tmp_path / "run",
        )  # fmt: skip
    assert "judge gpt-4o (named with --served-as)" in in_one_line(ran.out)


def test_runs_of_earlier_versions_open_everywhere(place, tmp_path):
    shutil.copytree(place / "runs", tmp_path / "runs")
    swept = ["sweep/none", "sweep/gold"]
    for name in ("both", "one", *swept):
        path = without_sums(tmp_path / "runs" / name) / "metrics.json"
        found = json.loads(path.read_text())
        del found["about"]
        path.write_text(json.dumps(found))
    path = tmp_path / "runs" / "sweep" / "sweep.json"
    summary = json.loads(path.read_text())
    summary["points"] = {
        name: {k: v for k, v in point.items() if k != "about"} for name, point in summary["points"].items()
    }
    path.write_text(json.dumps(summary))
    earlier = "This run is of an earlier version of Bowstring, which did not note where its data set came from."
    for name, said in (("both", OLD), (swept[0], earlier), ("sweep", earlier)):
        assert bowstring("report", f"runs/{name}", "--figures", "none", cwd=tmp_path).code == 0
        assert f"<bdi>{said}</bdi>" in page(tmp_path / "runs" / name / "report.html")
    assert "60 questions" in page(tmp_path / "runs" / "both" / "report.html")
    compared = bowstring("compare", "runs/both", "runs/one", cwd=tmp_path)
    assert compared.code == 0, compared.err
    assert OLD in in_one_line(compared.out)
    with Viewer(tmp_path / "runs") as viewer:
        assert "not the benchmark" in viewer.get("/").text
        assert OLD in viewer.get("/run/both").text
        assert earlier in viewer.get("/run/sweep").text


@pytest.mark.parametrize("wrong", [7, {}, {"data": "x"}, {"n": "sixty"}, []])
def test_a_malformed_block_hides_no_score(place, tmp_path, wrong):
    copied = without_sums(shutil.copytree(place / "runs" / "both", tmp_path / "run"))
    found = json.loads((copied / "metrics.json").read_text())
    found["about"] = found["about"] | wrong if isinstance(wrong, dict) and wrong else wrong
    if wrong == {"data": "x"}:
        found["about"]["kind"] = "holy"
    (copied / "metrics.json").write_text(json.dumps(found))
    assert bowstring("report", "run", "--figures", "none", cwd=tmp_path).code == 0
    assert OLD in page(tmp_path / "run" / "report.html")
