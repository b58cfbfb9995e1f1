"""A third-party benchmark that defines only what is required is displayed like ours."""

import re

import pytest

from bowstring.benchmarks import registry
from bowstring.benchmarks.figures import Histogram, Stack
from bowstring.benchmarks.interface import Benchmark, Noun
from bowstring.benchmarks.view import View
from bowstring.errors import UsageError
from bowstring.metrics.measures import MetricSet, Scale, mean
from bowstring.reports.figures import figures_of
from bowstring.reports.page import write_page
from bowstring.reports.sweep_page import write_sweep_page
from bowstring.reports.tables import sweep_tables, tables_of, to_markdown

SCORED = MetricSet(
    {
        "right": mean(lambda r: r.get("score"), 100, Scale(ceiling=80.0, ceiling_means="as good as an expert")),
        "words": mean(lambda r: len(r["answer"].split()) if "answer" in r else None, scale=Scale(0, 500, decimals=0)),
    }
)


class Trivia(Benchmark):
    name = "trivia"
    title = "Trivia <b>"
    about = "Questions that anybody could ask."
    item = Noun("riddle", "riddles")
    cluster = Noun("team", "teams")

    def templates(self):
        raise NotImplementedError

    def read(self, locate, choice):
        raise NotImplementedError

    def opener(self, data, settings, context):
        raise NotImplementedError

    def metrics(self, settings):
        return SCORED


@pytest.fixture
def trivia(monkeypatch):
    known, get = registry.names(), registry.get
    monkeypatch.setattr(registry, "names", lambda: (*known, "trivia"))
    monkeypatch.setattr(registry, "get", lambda name: Trivia() if name == "trivia" else get(name))


def record(n, kind="easy", **more):
    return {"key": f"k{n}", "type": kind, "question": f"What is {n}?", "gold": "It is.", "user": n % 3} | more


def answered(n, kind="easy", **more):
    return record(n, kind, answer="It is " + "so " * n, judgement="<i>good</i>", score=(n % 4) / 4) | more


FAILED = record(9, "hard", failure={"stage": "answer", "kind": "other", "reason": "no luck"})
RECORDS = [*(answered(n, "easy" if n % 2 else "hard") for n in range(8)), FAILED]


def metrics_of(records, **more):
    benchmark = Trivia()

    def estimated(own):
        clustered = [(benchmark.cluster_of(r), r) for r in own]
        found = {name: measure.estimate(clustered) for name, measure in SCORED.measures.items()}
        return {name: e.as_json() for name, e in found.items() if e is not None}

    groups = {a: {g: estimated(own) for g, own in of.items()} for a, of in benchmark.grouped(records).items()}
    config = {"model": "m", "judge": "j", "data": {"name": "d", "revision": None, "fingerprint": "f"}}
    config |= {"settings": {"history": "full"}, "prompts": {}}
    counts = {"n": len(records), "failed": 1, "unparsed": 0}
    return {"benchmark": "trivia", "metrics": estimated(records), "groups": groups, "usage": {}, "notes": []} | {
        **counts,
        "config": config,
        **more,
    }


def words(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_its_page_has_its_own_words_and_scales(trivia):
    page = write_page(metrics_of(RECORDS), RECORDS)
    assert "<h1>Trivia &lt;b&gt;: m</h1>" in page
    text = words(page)
    assert "9 riddles · judge j · history full" in text
    assert "right: 0 to 100, higher is better; 80 is as good as an expert." in text
    assert "words: 0 to 500, higher is better." in text
    assert "fewer than 30 teams" in text
    assert "1 failed, 0 unparsed" in text
    assert 'aria-label="Search riddles, answers and verdicts"' in page
    for word in ("CUPID", "persona", "users", "questions"):
        assert word not in text


def test_its_figures_are_of_its_metrics_scores_lengths_and_types(trivia):
    found = {figure.name: figure for figure in figures_of(metrics_of(RECORDS), RECORDS)}
    assert list(found) == ["metrics", "scores", "lengths", "right-by-type"]
    assert [mark.label for mark in found["metrics"].marks] == ["right"], "words are on another scale"
    assert found["metrics"].scale.limits == (0, 100)
    assert isinstance(found["scores"], Histogram)
    assert sum(found["scores"].counts("answers")) == 8
    assert [mark.label for mark in found["right-by-type"].marks] == ["hard", "easy"]


def test_verdicts_of_any_name_are_drawn(trivia):
    judged = [answered(n, verdict="right" if n % 3 else "wrong") for n in range(8)] + [FAILED]
    found = {figure.name: figure for figure in figures_of(metrics_of(judged), judged)}
    assert isinstance(found["verdicts"], Stack)
    assert found["verdicts"].segments() == ["wrong", "right"]
    assert sum(found["verdicts"].lost.values()) == 1, "the failed one"
    page = write_page(metrics_of(judged), judged)
    assert "right: 5 of 8" in page
    assert "wrong: 3 of 8" in page


def test_items_can_be_read_and_compared():
    view = View()
    item = view.item(answered(3, evidence=[1], retrieved=[2]))
    assert (item.title, item.facets["type"], item.facets["score"]) == ("What is 3?", "easy", "0.75")
    assert dict(item.parts)["judge"] == "<i>good</i>"
    assert (item.history, item.evidence, item.retrieved) == ("0", [1], [2])
    failed = view.item(FAILED)
    assert dict(failed.parts)["failure"] == "answer: no luck"
    assert failed.facets.keys() == item.facets.keys()
    assert view.run_answer("right", answered(3)).verdict == "score 0.75"
    assert view.run_answer("right", answered(3, verdict="wrong")).verdict == "wrong"
    assert view.run_answer("right", FAILED).verdict == "failed"
    assert (view.question_text(FAILED), view.gold(FAILED), view.gold({"key": "k"})) == ("What is 9?", "It is.", "")


def test_tables_and_sweeps_have_its_columns(trivia):
    metrics = metrics_of(RECORDS)
    scores, by_type = tables_of(metrics)
    assert [row[0] for row in scores.rows] == ["right", "words"]
    assert by_type.name == "by-type"
    assert "fewer than 30 teams" in to_markdown(scores)
    point = {
        "folder": "a",
        "complete": True,
        "context_tokens": 10.0,
        "settings": {},
        "n": 9,
        "failed": 1,
        "unparsed": 0,
    }
    points = {name: point | {"metrics": metrics["metrics"]} for name in ("none", "full")}
    summary = {"benchmark": "trivia", "points": points, "notes": [], "tokenizer": "t"}
    summary["config"] = {name: value for name, value in metrics["config"].items() if name != "settings"}
    page = words(write_sweep_page(summary))
    assert "clustered by teams" in page
    assert "history shown, tokens per riddle" in page
    assert sweep_tables(summary)[0].columns == ["history", "tokens", "right", "words"]


def test_without_its_package_a_page_says_what_is_missing():
    with pytest.raises(UsageError, match="a run of the benchmark trivia, which is not installed; install its package"):
        write_page(metrics_of(RECORDS), RECORDS)
