"""A benchmark in a third-party package: every command works with it, with its own nouns and scales."""

import json
import re
from pathlib import Path
from typing import ClassVar

import pytest

from bowstring.benchmarks import registry
from bowstring.benchmarks.published_results import PublishedJudge, PublishedResults, Row
from bowstring.history.stages.conformance import check_stage
from tests.support.command import bowstring, bowstring_process
from tests.support.hub import Hub, files_below
from tests.support.plugin import MODELS, PEOPLE, install, installed, write_diaries

OURS = re.compile(r"HiCUPID|CUPID|\bpersonas?\b|gold preference|as good as the gold|personalized", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def place(site, tmp_path_factory):
    """A folder with data, models and two runs."""
    folder = tmp_path_factory.mktemp("place")
    write_diaries(folder / "diaries")
    (folder / "models.py").write_text(MODELS)
    with installed(site):
        for name in ("knows", "forgets"):
            ran = run(folder, "eval", "diary", "--model", f"python:models:{name}", "--out", f"runs/{name}")
            assert ran.code == 0, ran.err
    return folder


@pytest.fixture
def diary(site, place):
    with installed(site):
        yield lambda *arguments: run(place, *arguments)


def run(folder, *arguments):
    judged = ["--judge", "python:models:judge"] if arguments[0] == "eval" else []
    data = ["--data", "diaries"] if arguments[0] == "eval" else []
    return bowstring(*arguments, *judged, *data, cwd=folder)


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def in_its_own_words(text):
    assert OURS.search(text) is None, OURS.search(text)
    return text


def test_the_page_on_adding_a_benchmark_has_the_code_of_the_package():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "adding-a-benchmark.md").read_text()
    for name in ("pyproject.toml", "diary/templates/ask.yaml", "diary/templates/judge.yaml", "diary/__init__.py"):
        assert (root / "tests" / "plugin" / name).read_text() in page, name


@pytest.mark.usefixtures("diary")
def test_it_is_listed_and_helps():
    listed = bowstring("eval", "--help").out
    assert "diary" in listed
    helped = bowstring("eval", "diary", "--help").out
    assert "--history" in helped
    assert "python:module:Class" in helped


def test_a_run_scores_and_counts_by_its_own_clusters(diary, place):
    found = metrics(place / "runs" / "knows")
    assert found["benchmark"] == "diary"
    assert found["metrics"]["accuracy"]["value"] == 100.0
    assert found["metrics"]["accuracy"]["clusters"] == 6
    assert {group: m["accuracy"]["n"] for group, m in found["groups"]["type"].items()} == {"fact": 12, "change": 6}
    assert metrics(place / "runs" / "forgets")["metrics"]["accuracy"]["value"] == 0.0


def test_the_terminal_says_it_in_its_own_words(diary):
    said = in_its_own_words(diary("eval", "diary", "--model", "python:models:knows", "--out", "runs/knows").out)
    assert "accuracy" in said
    assert "fewer than 30 diarists" in said


def test_a_dry_run_counts_requests_and_shares_histories(diary):
    ran = diary("eval", "diary", "--model", "python:models:knows", "--dry-run", "--json", "--out", "runs/new")
    plan = json.loads(ran.out)
    assert plan["items"] == 18
    assert plan["roles"]["model"]["stored"] + plan["roles"]["model"]["requests"] == 18
    assert plan["groups"] == 6


def test_a_sweep_draws_its_curve(diary, place):
    views = [word for view in ("none", "last:1", "bm25/dialogue/1", "full") for word in ("--history", view)]
    ran = diary("eval", "diary", "--model", "python:models:knows", *views, "--out", "runs/sweep")
    assert ran.code == 0, ran.err
    values = {
        name: point["metrics"]["accuracy"]["value"]
        for name, point in json.loads((place / "runs/sweep/sweep.json").read_text())["points"].items()
    }
    assert values["none"] == 0.0
    assert values["full"] == 100.0
    assert values["last:1"] == pytest.approx(100 / 3)
    page = in_its_own_words((place / "runs" / "sweep" / "report.html").read_text())
    assert "<polyline" in page
    assert "diarists" in page
    in_its_own_words(ran.out)


def test_report_writes_its_page_and_tables(diary, place):
    ran = diary("report", "runs/knows", "--figures", "none", "--out", "reported")
    assert ran.code == 0, ran.err
    page = in_its_own_words((place / "reported" / "report.html").read_text())
    assert "<h1>Diary:" in page
    assert "0 to 100" in page
    assert "accuracy" in (place / "reported" / "tables" / "scores.md").read_text()


def test_compare_pairs_its_runs(diary, place):
    ran = diary("compare", "runs/knows", "runs/forgets", "--out", "compare.html", "--items", "2")
    assert ran.code == 0, ran.err
    assert "diarists" in in_its_own_words(ran.out)
    in_its_own_words((place / "compare.html").read_text())
    found = json.loads(diary("compare", "runs/knows", "runs/forgets", "--json").out)
    assert found["differences"]["accuracy"]["forgets"]["value"] == -100.0


def test_people_and_the_judge_meet_on_the_same_items(diary, place):
    from bowstring.benchmarks import registry

    people = registry.get("diary").people()
    rows = [
        {"item": people.item(record), "rater": "anna", "label": "yes" if n else "no", "task": "verdict"}
        for n, record in enumerate(records(place / "runs" / "knows"))
    ]
    (place / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = diary("agree", "runs/knows", "people.jsonl", "--json")
    assert ran.code == 0, ran.err
    task = json.loads(ran.out)["tasks"]["verdict"]
    assert task["shared"] == 18
    assert task["agreement"]["value"] == pytest.approx(17 / 18)
    in_its_own_words(diary("agree", "runs/knows", "people.jsonl").out)


def test_annotate_makes_a_study_of_it(diary, place):
    from bowstring.web.annotating.opening import open_study

    study = open_study([place / "runs" / "knows"], annotators="anna,ben", db=place / "study.sqlite")
    try:
        given = next(study.assignments())
        assert study.task.name == "verdict"
        assert given.unit.asked
        assert given.unit.dialogues, "what holds the answer is shown"
    finally:
        study.close()


def test_an_audit_makes_the_generic_checks(diary, place):
    ran = diary("audit", "runs/knows", "--second-judge", "builtin")
    assert ran.code == 0, ran.err
    in_its_own_words(ran.out)
    found = json.loads((place / "runs" / "knows" / "audit.json").read_text())
    by_check = {check: [f for f in found["findings"] if f["check"] == check] for check in found["checks"]}
    assert list(by_check) == ["gold", "no-history", "length", "probes", "steering", "second-judge"]
    assert by_check["gold"][0]["value"] == 100.0
    assert by_check["no-history"][0]["value"] == 0.0, "nothing can be guessed"
    assert by_check["no-history"][1]["value"] == 100.0
    misplaced = next(f for f in by_check["probes"] if "another question" in f["name"])
    assert misplaced["value"] == 0.0


def test_an_audit_finds_a_judge_that_accepts_everything(diary, place):
    """A judge that always says yes accepts wrong answers, and the audit reports it."""
    (place / "lenient.py").write_text("def judge(messages):\n    return 'Fine.\\nCorrect: YES'\n")
    ran = diary("audit", "runs/forgets", "--judge", "python:lenient:judge", "--json")
    findings = json.loads(ran.out)["findings"]
    misplaced = next(f for f in findings if f["check"] == "probes" and f["name"].startswith("answer to another"))
    assert misplaced["value"] == 100.0
    assert misplaced["verdict"] != "fine"


def test_an_audit_leaves_out_what_its_judge_left_open(diary, place):
    """A judge that likes short answers, and has no verdict on one of them."""
    (place / "hasty.py").write_text(
        "import re\n\n\n"
        "def judge(messages):\n"
        "    answer = re.search('Answer: <<<(.*?)>>>', messages[-1]['content'], re.S)[1]\n"
        "    return 'Hm.' if answer == 'Your sister.' else f'Correct: {\"NO\" if len(answer) > 40 else \"YES\"}'\n"
    )
    assert diary("eval", "diary", "--model", "python:models:knows", "--out", "runs/hasty").code == 0
    ran = diary("audit", "runs/hasty", "--judge", "python:hasty:judge", "--checks", "probes", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    padded = next(f for f in found["findings"] if "filler sentences" in f["name"])
    assert (padded["value"], padded["n"], padded["left_out"]) == (-100.0, 12, 6)
    audited = records(next((place / "runs" / "hasty" / "audit").iterdir()))
    texts = [one["answer"] for record in audited for one in record["variants"].values()]
    assert found["unparsed"] == texts.count("Your sister.") > 6
    for record in audited:
        own = {f"With {PEOPLE[record['user']][0]}.", f"In {PEOPLE[record['user']][1]}."}
        assert record["variants"]["misplaced"]["answer"] not in own, "it is of another diarist"


def test_an_audit_holds_a_second_judge_against_the_first(diary, place):
    (place / "strict.py").write_text(
        "def judge(messages):\n    return 'Correct: NO' if 'sister' in messages[-1]['content'] else 'Correct: YES'\n"
    )
    ran = diary("audit", "runs/knows", "--second-judge", "python:strict:judge", "--checks", "second-judge", "--json")
    assert ran.code == 0, ran.err
    same, kappa, stricter = json.loads(ran.out)["findings"]
    assert same["value"] == pytest.approx(200 / 3)
    assert kappa["value"] == 0.0, "the first judge gave one verdict throughout"
    assert stricter["value"] == pytest.approx(-100 / 3)


def test_its_data_is_described_shown_and_checked(diary, place):
    info = diary("data", "info", "diaries")
    assert "6 histories, 18 items" in in_its_own_words(info.out)
    assert diary("data", "validate", "diaries").code == 0
    assert "2025-02-14" in diary("data", "show", "diaries", "anna-2").out
    broken = json.loads((place / "diaries" / "diary.json").read_text())
    broken["users"][0]["questions"][0]["sessions"] = [99]
    broken["users"][1]["sessions"][0]["date"] = ""
    (place / "broken").mkdir(exist_ok=True)
    (place / "broken" / "diary.json").write_text(json.dumps(broken))
    ran = diary("data", "validate", "broken")
    assert ran.code == 2
    assert "names dialogue 99, which anna does not have" in ran.out
    assert "row 1" in ran.out


def test_its_scores_say_what_they_are_of(diary, place):
    ran = diary("eval", "diary", "--model", "python:models:knows", "--limit", "5", "--out", "runs/five")
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert said.startswith("diaries (local folder) · split test · 5 of 18 questions, 2 of 6 diarists · judge python:")
    assert "! diaries is a local folder; whether it is published data of Diary was not checked." in said
    found = json.loads((place / "runs" / "five" / "metrics.json").read_text())["about"]
    assert (found["benchmark"], found["kind"], found["is_benchmark_data"]) == ("Diary", "folder", None)


def test_a_stage_of_the_users_own_is_measured_like_a_search(diary, place):
    ran = diary(
        "eval", "diary", "--model", "python:models:knows", "--history", "python:models:Newest", "--out", "runs/own"
    )
    assert ran.code == 0, ran.err
    found = metrics(place / "runs" / "own")
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(100 / 3)
    assert found["metrics"]["recall"]["value"] == pytest.approx(100 / 3)
    assert found["usage"]["history"]["requests"] == 14, "a session is taken in once, and the same note asked for once"
    assert records(place / "runs" / "own")[0]["retrieved"] == [4]


def test_what_it_does_not_have_is_said_plainly(diary):
    assert diary("synth", "diary", "--model", "embedded").err == "Diary has no data generator\n"
    assert (
        "Diary has no training" in diary("train", "sft", "--data", "diaries", "--model", "embedded", "--out", "x").err
    )
    assert "cannot be exported" in diary("data", "export", "diaries", "exported").err
    assert "no bundled set" in bowstring("eval", "diary", "--model", "embedded").err


def test_the_installed_package_is_found_by_a_process(site, place):
    with installed(site) as env:
        ran = bowstring_process("eval", "diary", "--data", "diaries", "--model", "python:models:knows", "--judge",
                                "python:models:judge", "--out", "runs/process", cwd=place, env=env)  # fmt: skip
    assert ran.code == 0, ran.err
    assert metrics(place / "runs" / "process")["metrics"]["accuracy"]["value"] == 100.0


def test_without_it_the_run_is_listed_and_says_what_is_missing(place):
    ran = bowstring("report", "runs/knows", cwd=place)
    assert ran.code == 2
    assert "diary" in ran.err
    assert "not installed" in ran.err


def test_a_conformance_test_tells_a_stage_that_mixes_users():
    class Mixing:
        shared: ClassVar[list[str]] = []

        def open(self, user):
            pass

        def ingest(self, dialogue):
            self.shared.append(dialogue.messages[0].text)

        def retrieve(self, question):
            return list(self.shared)

    with pytest.raises(AssertionError, match=r"shared between instances|another user"):
        check_stage(Mixing)


INCOMPLETE = """
from bowstring.benchmarks.interface import Benchmark

class Incomplete(Benchmark):
    name = "broken"
    cluster_of = grouped = metrics = opener = read = templates = view = lambda *_: None

BENCHMARK = Incomplete()
"""


@pytest.mark.parametrize(
    ("module", "code", "reason"),
    [
        (
            "raises",
            "raise ImportError('no module named quantum')",
            "cannot be loaded: ImportError: no module named quantum",
        ),
        ("exits", "import sys; sys.exit(3)", "cannot be loaded: SystemExit: 3"),
        ("counts", "BENCHMARK = 3", "is int, not a bowstring.benchmarks.interface.Benchmark"),
        ("incomplete", INCOMPLETE, "lacks title, about, settings, format"),
    ],
)
def test_a_package_that_does_not_work_breaks_no_other_benchmark(tmp_path, module, code, reason):
    (tmp_path / f"{module}.py").write_text(code)
    about = tmp_path / "broken-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[bowstring.benchmarks]\nbroken = {module}:BENCHMARK\n")
    with installed(tmp_path):
        for command in ("eval", "synth"):
            helped = bowstring(command, "--help", cwd=tmp_path)
            assert helped.code == 0, helped.err
            assert "hicupid" in helped.out
            assert bowstring(command, "hicupid", "--help", cwd=tmp_path).code == 0
            refused = bowstring(command, "broken", "--model", "embedded", cwd=tmp_path)
            assert refused.code == 2
            assert refused.err.startswith("the benchmark broken ")
            assert refused.err.endswith(f"{reason}\n")
        assert bowstring("data", "info", "mini/hicupid", "--tokenizer", "none", cwd=tmp_path).code == 0


def test_the_nearest_benchmark_is_suggested(tmp_path):
    refused = bowstring("eval", "hicupd", "--model", "embedded", cwd=tmp_path)
    assert refused.code == 2
    assert refused.err == "'hicupd' is not a benchmark; did you mean hicupid?\n"


def test_what_its_paper_reports_stands_beside_runs_on_the_published_data(diary, place, monkeypatch, tmp_path):
    """A benchmark without protocols has one way of asking. One without published results says nothing of any."""
    reported = PublishedResults(
        paper="Diaries",
        arxiv="0000.00000",
        data="someone/diary",
        items={"": 18},
        judges={"judge": PublishedJudge(name="a strict one")},
        rows=(Row(model="Recaller", training=None, setting={"history": "full"}, values={"accuracy": 61.5}),),
    )
    assert "published_results" not in metrics(place / "runs" / "knows")
    monkeypatch.setattr(type(registry.get("diary")), "published_results", lambda self: reported)
    asked = ("eval", "diary", "--model", "python:models:knows", "--judge", "python:models:judge", "--users", "4")
    with Hub({"someone/diary": files_below(place / "diaries")}) as hub:
        shown = bowstring(*asked, "--data", "someone/diary", "--out", "r", env=hub.env(tmp_path), cwd=place)
        kept = bowstring(*asked, "--data", "diaries", "--out", "s", env=hub.env(tmp_path), cwd=place)
    assert shown.code == kept.code == 0, shown.err + kept.err
    said = in_its_own_words(" ".join(shown.out.split()))
    assert "yours (12 of 18 questions)" in said
    assert "Recaller (training not known) 61.5" in said
    assert "- Questions. Yours: 12. Published: 18." in said
    assert "61.5" not in kept.out
    assert "the data is the local folder diaries, not someone/diary from the hub" in " ".join(kept.out.split())
