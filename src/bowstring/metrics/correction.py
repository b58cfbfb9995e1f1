"""Scores corrected for the judge's mistakes, from a few items that people have labelled too.

    judged = {"x": [Score("user 1", 1.0), …]}                      # the judge, on all items
    labelled = {"x": [Labelled("user 1", human=0.5, judge=1.0), …]}   # people and judge, on some of them
    corrected(judged, labelled, lambda mean: 100 * mean["x"]).estimate

Prediction-powered inference: the mean of the judge's scores, plus the mean of what people say less what the judge
says where both are known. The judge is trusted as far as it goes with people: its scores are multiplied by the weight
that makes the variance least (power tuning), from 0, people's labels alone, to 1. Right on average whatever the judge
is like, if the labelled items were drawn by lot. The interval resamples users for both parts at once, and tunes anew
in every draw. A few labels show hardly any of a judge's mistakes, and resampling them shows no more: for the interval,
two labels that nobody gave are added, one of each mistake at its greatest (as adjusted intervals of paired proportions
do).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, Means, Score, estimate

Floats = npt.NDArray[np.float64]
LEAST = 10  # labels without which nothing is corrected


class Labelled(NamedTuple):
    cluster: str
    human: float
    judge: float


@dataclass(frozen=True, slots=True)
class Corrected:
    """`estimate` counts the labelled items and, of the component with fewest, their clusters, for those are what it
    hangs on; beside it the judge's own number on all items, people's alone on the labelled ones, and how far the judge
    was trusted, by component."""

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
    ends: tuple[float, float] = (0.0, 1.0),
) -> Corrected | None:
    """A statistic of corrected component means. None where a component has no scores, or too few labels. `ends` are the
    least and the greatest score there can be."""
    if any(len(labelled.get(name, ())) < LEAST for name in judged):
        return None
    people = {name: [Score(x.cluster, x.human) for x in labelled.get(name, ())] for name in judged}
    by_judge = estimate(judged, statistic, ends=ends)
    by_people = estimate(people, statistic, ends=ends)
    if by_judge is None or by_people is None:
        return None
    bare: dict[str, Sequence[Score]] = {}
    roomy: dict[str, Sequence[Score]] = {}
    for name, scores in judged.items():
        bare |= {f"{name}/{part}": own for part, own in _parts(scores, labelled[name]).items()}
        added = [Labelled(f"\0{name}+", ends[1], ends[0]), Labelled(f"\0{name}-", ends[0], ends[1])]
        roomy |= {f"{name}/{part}": own for part, own in _parts(scores, [*labelled[name], *added]).items()}
    trust: dict[str, float] = {}

    def of_corrected(means: Means) -> Floats:
        found = {}
        for name in judged:
            m = {part: means[f"{name}/{part}"] for part in _PARTS}
            weight = _trust(m)
            found[name] = m["y"] + weight * (m["all"] - m["f"])
            trust.setdefault(name, float(weight[0]))  # the first call is of the whole
        return statistic(found)

    found, wide = estimate(bare, of_corrected), estimate(roomy, of_corrected)
    if found is None or wide is None:
        return None
    least, greatest = (float(statistic({name: np.asarray([end]) for name in judged})[0]) for end in ends)
    value = min(max(found.value, least), greatest)
    low, high = max(least, min(wide.low, value)), min(greatest, max(wide.high, value))
    found = replace(found, value=value, low=low, high=high)
    fewest = min(len({x.cluster for x in labelled[name]}) for name in judged)
    return Corrected(replace(found, n=by_people.n, clusters=fewest), by_judge, by_people, trust)


_PARTS = ("all", "f", "y", "ff", "fy")


def _parts(scores: Sequence[Score], labelled: Sequence[Labelled]) -> dict[str, list[Score]]:
    """What the estimator is a function of the means of."""
    return {
        "all": list(scores),
        "f": [Score(x.cluster, x.judge) for x in labelled],
        "y": [Score(x.cluster, x.human) for x in labelled],
        "ff": [Score(x.cluster, x.judge * x.judge) for x in labelled],
        "fy": [Score(x.cluster, x.judge * x.human) for x in labelled],
    }


def _trust(m: Means) -> Floats:
    """The slope of people on the judge, between 0 and 1: with the labelled among all items, the best weight. A judge
    that says the same of all of them tells nothing, and is not trusted."""
    spread = m["ff"] - m["f"] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread > 1e-12, (m["fy"] - m["f"] * m["y"]) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    return np.clip(slope, 0.0, 1.0)
