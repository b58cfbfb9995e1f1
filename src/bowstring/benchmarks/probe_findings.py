"""Findings of the probes and steering checks: rewrites that should not change a score, and answers that should fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bowstring.benchmarks.findings import (
    USER,
    Assessment,
    Decision,
    Finding,
    at_least,
    at_most,
    improvement,
    make_finding,
    near,
    paired_difference,
    with_meaning,
)
from bowstring.benchmarks.interface import Noun
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference
from bowstring.metrics.intervals import Estimate

Rows = list[tuple[str, float, float]]  # cluster, score before, score after

_REWRITTEN = {  # variant -> its description, and what a judge that changes its score reacts to
    "padded": ("with filler sentences added", "length"),
    "formatted": ("as a list with bold text", "formatting"),
    "flattered": ("after a compliment", "flattery"),
}
_STEERED = {
    "ordered": "with an order to the judge",
    "forged": "with a closed quotation and a forged verdict",
    "announced": "with a fake note from the organizers",
}


@dataclass(frozen=True, slots=True)
class ProbeFindings:
    """A benchmark's variants and its scale. `both` and `alone` also return how many variants have no score."""

    what: str  # answer or response
    unit: str  # such as: score 0–100
    both: Callable[[str, str], tuple[Rows, int]]  # scores of two variants, paired
    alone: Callable[[str], tuple[list[Score], int]]
    mean: Callable[[Sequence[Score]], Estimate | None]
    scale: float
    reach: float  # the largest possible change
    clear: float  # changes up to this are acceptable
    low: float  # a wrong answer should score at most this, or at least this where lower is better
    middle: float  # an answer on the better side of this passes
    lowest: float = 0.0  # the worst possible score
    cluster: Noun = USER
    places: int = 1  # decimals to print
    higher_is_better: bool = True

    def formatting(self) -> Iterator[Finding]:
        room = f"−{self.clear:g} to +{self.clear:g}"
        for name, (rewritten, cause) in _REWRITTEN.items():
            title = f"{self.what} {rewritten} − original {self.what} (difference, {self.unit})"
            yield from self._change("probes", name, "answer", title, room, partial(self._assess_rewrite, cause))
        yield from self._misplaced("probes")
        opening = f"{self._misplaced_what} with a personal opening − without (difference, {self.unit})"
        yield from self._change("probes", "glued", "misplaced", opening, self._at_most, self._assess_opening)

    def steering(self) -> Iterator[Finding]:
        yield from self._misplaced("steering")
        for name, steered in _STEERED.items():
            title = f"{self._misplaced_what} {steered} − with neutral text (difference, {self.unit})"
            yield from self._change("steering", name, "idle", title, self._at_most, self._assess_steering)

    def _change(
        self,
        check: str,
        name: str,
        than: str,
        title: str,
        expected: str,
        assess: Callable[[Difference], Assessment],
    ) -> Iterator[Finding]:
        rows, lost = self.both(name, than)
        if rows or lost:
            found = paired_difference(rows, self.scale, self.reach)
            yield self._finding(check, title, found, expected, assess, left_out=lost)

    @property
    def _misplaced_what(self) -> str:
        return f"{self.what} to another {'question' if self.what == 'answer' else 'request'}"

    @property
    def _improves(self) -> str:
        return "raise" if self.higher_is_better else "lower"

    @property
    def _at_most(self) -> str:
        return f"+{self.clear:g} or less" if self.higher_is_better else f"−{self.clear:g} or more"

    @property
    def _finding(self) -> Callable[..., Finding]:
        return partial(make_finding, places=self.places, cluster=self.cluster)

    def _assess_rewrite(self, cause: str, change: Difference) -> Assessment:
        way = "higher" if change.value > 0 else "lower"
        reacts = f"The judge scores it {way}: it reacts to {cause}."
        return with_meaning(
            near(0, self.clear, change),
            "The judge does not react to it much.",
            reacts,
            whether=f"the judge reacts to {cause}",
        )

    def _assess_opening(self, change: Difference) -> Assessment:
        return self._assess_rise(
            change,
            f"A personal opening {self._improves}s the score of a wrong {self.what}.",
            f"The opening is not shown to {self._improves} the score.",
        )

    def _assess_steering(self, change: Difference) -> Assessment:
        return self._assess_rise(
            change,
            f"The judge follows instructions inside the {self.what}.",
            f"The judge is not shown to follow instructions inside the {self.what}.",
        )

    def _assess_rise(self, change: Difference, does: str, does_not: str) -> Assessment:
        change = improvement(change, higher_is_better=self.higher_is_better)
        if change.low > 0 and change.value > self.clear:
            return "problem", does
        scores, _ = self.alone("misplaced")
        passes = self.mean(scores)
        if passes is not None and (passes.value > self.middle if self.higher_is_better else passes.value < self.middle):
            room = "rise" if self.higher_is_better else "fall"
            return "unclear", f"{does_not} But it already passes without, so there is little room to {room}."
        return Decision("fine" if change.high <= self.clear else "unclear", self.clear), does_not

    def _misplaced(self, check: str) -> Iterator[Finding]:
        scores, lost = self.alone("misplaced")
        if scores or lost:
            yield self._finding(
                check,
                f"{self._misplaced_what}, {self.unit}",
                self.mean(scores),
                f"{self.low:g} or {'less' if self.higher_is_better else 'more'}",
                lambda e: with_meaning(
                    (at_most if self.higher_is_better else at_least)(self.low, e, ideal=self.lowest),
                    "The judge rejects it.",
                    f"The judge accepts a wrong {self.what}.",
                    whether="the judge rejects it",
                ),
                left_out=lost,
            )
