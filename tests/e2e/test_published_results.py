"""Published results beside a run as published: which are shown, what is said to differ, and when none may be."""

import csv
import json
import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import ValidationError

from bowstring.benchmarks import registry
from bowstring.benchmarks.published_results import read_published_results
from tests.e2e import test_eval, test_eval_cupid
from tests.e2e.test_published_cupid import import_words
from tests.e2e.test_published_hicupid import words as hicupid_words  # noqa: F401 - a fixture
from tests.support.command import bowstring
from tests.support.embedding import write_contriever
from tests.support.hub import Hub, files_below
from tests.support.server import Server, digest_answer
from tests.support.sets import write_hicupid

HUB_IDS = {"hicupid": "12kimih/HiCUPID", "cupid": "kixlab/CUPID"}
ANSWERS = {"hicupid": digest_answer, "cupid": test_eval_cupid.answer}
COMMANDS = {"hicupid": test_eval.command, "cupid": test_eval_cupid.command}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with sets in the published layout, under the published names and another."""
    root = tmp_path_factory.mktemp("hub")
    for name in HUB_IDS:
        assert bowstring("data", "export", f"mini/{name}", root / name).code == 0
    hicupid, cupid = files_below(root / "hicupid"), files_below(root / "cupid")
    sets = {"12kimih/HiCUPID": hicupid, "someone/HiCUPID": hicupid, "kixlab/CUPID": cupid, "kixlab/CUPID-Raw": cupid}
    with Hub(sets) as server:
        yield server


@pytest.fixture(scope="module")
def evaluate(hub, hicupid_words, tmp_path_factory):  # noqa: F811
    root = tmp_path_factory.mktemp("runs")
    words = {"hicupid": root / "words-of-hicupid", "cupid": import_words(root)}
    shutil.copytree(hicupid_words, words["hicupid"])
    shutil.copy(words["hicupid"] / "hicupid" / "ask_3.yaml", words["hicupid"] / "hicupid" / "ask_5.yaml")

    def evaluate(benchmark: str, *more: str, data: str | None = None, protocol: str = "published", cwd=root):
        """The terminal's words in one line, and the metrics."""
        out = root / str(len(list(root.iterdir())))
        published = ["--protocol", "published", "--prompts", str(words[benchmark])] if protocol == "published" else []
        with Server(ANSWERS[benchmark]) as server:
            command = [*COMMANDS[benchmark](server, out), "--data", data or HUB_IDS[benchmark], *published, *more]
            ran = bowstring(*command, env=hub.env(root / "home"), cwd=cwd)
        assert ran.code == 0, ran.err
        return " ".join(ran.out.split()), out

    return evaluate


def entry(out: Path) -> dict:
    return test_eval.metrics(out)["published_results"]


def models(out: Path, split: str = "test_1") -> list[str]:
    (beside,) = (one for one in entry(out)["beside"] if one["split"] == split)
    return [row["model"] for row in beside["rows"]]


def differences(out: Path) -> dict[str, tuple[str, str]]:
    found = entry(out)["beside"][0]["differences"]
    return {one["what"]: (str(one["yours"]), one["published"]) for one in found}


def test_rows_of_the_same_setting_stand_under_the_users_own(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1")
    values = {name: f"{e['value']:.1f}" for name, e in test_eval.metrics(out)["metrics"].items()}
    mine = [values[f"score.{name}"] for name in ("total", "persona", "profile", "schedule")]
    assert f"yours (30 of 10,000 questions) {' '.join(mine)}" in said
    assert "GPT-4o-mini 30.4 44.7 10.8 8.8" in said
    assert (
        said.index("yours (30")
        < said.index("GPT-4o-mini 30.4")
        < said.index("Bowstring knows no other published results")
    )
    others = "split test_1, history full, shots 3; split test_1, history gold, shots 0; split test_1, history gold."
    assert f"published results of this setting. It knows some of other settings: {others}" in said
    assert "68.0" not in said, "gold dialogues are another setting"
    assert "75.4" not in said, "three shots are another setting"
    assert models(out) == ["GPT-4o-mini", "Llama-3.1-8B", "Qwen2.5-7B", "Mistral (version not known)", "Llama-3.1-8B"]


def test_what_differs_is_said_beside_them(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1", "--temperature", "0", "--limit", "4", "--type", "persona")
    found = differences(out)
    assert found["questions"] == ("4", "10,000")
    assert found["temperature"] == ("0.0", "0.6")
    assert found["types"] == ("persona", "all")
    assert found["data revision"][1] == found["instruction"][1] == "not known"
    assert "proxy judge" in found["judge"][1]
    assert "precision, quantization and engine are not known" in found["model"][1]
    assert found["prompts"][0] == "imported from the authors' code"
    assert "seed" not in found
    assert "top p" not in found
    for what, (yours, published) in found.items():
        assert f"- {what[0].upper()}{what[1:]}. Yours: {yours}. Published: {published}." in said


def test_the_revision_is_the_commit_that_was_read(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1", "--limit", "4")
    commit = test_eval.metrics(out)["about"]["revision"][:12]
    assert f"revision {commit}" in said
    assert f"Data revision. Yours: {commit}. Published: not known." in said
    assert commit in (out / "report.html").read_text().partition("Data revision")[2][:200]


def test_settings_of_a_row_are_no_difference_to_a_run_that_has_them(evaluate):
    said, out = evaluate("cupid", "--temperature", "1")
    (beside,) = entry(out)["beside"]
    assert [one["what"] for one in beside["rows"][0]["differences"]] == ["thinking tokens"]
    assert "temperature" not in differences(out)
    said, out = evaluate("cupid", "--temperature", "0.5")
    assert differences(out)["temperature"] == ("0.5", "0.0")
    assert "Claude 3.7 Sonnet was asked with temperature 1.0. Yours: 0.5." in said


def test_settings_as_published_are_no_difference(evaluate):
    _, out = evaluate("hicupid", "--split", "test_1", "--seed", "42", "--top-p", "1", "--verdicts", "text")
    assert set(differences(out)) == {"model", "judge", "data revision", "prompts", "questions", "instruction"}


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        (("--shots", "3"), ["GPT-4o-mini"]),
        (("--shots", "5"), []),  # results with unknown shots are not taken for five
        (("--history", "gold"), ["GPT-4o-mini", "Llama-3.1-8B"]),
        (("--history", "gold", "--shots", "3"), []),
        (("--history", "gold", "--type", "schedule"), []),  # published for persona questions alone
        (("--history", "none"), []),
        (("--history", "bm25/utterance/5"), []),
    ],
)
def test_another_setting_has_other_rows_or_none(evaluate, more, shown):
    said, out = evaluate("hicupid", "--split", "test_1", *more)
    assert models(out) == shown
    if not shown:
        assert "No published result of split test_1" in said
        assert "- split test_1, history full, shots 3 (instruction not known)" in said, "the settings that are known"
        assert "44.7" not in said


def test_splits_are_compared_apart(evaluate):
    """The paper has no figure of both, and none of test_2."""
    said, out = evaluate("hicupid")
    assert [one["split"] for one in entry(out)["beside"]] == ["test_1", "test_2"]
    assert models(out, "test_2") == []
    assert "No published result of split test_2" in said
    first, whole = entry(out)["beside"][0], test_eval.metrics(out)
    assert first["values"]["score.total"] == whole["groups"]["split"]["test_1"]["score.total"]
    assert first["values"]["score.total"]["value"] != whole["metrics"]["score.total"]["value"]
    assert first["items"] == 30
    assert "test_1 and test_2; compare test_1 alone" in differences(out)["splits"][0]


def no_row_is_shown(out: Path, said: str) -> bool:
    page = (out / "report.html").read_text()
    numbers = ("30.4", "44.7", "44.6", "55.8")
    return "beside" not in entry(out) and not any(number in said for number in numbers) and "GPT-4o-mini" not in page


@pytest.mark.parametrize("benchmark", ["hicupid", "cupid"])
def test_nothing_looks_comparable_on_the_mini_set(evaluate, benchmark):
    said, out = evaluate(benchmark, data="mini")
    assert no_row_is_shown(out, said)
    assert f"the data is mini, not {HUB_IDS[benchmark]} from the hub" in said
    assert "no published result may be compared with these scores" in said
    assert "No published results are shown" in (out / "report.html").read_text()


def test_nor_on_other_sets_whatever_they_are_called(evaluate, tmp_path):
    write_hicupid(tmp_path / "offline", users=4)
    write_hicupid(tmp_path / "12kimih" / "HiCUPID", users=4)  # a folder with the name of the published set
    for data, called in (
        ("offline", "the local folder offline"),
        ("12kimih/HiCUPID", "the local folder 12kimih/HiCUPID"),
        ("someone/HiCUPID", "someone/HiCUPID"),
    ):
        said, out = evaluate("hicupid", "--limit", "3", "--split", "test_1", data=data, cwd=tmp_path)
        assert no_row_is_shown(out, said), data
        assert f"the data is {called}, not 12kimih/HiCUPID from the hub" in said
    said, out = evaluate("cupid", "--limit", "3", data="kixlab/CUPID-Raw")
    assert no_row_is_shown(out, said)


def test_nor_with_a_judge_that_compares_words(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1", "--judge", "builtin")
    assert no_row_is_shown(out, said)
    assert "the judge builtin is not a model" in said


def test_nor_by_our_own_protocol(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1", protocol="bowstring")
    assert "published_results" not in test_eval.metrics(out)
    assert "ublished result" not in said


def test_cupid_has_one_row_bounds_and_a_correlation(evaluate):
    said, out = evaluate("cupid")
    assert "yours (12 of 756 instances) 50.0" in said
    assert "Claude 3.7 Sonnet 55.8" in said
    (beside,) = entry(out)["beside"]
    assert [one["model"] for one in beside["rows"]] == ["Claude 3.7 Sonnet"]
    assert {(one["metric"], one["most"]) for one in beside["bounds"]} == {
        ("inference.precision", 50.0),
        ("inference.recall", 65.0),
        ("inference.f1", 60.0),
    }
    assert "inference.precision at most 50.0, inference.recall at most 65.0, inference.f1 at most 60.0" in said
    found = differences(out)
    assert not {"temperature", "thinking tokens"} & {*found}, "these are settings of one row, not of the protocol"
    assert "- Claude 3.7 Sonnet was asked with temperature 1.0. Yours: 0.0." in said
    assert "- Claude 3.7 Sonnet was asked with thinking tokens 1024. Yours: none." in said
    assert found["matcher"][1] == "not known"
    assert "gpt-4o-2024-11-20" in found["judge"][1]
    assert "0.764. That is not a result of one run." in said


def test_a_difference_between_settings_is_not_a_row(evaluate):
    said, out = evaluate("cupid", "--history", "gold")
    (beside,) = entry(out)["beside"]
    assert beside["rows"] == []
    assert "No published result of history gold" in said
    assert "+20 to +30 points (metric not known) against history full" in said
    said, _ = evaluate("cupid", "--task", "generation")
    assert "No published result of history full, task generation is known" in said


def test_the_judge_of_the_paper_is_the_same_by_name_only(evaluate):
    with Server(test_eval_cupid.answer) as judge:
        said, _ = evaluate("cupid", "--judge", judge.model("judge"), "--served-as", "judge=openai/gpt-4o-2024-11-20")
    assert "Published: gpt-4o-2024-11-20; equal by name, and no more is known." in said


def test_a_sweep_has_the_rows_of_each_point(evaluate):
    said, out = evaluate("hicupid", "--split", "test_1", "--history", "full", "--history", "gold")
    assert "GPT-4o-mini 30.4 44.7 10.8 8.8" in said
    assert "GPT-4o-mini 68.0" in said
    assert said.count("Data revision. Yours") == 1, "what holds for both is said once"
    points = json.loads((out / "sweep.json").read_text())["points"].values()
    assert [models(out / point["folder"])[-1:] for point in points] == [["Llama-3.1-8B"], ["Llama-3.1-8B"]]


def test_page_and_tables_have_them_with_what_differs(evaluate, hub, tmp_path):
    _, out = evaluate("hicupid", "--split", "test_1", "--limit", "9")
    page = (out / "report.html").read_text()
    for text in ("GPT-4o-mini", "30.4", "yours (9 of 10,000 questions)", "arXiv 2506.01262", "Data revision. Yours"):
        assert text in page
    ran = bowstring("report", out, "--out", tmp_path / "report", "--figures", "none", env=hub.env(tmp_path / "home"))
    assert ran.code == 0, ran.err
    tables = {p.suffix: p.read_text() for p in (tmp_path / "report" / "tables").glob("published-test_1.*")}
    assert set(tables) == {".md", ".csv", ".tex"}
    for table in tables.values():
        (row,) = [line for line in table.splitlines() if "30.4" in line]
        assert "judge" in row, "a table may travel without its notes"
        assert "questions" in row
        assert "12kimih/HiCUPID" in table, "and without its run"
    assert "proxy judge" in tables[".md"]
    about = test_eval.metrics(out)["about"]
    assert f"revision {about['revision'][:12]} · split test\\_1 · 9 of 30 questions" in tables[".md"]
    rows = list(csv.DictReader(tables[".csv"].splitlines()))
    assert {row["protocol"] for row in rows} == {"published"}
    assert [row["revision"] for row in rows[:3]] == [about["revision"], about["revision"], ""]


@pytest.mark.parametrize("name", HUB_IDS)
def test_every_number_has_a_source_and_a_metric(name):
    benchmark = registry.get(name)
    results = benchmark.published_results()
    assert results.arxiv in benchmark.origins[results.data.lower()].made
    settings = benchmark.settings(protocol="published").configuration()
    metrics = benchmark.metrics({"settings": settings, "judge": "j"})
    for row in results.rows:
        for metric, value in row.values.items():
            low, high = metrics.range(metric)
            assert metric in metrics.measures
            assert low <= value <= high
        assert row.setting.keys() <= {*settings, "split"}
        assert row.requests.keys() <= {*settings, "thinking_tokens"}
    assert all(bound.metric in metrics.measures for bound in results.bounds)


@pytest.mark.parametrize("change", ["model: GPT-4o-mini", "split: test_1", "arxiv:"])
def test_a_file_of_results_is_checked(tmp_path, change):
    """A misspelt field would otherwise be a result without its setting."""
    path = tmp_path / "published_results.yaml"
    text = (files("bowstring.benchmarks.hicupid") / "published_results.yaml").read_text()
    path.write_text(text)
    assert read_published_results(path) == registry.get("hicupid").published_results()
    path.write_text(text.replace(change, f"x{change}" if change != "split: test_1" else "split: [1]"))
    with pytest.raises(ValidationError):
        read_published_results(path)


def test_totals_of_the_paper_are_those_of_our_formula():
    rows = [row for row in registry.get("hicupid").published_results().rows if len(row.values) == 4]
    assert len(rows) == 4
    for row in rows:
        values = {name.removeprefix("score."): value for name, value in row.values.items()}
        total = (25 * values["persona"] + 5 * values["profile"] + 5 * values["schedule"]) / 40
        assert values["total"] == pytest.approx(total, abs=0.06)


def commands_of_the_page() -> list[list[str]]:
    """The evaluations in docs/reproducing.md, with the page's variables in place."""
    text = (Path(__file__).parents[2] / "docs" / "reproducing.md").read_text().replace("\\\n", " ")
    given = dict(re.findall(r"^([A-Z]+)=(\S+|\".*\")$", text, re.MULTILINE))
    lines = re.findall(r"^bowstring (eval .*?)(?:  +#.*)?$", text, re.MULTILINE)
    for name, value in given.items():
        lines = [line.replace(f"${name}", value.strip('"')) for line in lines]
    return [shlex.split(line) for line in lines]


def test_the_commands_of_the_page_are_accepted(hicupid_words, tmp_path):  # noqa: F811
    """On the mini set, without weights: those of adapters are left out."""
    shutil.copytree(hicupid_words, tmp_path / "words")
    import_words(tmp_path / "cupid")
    shutil.copytree(tmp_path / "cupid" / "words", tmp_path / "words", dirs_exist_ok=True)
    contriever = write_contriever(tmp_path / "contriever")
    commands = commands_of_the_page()
    assert len(commands) == 18
    for command in commands:
        if any("+adapters" in word for word in command):
            continue
        assert command[command.index("--data") + 1] == HUB_IDS[command[1]], "the published set"
        command[command.index("--data") + 1] = "mini"
        more = ["--retriever", str(contriever)] if "dense/" in str(command) else []
        ran = bowstring(*command, *more, "--dry-run", cwd=tmp_path)
        assert ran.code == 0, f"{command}: {ran.err}"
