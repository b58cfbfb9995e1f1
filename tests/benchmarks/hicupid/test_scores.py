"""HiCUPID's totals weigh question types as published."""

import pytest

from bowstring.benchmarks.hicupid.scores import AGAINST_GOLD, MEASURES
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES


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
    assert total("score", {"persona": 0.5, "profile": 0.5, "schedule": 1.0}) == pytest.approx(AGAINST_GOLD.ceiling)
