"""Where the variance of a score comes from: known components are found again."""

import numpy as np
import pytest

from bowstring.metrics.components import Part, components_of, variance_components
from bowstring.metrics.measures import mean
from bowstring.records import item_and_answer


def made(rng, *, users=200, items=8, answers=2, judgements=2, sd=None, personas=100):
    """Scores with a standard deviation for each source."""
    sd = {"cluster": 0.0, "group": 0.0, "item": 0.0, "answer": 0.0, "judgement": 0.0} | (sd or {})
    of_persona = rng.normal(0, sd["group"], size=personas)
    found = []
    for user in range(users):
        of_user = rng.normal(0, sd["cluster"])
        for item, persona in enumerate(rng.choice(personas, size=items, replace=False)):
            of_item = rng.normal(0, sd["item"])
            for answer in range(answers):
                of_answer = rng.normal(0, sd["answer"])
                for _ in range(judgements):
                    error = of_user + of_persona[persona] + of_item + of_answer + rng.normal(0, sd["judgement"])
                    found.append((str(user), str(persona), f"{user}-{item}", str(answer), float(error)))
    middle = np.mean([row[-1] for row in found])
    return [Part(*row[:-1], row[-1] - middle) for row in found]


SD = {"cluster": 1.0, "group": 0.7, "item": 1.2, "answer": 0.8, "judgement": 0.5}


def test_known_components_are_found_again():
    found = variance_components(made(np.random.default_rng(1), sd=SD))
    assert set(found.variances) == set(SD)
    for source, sd in SD.items():
        assert found.variances[source] == pytest.approx(sd**2, rel=0.3), source
    assert sum(found.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("only", list(SD))
def test_a_single_source_is_named(only):
    found = variance_components(made(np.random.default_rng(2), users=100, personas=40, sd={only: 1.0}))
    assert found.variances[only] == pytest.approx(1, rel=0.35)
    assert all(variance < 0.12 for source, variance in found.variances.items() if source != only)


def test_the_shares_are_those_of_the_variance_of_the_mean():
    """Against the spread of the means of many samples, with one source at a time taken away."""
    rng = np.random.default_rng(3)

    def spread(sd):
        rows = [made_mean(rng, sd) for _ in range(400)]
        return float(np.var(rows))

    def made_mean(rng, sd):
        users, items, answers, judgements = 12, 5, 2, 2
        shape = (users, items, answers, judgements)
        return float(
            np.mean(
                rng.normal(0, sd["cluster"], size=(users, 1, 1, 1))
                + rng.normal(0, sd["item"], size=(users, items, 1, 1))
                + rng.normal(0, sd["answer"], size=(users, items, answers, 1))
                + rng.normal(0, sd["judgement"], size=shape)
            )
        )

    sd = {source: value for source, value in SD.items() if source != "group"}
    whole = spread(sd)
    parts = made(rng, users=400, items=5, sd=sd, personas=400)
    shares = variance_components([part._replace(group=None) for part in parts]).shares
    assert 1 - spread(sd | {"cluster": 0.0}) / whole == pytest.approx(shares["cluster"], abs=0.12)


def test_what_was_not_repeated_is_part_of_the_items():
    once = variance_components(made(np.random.default_rng(4), answers=1, judgements=1, sd=SD))
    assert set(once.variances) == {"cluster", "group", "item"}
    together = SD["item"] ** 2 + SD["answer"] ** 2 + SD["judgement"] ** 2
    assert once.variances["item"] == pytest.approx(together, rel=0.2)
    twice = variance_components(made(np.random.default_rng(5), answers=2, judgements=1, sd=SD))
    assert set(twice.variances) == {"cluster", "group", "item", "answer"}
    assert twice.variances["answer"] == pytest.approx(SD["answer"] ** 2 + SD["judgement"] ** 2, rel=0.2)


def test_twice_as_many_of_what_varies_narrows_and_of_what_does_not_does_not():
    only_users = variance_components(made(np.random.default_rng(6), users=300, sd={"cluster": 1.0}))
    assert only_users.narrower_with_twice("cluster") == pytest.approx(1 - 0.5**0.5)
    assert only_users.narrower_with_twice("item") < 0.02
    only_judge = variance_components(made(np.random.default_rng(7), sd={"judgement": 1.0}))
    assert only_judge.narrower_with_twice("judgement") > 0.15 > 0.02 > only_judge.shares["item"]


def test_without_variance_or_users_there_is_nothing_to_tell():
    alike = [Part(str(n), None, str(n), "1", 0.0) for n in range(10)]
    assert variance_components(alike) is None
    assert variance_components([Part("anna", None, str(n), "1", float(n)) for n in range(5)]) is None
    assert variance_components([]) is None


def test_records_of_a_run_are_told_apart_by_answer_and_judgement():
    rng = np.random.default_rng(8)
    records = []
    for user in range(60):
        for item in range(5):
            key = f"{user}-{item}"
            for answer in (1, 2, 3):
                record = {"key": key, "score": float(rng.random() < 0.5)}
                again = {} if answer == 1 else {"key": f"{key}#{answer}", "repeat": {"of": key, "answer": answer}}
                records.append((str(user), record | again))
    found = components_of(mean(lambda r: r["score"], 100), records, item_and_answer)
    assert found.shares["answer"] > 0.8, "coins: all variance is the model's own"
