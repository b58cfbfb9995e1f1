"""A metric, said once: what each record adds to its components, and the statistic of their means.

A run's own numbers and the comparison of runs are both made from these, so that they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, Means, Score, estimate

Floats = npt.NDArray[np.float64]
Parts = Mapping[str, Sequence[float]]  # component: the values that a record adds to it
Clustered = Iterable[tuple[str, Mapping[str, Any]]]  # records, each with the cluster that it is in


@dataclass(frozen=True, slots=True)
class Measure:
    components: tuple[str, ...]
    of: Callable[[Mapping[str, Any]], Parts]
    statistic: Callable[[Means], Floats]
    higher_is_better: bool = True
    ends: tuple[float, float] = (0.0, 1.0)  # the least and the greatest value that a record can add

    def parts(self, record: Mapping[str, Any]) -> Parts | None:
        """What a record adds; None where it has nothing to say: it failed, was not read, or is of another kind."""
        found = self.of(record)
        mine = {name: found[name] for name in self.components if found.get(name)}
        return mine or None

    def gathered(self, parts: Iterable[tuple[str, Parts | None]]) -> dict[str, list[Score]]:
        """The scores of each component, from the parts of records with their clusters."""
        scores: dict[str, list[Score]] = {name: [] for name in self.components}
        for cluster, own in parts:
            for name, values in (own or {}).items():
                scores[name] += [Score(cluster, value) for value in values]
        return scores

    def scores(self, records: Clustered) -> dict[str, list[Score]]:
        return self.gathered((cluster, self.parts(record)) for cluster, record in records)

    def estimate(self, records: Clustered) -> Estimate | None:
        return self.of_scores(self.scores(records))

    def of_scores(self, scores: Mapping[str, Sequence[Score]]) -> Estimate | None:
        return estimate(scores, self.statistic, ends=self.ends)


def mean(of: Callable[[Mapping[str, Any]], float | None], scale: float = 1.0) -> Measure:
    """The mean of one number a record, where it has it."""

    def parts(record: Mapping[str, Any]) -> Parts:
        value = of(record)
        return {} if value is None else {"x": (value,)}

    return Measure(("x",), parts, lambda means: scale * means["x"])
