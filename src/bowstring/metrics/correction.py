"""Scores corrected for judge errors, using a few items that people have labelled too.

    judged = {"x": [Score("user 1", 1.0), …]}                      # the judge, on all items
    labelled = {"x": [Labelled("user 1", human=0.5, judge=1.0), …]}   # people and judge, on some of them
    corrected(judged, labelled, lambda mean: 100 * mean["x"]).estimate

Prediction-powered inference: the mean of the judge's scores, plus the mean of (human - judge) where both are known.
The judge's scores are multiplied by the weight that minimizes the variance (power tuning), from 0 (human labels
alone) to 1. The estimate is unbiased whatever the judge is like, if the labelled items are a random sample. The
interval resamples users for both parts together and tunes again in every draw. A few labels show few of a judge's
errors, and resampling cannot reveal more: for the interval, two pseudo-labels are added, one of each error at its
maximum (as in adjusted intervals of paired proportions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.intervals import Estimate, bootstrap_estimate, estimate
from bowstring.metrics.linear import Ends, ends_by_component

Floats = npt.NDArray[np.float64]
LEAST = 10  # minimum number of labels for a correction


class Labelled(NamedTuple):
    cluster: str
    human: float
    judge: float


@dataclass(frozen=True, slots=True)
class Corrected:
    """`estimate` counts the labelled items and, for the component with fewest, their clusters, because these limit its
    precision. `judge` is the judge's score on all items, `people` the human score on the labelled items, and `trust`
    the weight of the judge by component."""

    estimate: Estimate
    judge: Estimate
    people: Estimate
    trust: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        return {
            "corrected": self.estimate.as_json(),
            "judge": self.judge.as_json(),
            "people": self.people.as_json(),
            "trust": dict(self.trust),
        }


def corrected(
    judged: Mapping[str, Sequence[Score]],
    labelled: Mapping[str, Sequence[Labelled]],
    statistic: Callable[[Means], Floats],
    *,
    ends: Ends = (0.0, 1.0),
) -> Corrected | None:
    """Return a statistic of corrected component means. None if a component has no scores or too few labels. `ends` are
    the lowest and highest possible score."""
    if any(len(labelled.get(name, ())) < LEAST for name in judged):
        return None
    people = {name: [Score(x.cluster, x.human) for x in labelled.get(name, ())] for name in judged}
    by_judge = estimate(judged, statistic, ends=ends)
    by_people = estimate(people, statistic, ends=ends)
    if by_judge is None or by_people is None:
        return None
    of = ends_by_component(ends, judged)
    bare: dict[str, Sequence[Score]] = {}
    roomy: dict[str, Sequence[Score]] = {}
    for name, scores in judged.items():
        bare |= {f"{name}/{part}": own for part, own in _parts(scores, labelled[name]).items()}
        low, high = of[name]
        added = [Labelled(f"\0{name}+", high, low), Labelled(f"\0{name}-", low, high)]
        roomy |= {f"{name}/{part}": own for part, own in _parts(scores, [*labelled[name], *added]).items()}
    trust: dict[str, float] = {}

    def of_corrected(means: Means) -> Floats:
        found = {}
        for name in judged:
            m = {part: means[f"{name}/{part}"] for part in _PARTS}
            weight = _trust(m)
            found[name] = m["y"] + weight * (m["all"] - m["f"])
            trust.setdefault(name, float(weight[0]))  # the first call is for the full sample
        return statistic(found)

    found, wide = bootstrap_estimate(bare, of_corrected), bootstrap_estimate(roomy, of_corrected)
    if found is None or wide is None:
        return None
    least, greatest = (
        float(statistic({name: np.asarray([of[name][which]]) for name in judged})[0]) for which in (0, 1)
    )
    value = min(max(found.value, least), greatest)
    low, high = max(least, min(wide.low, value)), min(greatest, max(wide.high, value))
    found = replace(found, value=value, low=low, high=high)
    fewest = min(len({x.cluster for x in labelled[name]}) for name in judged)
    return Corrected(replace(found, n=by_people.n, clusters=fewest), by_judge, by_people, trust)


_PARTS = ("all", "f", "y", "ff", "fy")


def _parts(scores: Sequence[Score], labelled: Sequence[Labelled]) -> dict[str, list[Score]]:
    """Return the scores whose means the estimator is a function of."""
    return {
        "all": list(scores),
        "f": [Score(x.cluster, x.judge) for x in labelled],
        "y": [Score(x.cluster, x.human) for x in labelled],
        "ff": [Score(x.cluster, x.judge * x.judge) for x in labelled],
        "fy": [Score(x.cluster, x.judge * x.human) for x in labelled],
    }


def _trust(m: Means) -> Floats:
    """Return the slope of human labels on judge scores, clipped to 0..1: the optimal weight when the labelled items are
    among all items. A judge with constant scores gets weight 0."""
    spread = m["ff"] - m["f"] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread > 1e-12, (m["fy"] - m["f"] * m["y"]) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    return np.clip(slope, 0.0, 1.0)
