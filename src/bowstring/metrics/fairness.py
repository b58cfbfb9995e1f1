"""The largest gap between groups of users, and whether it is more than chance.

The best and the worst of several groups always differ. `p` is the share of random regroupings of the same users whose
largest gap is at least as large, `chance` what 95% of them stay below. The interval holds for all pairs of groups at
once, so it excludes 0 no more often than one chosen beforehand would. A run has many gaps; `correct_gaps` corrects
their p-values together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import ClusterSums, Means, Score
from bowstring.metrics.comparing import LEVEL, holm
from bowstring.metrics.intervals import TRUSTED_CLUSTERS, variance_of
from bowstring.metrics.linear import columns_of, linearize

SHUFFLES = 2000
FEWEST = 5  # minimum users per group
_ENDS = (0.0, 1.0)  # range of the scores
_SEED = 20250603

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gap:
    value: float
    low: float
    high: float
    n: int  # users
    best: str
    worst: str
    p: float
    chance: float  # the largest gap of 95% of random groupings
    trusted: bool
    corrected: float | None = None  # p, corrected for all gaps of a run

    @property
    def established(self) -> bool:
        return self.corrected is not None and self.corrected < LEVEL

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"established": self.established}


def largest_gap(groups: Mapping[str, Mapping[str, Sequence[Score]]], statistic: Callable[[Means], Array]) -> Gap | None:
    """Return the largest gap between groups in a statistic of component means; each group is {component: scores}.

    Groups of fewer than five users are left out. None if fewer than two are left, or there is no gap.
    """
    scores = {name: components for name, components in groups.items() if all(components.values())}
    tables = {name: ClusterSums(components) for name, components in scores.items()}
    tables = {name: table for name, table in tables.items() if len(table.clusters) >= FEWEST}
    if len(tables) < 2:
        return None
    values = {name: float(statistic(table.means())[0]) for name, table in tables.items()}
    best, worst = max(values, key=lambda g: values[g]), min(values, key=lambda g: values[g])
    gap = values[best] - values[worst]
    if gap <= 0:
        return None
    rng = np.random.default_rng(_SEED)
    with np.errstate(invalid="ignore", divide="ignore"):
        shuffled = _shuffled_gaps(list(tables.values()), statistic, rng)
    reach = _widest_error({name: scores[name] for name in tables}, statistic, rng)
    # One is added to numerator and denominator: the observed grouping is one of the possible ones.
    p = (1 + int((shuffled >= gap - 1e-9).sum())) / (1 + len(shuffled))
    users = sum(len(table.clusters) for table in tables.values())
    trusted = min(len(tables[best].clusters), len(tables[worst].clusters)) >= TRUSTED_CLUSTERS
    chance = float(np.percentile(shuffled, 95))
    return Gap(gap, gap - reach, gap + reach, users, best, worst, p, chance, trusted)


def correct_gaps(gaps: Mapping[Any, Gap]) -> dict[Any, Gap]:
    """Correct the p-values of all gaps of a run together, by Holm's method."""
    corrected = holm([gap.p for gap in gaps.values()])
    return {name: replace(gap, corrected=p) for (name, gap), p in zip(gaps.items(), corrected, strict=True)}


def _widest_error(
    groups: Mapping[str, Mapping[str, Sequence[Score]]], statistic: Callable[[Means], Array], rng: np.random.Generator
) -> float:
    """Return how far apart the errors of any two groups are at most, in 95% of samples."""
    errors = []
    for components in groups.values():
        (columns,), clusters = columns_of(components)
        error = float(np.sqrt(variance_of(linearize(columns, statistic, _ENDS, clusters))))
        errors.append(error * rng.standard_t(clusters - 1, size=SHUFFLES))
    return float(np.percentile(np.ptp(np.asarray(errors), axis=0), 95))


def _shuffled_gaps(
    tables: Sequence[ClusterSums], statistic: Callable[[Means], Array], rng: np.random.Generator
) -> Array:
    """Return the largest gaps when users are assigned at random to groups of the same sizes."""
    sizes = [len(table.clusters) for table in tables]
    starts = np.cumsum([0, *sizes[:-1]])
    order = rng.permuted(np.tile(np.arange(sum(sizes)), (SHUFFLES, 1)), axis=1)
    means = {}
    for component in tables[0].sums:
        sums = np.concatenate([table.sums[component] for table in tables])[order]
        counts = np.concatenate([table.counts[component] for table in tables])[order]
        means[component] = np.add.reduceat(sums, starts, axis=1) / np.add.reduceat(counts, starts, axis=1)
    found = statistic(means)
    found = found[np.isfinite(found).all(axis=1)]  # a random group may lack some question type
    gaps: Array = found.max(axis=1) - found.min(axis=1)
    return gaps
