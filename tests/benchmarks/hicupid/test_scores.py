"""HiCUPID's totals weigh question types as published."""

import pytest

from bowstring.benchmarks.hicupid.published import read_score
from bowstring.benchmarks.hicupid.scores import MEASURES, METRICS, metrics_by, rule_of_difference, summarize
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.benchmarks.hicupid.view import HicupidView
from bowstring.judging.verdicts import read_pairwise, read_satisfaction


def total(metric, values):
    records = [("anna", {"type": kind, metric: values[kind]}) for kind in QUESTION_TYPES]
    return MEASURES[f"{metric}.total"].estimate(records).value


@pytest.mark.parametrize(
    ("kind", "score", "recall"), [("persona", 62.5, 62.5), ("profile", 12.5, 12.5), ("schedule", 12.5, 25)]
)
def test_a_total_weighs_question_types_as_published(kind, score, recall):
    alone = {one: float(one == kind) for one in QUESTION_TYPES}
    assert total("score", alone) == pytest.approx(score)
    assert total("recall", alone) == pytest.approx(recall)


def test_answers_as_good_as_gold_reach_the_ceiling():
    gold = total("score", {"persona": 0.5, "profile": 0.5, "schedule": 1.0})
    assert gold == pytest.approx(METRICS.scale("score.total").ceiling) == 50


def test_the_total_ends_where_the_best_answers_are():
    best = total("score", dict.fromkeys(QUESTION_TYPES, 1.0))
    assert best == pytest.approx(METRICS.scale("score.total").high) == 87.5
    assert total("recall", dict.fromkeys(QUESTION_TYPES, 1.0)) == METRICS.scale("recall.total").high == 100


def gold_records(users=40):
    return [
        {
            "key": f"{user}-{kind}-{n}",
            "user": user,
            "type": kind,
            "split": "test_1",
            "score": 1.0 if kind == "schedule" else 0.5,
            "verdict": "yes" if kind == "schedule" else "tie",
            "judgement": "",
            "answer": "tea",
            "personalized_answer": "tea",
            "persona": {"category": "tea", "relation": "likes", "entity": str(n), "sentiment": "POS"},
        }
        for user in range(users)
        for kind, many in {"persona": 3, "profile": 1, "schedule": 1}.items()
        for n in range(many)
    ]


def test_under_the_truth_judge_gold_answers_are_at_the_end_of_the_scale():
    for name in ("score.total", "score.persona", "score.profile"):
        by_truth = metrics_by("truth").measures[name].estimate([(str(r["user"]), r) for r in gold_records()])
        assert (by_truth.value, by_truth.high, by_truth.range) == (50, 50, (0, 50))
        by_model = MEASURES[name].estimate([(str(r["user"]), r) for r in gold_records()])
        assert by_model.high > 50, "another judge could have preferred the answer"
    schedule = metrics_by("truth").measures["score.schedule"].estimate([(str(r["user"]), r) for r in gold_records()])
    assert (schedule.value, schedule.range) == (100, (0, 100))


def test_what_is_missing_counts_at_most_as_the_judge_could_have_given():
    records = gold_records()
    for record in records[:40]:
        record |= {"score": None, "verdict": None}
    missing = summarize(records, "truth")["metrics"]["score.total"]["missing"]
    assert missing["bounds"][1] == pytest.approx(50)
    assert summarize(records)["metrics"]["score.total"]["missing"]["bounds"][1] > 50


@pytest.mark.parametrize(
    ("kind", "said", "rule"),
    [
        ("persona", "Better Response: B, because A is worse", "the last letter of the line is the verdict"),
        ("persona", "Better Response: A\nNo:\nBetter Response: B", "the first verdict counts"),
        ("schedule", "Satisfaction: YES, not NO", "the last YES or NO of the line is the verdict"),
        ("schedule", "Satisfaction: NO\nSatisfaction: YES", "the first verdict counts"),
        ("persona", "Better: neither", "a verdict that cannot be read is a tie"),
    ],
)
def test_the_rule_of_a_difference_is_the_one_that_made_it(kind, said, rule):
    own = scored(said, kind)
    assert own["published"]["score"] != own["score"]
    assert rule_of_difference(own) == rule


def scored(said: str, kind: str) -> dict:
    """A record of an answer on side B."""
    if kind == "schedule":
        satisfied = read_satisfaction(said)
        score = None if satisfied is None else float(satisfied)
    else:
        choice = read_pairwise(said)
        score = None if choice is None else float(choice == "B")
    return {"type": kind, "judgement": said, "score": score, "published": read_score(kind, said, "B")._asdict()}


def test_bars_and_rates_have_one_denominator():
    records = gold_records(10)
    for record in records[:5]:
        record |= {"score": None, "verdict": None}
    compared = [r for r in records if r["type"] != "schedule"]
    stack = next(iter(HicupidView().figures(records, METRICS)))
    in_bars = sum(sum(stack.rows[kind].values()) for kind in ("persona", "profile"))
    assert in_bars == summarize(records)["metrics"]["tie"]["n"] < len(compared)
    assert sum(stack.lost.values()) == 5
    assert stack.size("persona") == f"n {sum(stack.rows['persona'].values())}, {stack.lost['persona']} missing"
