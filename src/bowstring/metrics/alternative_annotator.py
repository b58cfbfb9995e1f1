"""The alternative annotator test: is a judge as good as one more person? (Calderon, Reichart and Dror, ACL 2025)

    alternative_annotator_test("gpt-4o", table, epsilon=0.1)["winning_rate"]

Each person is left out in turn. On the items that this person and the judge rated, both are compared with the other
people: who agrees with them at least as well? The judge wins against the person if it is not worse by more than
epsilon, which allows for its lower cost. It may replace people if it wins against half of them or more.

Differences from the paper: the test allows for clusters of items, and a person with fewer than 30 items is left out,
where the paper offers another test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.comparing import LEVEL, Difference, difference
from bowstring.metrics.linear import Floats
from bowstring.metrics.rating_table import RatingTable

# The paper's values: 0.2 if the people are experts, 0.15 if they are skilled, 0.1 if they are crowd workers.
DEFAULT_EPSILON = 0.1
LEAST_PEOPLE = 3
LEAST_ITEMS = 30  # of a person
REPLACES = 0.5  # the winning rate from which a judge may replace people
_ROUNDING = 1e-9


def alternative_annotator_test(judge: str, table: RatingTable, epsilon: float = DEFAULT_EPSILON) -> dict[str, Any]:
    """Test a judge against every person who rated enough of its items, ready for JSON.

    `advantage` is the mean probability that the judge agrees with the other people at least as well as the person who
    is left out, and the same for the person. Without enough people, `winning_rate` and `replaces` are None.
    """
    scores = {person: own for person in table.people if (own := _scores(judge, person, table))}
    tested = {person: own for person, own in scores.items() if len(own[0]) >= LEAST_ITEMS}
    found = {person: _compare(*own, epsilon) for person, own in tested.items()}
    corrected = benjamini_yekutieli([p for _, p in found.values()])
    people = {
        person: _as_json(apart, tested[person], p, adjusted)
        for (person, (apart, p)), adjusted in zip(found.items(), corrected, strict=True)
    }
    enough = len(people) >= LEAST_PEOPLE
    rate = fmean(own["wins"] for own in people.values()) if enough else None
    return {
        "epsilon": epsilon,
        "compared_by": "distance" if _by_distance(table) else "equal labels",
        "people": people,
        "too_few_items": {person: len(own[0]) for person, own in scores.items() if person not in tested},
        "least_people": LEAST_PEOPLE,
        "least_items": LEAST_ITEMS,
        "advantage": {side: fmean(own[side] for own in people.values()) for side in ("judge", "person")}
        if people
        else None,
        "winning_rate": rate,
        "replaces": None if rate is None else rate >= REPLACES,
    }


def _as_json(found: Difference, scores: tuple[list[Score], list[Score]], p: float, corrected: float) -> dict[str, Any]:
    judge, person = (fmean(score.value for score in side) for side in scores)
    return {
        "n": found.n,
        "clusters": found.clusters,
        "trusted": found.trusted,
        "judge": judge,
        "person": person,
        "difference": {"value": found.value, "low": found.low, "high": found.high},
        "p": p,
        "corrected": corrected,
        "wins": corrected <= LEVEL,
    }


def _by_distance(table: RatingTable) -> bool:
    return table.scale.numeric and table.scale.level == "interval"


def _scores(judge: str, person: str, table: RatingTable) -> tuple[list[Score], list[Score]] | None:
    """Return, for every item of both that somebody else rated, whether the judge agrees with the others at least as
    well as the person, and whether the person agrees at least as well as the judge. Both are 1 if they are equal."""
    judged, said = table.raters[judge], table.raters[person]
    sides: tuple[list[Score], list[Score]] = ([], [])
    for item in table.shared_by(person, judge):
        others = table.other_votes(item, person)
        if not others.total():
            continue
        apart = _alignment(judged[item], others, table) - _alignment(said[item], others, table)
        for side, wins in zip(sides, (apart > -_ROUNDING, apart < _ROUNDING), strict=True):
            side.append(Score(table.clusters[item], float(wins)))
    return sides if sides[0] else None


def _alignment(label: str, others: Counter[str], table: RatingTable) -> float:
    """Return how well a label agrees with those of others: the share that is equal; of numbers, the negative mean
    squared distance, which orders labels as the paper's root mean square does."""
    if not _by_distance(table) or table.scale.values is None:
        return others[label] / others.total()
    values = table.scale.values
    return -sum(n * (values[label] - values[other]) ** 2 for other, n in others.items()) / others.total()


def _compare(judge: Sequence[Score], person: Sequence[Score], epsilon: float) -> tuple[Difference, float]:
    """Return judge − person, and the one-sided p-value of a judge that is worse by epsilon or more."""
    apart = _paired(judge, person)
    allowed = _paired([score._replace(value=score.value + epsilon) for score in judge], person, 1 + epsilon)
    return apart, allowed.p / 2 if allowed.value > 0 else 1 - allowed.p / 2


def _paired(judge: Sequence[Score], person: Sequence[Score], most: float = 1.0) -> Difference:
    found = difference({"x": person}, {"x": judge}, _mean, items=len(judge), ends=(0.0, most))
    assert found is not None  # both sides have scores
    return found


def _mean(means: Means) -> Floats:
    return means["x"]


def benjamini_yekutieli(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for the false discovery rate under any dependence."""
    n = len(ps)
    factor = n * sum(1 / rank for rank in range(1, n + 1))
    corrected = [1.0] * n
    at_most = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(n), key=lambda k: ps[k]), 1))):
        at_most = min(at_most, factor * ps[place] / rank)
        corrected[place] = at_most
    return corrected
