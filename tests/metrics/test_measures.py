"""A benchmark defines its metrics once: their scales, their order, and the main metric."""

import pytest

from bowstring.benchmarks import registry
from bowstring.metrics.measures import CORRELATION, NO_METRICS, PERCENT, SHARE, Measure, MetricSet, Scale, mean


def having(*names):
    return set(names).__contains__


@pytest.mark.parametrize(
    ("scale", "value", "shown", "place"),
    [
        (PERCENT, 1234.56, "1,234.6", 1234.56),
        (PERCENT, 50, "50.0", 50),
        (SHARE, 0.25, "0.250", 25),
        (CORRELATION, 0, "0.00", 50),
        (Scale(1, 10, decimals=2), 5.5, "5.50", 50),
    ],
)
def test_a_scale_says_how_a_value_is_printed_and_where_it_stands(scale, value, shown, place):
    assert scale.number(value) == shown
    assert scale.place(value) == place
    assert scale.number(None) == "–"


def test_the_range_of_a_rating_is_that_of_the_protocol():
    of = registry.get("cupid").metrics
    assert of({"settings": {"protocol": "bowstring"}}).range("generation.score") == (1, 10)
    assert of({"settings": {"protocol": "published"}}).range("generation.score") == (0, 10)
    assert of({}).range("inference_generation.correlation") == (-1, 1)
    for protocol in ("bowstring", "published"):
        rated = of({"settings": {"protocol": protocol}}).measures["generation.score"]
        assert rated.ends == rated.scale.limits


def test_a_run_is_about_the_first_leading_metric_that_it_has():
    metrics = registry.get("hicupid").metrics({})
    assert metrics.lead(["bleu", "score.schedule", "score.persona"]) == "score.persona"
    assert metrics.lead(["recall.total", "bleu"]) == "recall.total"
    assert metrics.lead(["bleu"]) is None
    assert NO_METRICS.lead(["bleu"]) is None


def test_a_group_is_described_by_one_number_or_by_one_per_task():
    of = registry.get("hicupid").metrics({}).group_metrics
    assert of(having("score.persona", "score.total", "recall.total")) == ["score.total"]
    assert of(having("score.persona", "bleu"), "bleu") == ["bleu"]
    assert of(having("recall.persona"), "score.total") == ["recall.persona"]
    assert of(having("bleu")) == []
    of = registry.get("cupid").metrics({}).group_metrics
    both = having("inference.f1", "generation.score", "inference.recall")
    assert of(both) == ["inference.f1", "generation.score"]
    assert of(both, "generation.score") == ["generation.score", "inference.f1"]
    assert of(both, "inference.recall") == ["inference.recall", "inference.f1", "generation.score"]


def test_every_name_that_a_benchmark_states_is_one_of_its_metrics():
    for name in registry.names():
        metrics = registry.get(name).metrics({})
        known = {*metrics.measures, *metrics.scales}
        chiefs = [family.chief for family in metrics.families.values() if family.chief]
        of_groups = [name for names in metrics.of_group for name in names]
        stated = [*metrics.leading, *metrics.headline, *metrics.columns, *metrics.secondary, *of_groups, *chiefs]
        assert set(stated) <= known
        assert {name.partition(".")[0] for name in metrics.leading} <= metrics.families.keys()


def test_measures_alone_are_enough():
    metrics = MetricSet({"right": mean(lambda record: record.get("right"), 100), "other": mean(lambda record: None)})
    names = {"other", "right", "odd"}
    assert metrics.lead(names) == "right"
    assert metrics.headlines(names) == metrics.sweep_columns(names) == ["right", "other"]
    assert metrics.group_metrics(names.__contains__) == ["right"]
    assert metrics.number(12.345, "odd") == "12.3"
    assert NO_METRICS.number(1234.5678, "odd") == "1,235"


@pytest.mark.parametrize(
    ("scale", "times", "ends"), [(PERCENT, 100, (0, 1)), (SHARE, 1, (0, 1)), (Scale(1, 5), 1, (1, 5))]
)
def test_the_ends_of_a_mean_are_those_of_its_scale(scale, times, ends):
    """Without them an interval around 20 answers that all got a 5 out of 5 would reach from 0 to 1."""
    assert mean(lambda record: record["x"], times, scale).ends == ends


def repeated(item, answer, **fields):
    return ("anna", {"key": f"{item}#{answer}", "repeat": {"of": item, "answer": answer}, **fields})


def test_answers_that_fail_among_repeated_ones_count_for_their_share():
    """Thirty items with three answers: the first is right, the others failed."""
    measure = mean(lambda record: record.get("score"), 100)
    records = []
    for n in range(30):
        records += [("anna", {"key": str(n), "score": 1.0})]
        records += [repeated(str(n), answer, failure={}) for answer in (2, 3)]
    found = measure.estimate(records)
    assert (found.value, found.n, found.missing.items, found.missing.records) == (100, 30, 0, 60)
    assert found.missing.as_worst == pytest.approx(100 / 3)
    assert found.missing.bounds == pytest.approx((100 / 3, 100))


def test_an_item_with_many_answers_weighs_no_more_than_one_with_few():
    """Also where answers contribute different numbers of values."""
    measure = Measure(("p",), lambda record: {"p": record["found"]}, lambda means: 100 * means["p"])
    records = [("anna", {"key": "right", "found": [1.0, 1.0, 1.0]}), ("bob", {"key": "wrong", "found": [0.0] * 3})]
    records += [("bob", repeated("wrong", n, found=[0.0] * (3 + n % 2))[1]) for n in range(2, 11)]
    found = measure.estimate(records)
    assert found.value == pytest.approx(50, abs=8)
    assert found.n < 8
