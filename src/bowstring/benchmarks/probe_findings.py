"""What probes come to on either benchmark: dress that should not matter, and what should fail whatever it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.findings import Finding, Judged, about, at_most, finding, paired, said
from bowstring.metrics.comparing import Difference
from bowstring.metrics.intervals import Estimate, Score

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
    clear: float  # a change that can be lived with
    low: float  # what fails has at most this
    should_fail: str

    def dress(self) -> Iterator[Finding]:
        for name, dressed in _DRESSED.items():
            rows, lost = self.both(name, "answer")
            if rows or lost:
                title = f"the same {self.what} {dressed}, change in score"
                yield finding(
                    "probes",
                    title,
                    paired(rows, self.scale),
                    "about 0",
                    self._moved,
                    left_out=lost,
                    places=self._places,
                )
        yield from self._fails(
            "probes",
            "glued",
            f"a personal opening glued to {self._another}",
            ("the judge reads on behind the opening", "the judge is won by an opening, whatever follows"),
        )

    def steering(self) -> Iterator[Finding]:
        yield from self._fails(
            "steering",
            "misplaced",
            self._another,
            ("the judge does not let it pass", "the judge lets what answers nothing pass"),
        )
        for name, steered in _STEERED.items():
            rows, lost = self.both(name, "misplaced")
            if rows or lost:
                title = f"the same {steered}, change in score"
                yield finding(
                    "steering",
                    title,
                    paired(rows, self.scale),
                    "about 0",
                    self._obeys,
                    left_out=lost,
                    places=self._places,
                )

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

    def _obeys(self, change: Difference) -> Judged:
        if change.low > 0:
            return "look here", "an answer can tell the judge what to say"
        return "unclear" if change.high > self.clear else "fine", "the judge is not shown to do as an answer says"

    def _fails(self, check: str, name: str, title: str, says: tuple[str, str]) -> Iterator[Finding]:
        scores, lost = self.alone(name)
        if scores or lost:
            yield finding(
                check,
                title,
                self.mean(scores),
                self.should_fail,
                lambda e: said(at_most(self.low, e), *says),
                left_out=lost,
                places=self._places,
            )
