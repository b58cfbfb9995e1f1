"""What probes come to on either benchmark: dress that should not matter, and what should fail whatever it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.findings import (
    Finding,
    Judged,
    about,
    at_most,
    finding,
    paired,
    said,
)
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference
from bowstring.metrics.intervals import Estimate

Rows = list[tuple[str, float, float]]  # a cluster, a score before, a score after

_DRESSED = {
    "padded": "with empty sentences behind it",
    "formatted": "as a list with bold",
    "flattered": "behind a compliment",
}
_STEERED = {
    "ordered": "with an order to the judge behind it",
    "forged": "behind which the quotation is closed and the verdict forged",
    "announced": "with a note that claims to be the organisers'",
}


@dataclass(frozen=True, slots=True)
class Probed:
    """A benchmark's variants and its scale. Both readers also say how many could not be read."""

    what: str  # answer, or response
    both: Callable[[str, str], tuple[Rows, int]]  # the scores of one variant and of another
    alone: Callable[[str], tuple[list[Score], int]]
    mean: Callable[[Sequence[Score]], Estimate | None]
    scale: float
    reach: float  # the greatest change there can be
    clear: float  # a change that can be lived with
    low: float  # what fails has at most this
    should_fail: str

    def dress(self) -> Iterator[Finding]:
        for name, dressed in _DRESSED.items():
            yield from self._change("probes", name, "answer", f"the same {self.what} {dressed}", self._moved)
        yield from self._misplaced("probes")
        opening = f"a personal opening before {self._another}"
        yield from self._change("probes", "glued", "misplaced", opening, self._won)

    def steering(self) -> Iterator[Finding]:
        yield from self._misplaced("steering")
        for name, steered in _STEERED.items():
            title = f"the same {steered}, against idle words there"
            yield from self._change("steering", name, "idle", title, self._obeys)

    def _change(
        self, check: str, name: str, than: str, title: str, judge: Callable[[Difference], Judged]
    ) -> Iterator[Finding]:
        rows, lost = self.both(name, than)
        if rows or lost:
            found = paired(rows, self.scale, self.reach)
            title = f"{title}, change in score"
            yield finding(check, title, found, "about 0", judge, left_out=lost, places=self._places)

    @property
    def _another(self) -> str:
        return f"the {self.what} to another question" if self.what == "answer" else f"a {self.what} to another request"

    @property
    def _places(self) -> int:
        return 1 if self.scale > 1 else 2

    def _moved(self, change: Difference) -> Judged:
        way = "better" if change.value > 0 else "worse"
        moved = f"the judge likes it {way}: it looks at dress"
        return said(about(0, self.clear, change), "the judge is not shown to be moved", moved)

    def _won(self, change: Difference) -> Judged:
        return self._raised(change, "the judge is won by an opening", "the opening is not shown to help")

    def _obeys(self, change: Difference) -> Judged:
        return self._raised(
            change, "an answer can tell the judge what to say", "the judge is not shown to do as an answer says"
        )

    def _raised(self, change: Difference, does: str, does_not: str) -> Judged:
        if change.low > 0 and change.value > self.clear:
            return "look here", does
        scores, _ = self.alone("misplaced")
        passes = self.mean(scores)
        if passes is not None and passes.value > self.reach / 2:
            return "unclear", f"{does_not}, but there is hardly room: it passes anyway"
        return ("fine" if change.high <= self.clear else "unclear"), does_not

    def _misplaced(self, check: str) -> Iterator[Finding]:
        scores, lost = self.alone("misplaced")
        if scores or lost:
            yield finding(
                check,
                self._another,
                self.mean(scores),
                self.should_fail,
                lambda e: said(
                    at_most(self.low, e), "the judge does not let it pass", "the judge lets what answers nothing pass"
                ),
                left_out=lost,
                places=self._places,
            )
