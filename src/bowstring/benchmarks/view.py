"""How the runs of a benchmark are displayed: items, figures and texts on pages, in comparisons and in the terminal.

`View` works unchanged for records with `key`, `type`, `question`, `answer` and `gold`, and a `verdict` or a `score`.
Records may also have `judgement`, `split`, `finish`, `retrieved`, `evidence`, `user` and
`failure`. A benchmark with other records overrides the methods that differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from bowstring.benchmarks.figures import Figure, Histogram, Stack, lengths_figure
from bowstring.metrics.measures import MetricSet, Scale

Record = Mapping[str, Any]


class ShownDialogue(NamedTuple):
    """A dialogue of a history: its id, label and messages."""

    id: int
    about: str
    messages: Sequence[tuple[str, str]]


# Histories by name, as in `Item.history`.
Histories = Callable[[str], Sequence[ShownDialogue]]


@dataclass(frozen=True, slots=True)
class Item:
    """An item on a run's page. All items of a run have the same facets and numbers, in the same order."""

    key: str
    title: str
    facets: dict[str, str]  # values for filters
    numbers: dict[str, float | None]  # values for sorting
    parts: list[tuple[str, str]]  # (label, text)
    history: str
    evidence: list[int]
    retrieved: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer of a run to an item, its verdict, and the judgement."""

    answer: str
    verdict: str
    judgement: str | None


class View:
    def item(self, record: Record) -> Item:
        """A record as an item of the page's list."""
        parts = [("question", self.question_text(record)), ("answer", record.get("answer"))]
        parts += [("gold", self.gold(record) or None), ("judge", record.get("judgement"))]
        parts += [("failure", failure_in_words(record))]
        return Item(
            key=record["key"],
            title=self.question_text(record),
            facets={
                "type": str(record.get("type", "none")),
                "verdict": verdict_in_words(record),
                "score": score_in_words(record.get("score")),
                "split": str(record.get("split", "none")),
                "ended": ending_in_words(record),
            },
            numbers={"score": record.get("score"), "words": words_of(record.get("answer"))},
            parts=present(parts),
            history=str(record.get("user", record["key"])),
            evidence=list(record.get("evidence") or ()),
            retrieved=list(record.get("retrieved") or ()),
        )

    def question_text(self, record: Record) -> str:
        """The question, for a comparison."""
        return str(record.get("question", record["key"]))

    def gold(self, record: Record) -> str:
        """The gold answer; empty if there is none."""
        return str(record.get("gold") or "")

    def run_answer(self, metric: str, record: Record) -> RunAnswer:  # noqa: ARG002
        """The answer of a run, for a comparison by this metric."""
        score = record.get("score")
        verdict = verdict_in_words(record) if score is None or record.get("verdict") else f"score {score:g}"
        return RunAnswer(record.get("answer") or "", verdict, record.get("judgement"))

    def figures(self, records: Sequence[Record], metric_set: MetricSet) -> Iterable[Figure]:  # noqa: ARG002
        """Figures of the records; `lengths` is shown below the scores, the others above."""
        yield from _outcomes(records)
        answered = [record for record in records if record.get("answer") is not None]
        texts = {"answers": [r["answer"] for r in answered], "gold": [g for r in answered if (g := self.gold(r))]}
        yield lengths_figure({label: [float(len(text.split())) for text in own] for label, own in texts.items()})

    def about_scores(self, metrics: Mapping[str, Any], metric_set: MetricSet) -> str:
        """The text below the table of scores: ranges, directions and ceilings. `metrics` is the metrics.json of a
        run."""
        alike: dict[tuple[Scale, bool], list[str]] = {}
        for name in metrics["metrics"]:
            if name in metric_set.measures:
                way = metric_set.measures[name].higher_is_better
                alike.setdefault((metric_set.scale(name), way), []).append(name)
        return " ".join(_scale_in_words(scale, higher, names) for (scale, higher), names in alike.items())

    def about_configuration(self, metrics: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """Additional parts of the line below the title."""
        return []

    def remarks(self, metrics: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """Lines below the table of scores in the terminal."""
        return []

    def fragment(self) -> Traversable | None:
        """A Jinja file with its own parts of the page, as macros: `after_scores(m)` below the table of scores,
        `validity(v)` in the part about validity, `sections(m)` before the breakdowns. `m` is a run's metrics.json."""
        return None


def _outcomes(records: Sequence[Record]) -> Iterable[Figure]:
    """Verdicts by type, or the distribution of scores if there are no verdicts."""
    scores = [float(r["score"]) for r in records if r.get("score") is not None]
    if scores and not any(r.get("verdict") for r in records):
        low, high = math.floor(min(0.0, *scores)), math.ceil(max(1.0, *scores))
        edges = [low + (high - low) * n / 10 for n in range(11)]
        yield Histogram("scores", "Scores of answers", "score", {"answers": scores}, edges, 1 if high - low > 10 else 2)
        return
    rows: dict[str, Counter[str]] = {}
    lost: Counter[str] = Counter()
    for record in records:
        kind, verdict = str(record.get("type", "all")), verdict_in_words(record)
        if verdict in ("failed", "unparsed"):
            rows.setdefault(kind, Counter())
            lost[kind] += 1
        elif verdict != "none":
            rows.setdefault(kind, Counter())[verdict] += 1
    yield Stack("verdicts", "Verdicts, % of those that could be parsed", rows, lost)


def _scale_in_words(scale: Scale, higher_is_better: bool, names: Sequence[str]) -> str:
    ceiling = f"; {scale.ceiling:g} is {scale.ceiling_means}" if scale.ceiling is not None else ""
    return f"{', '.join(names)}: {scale.range_text}, {'higher' if higher_is_better else 'lower'} is better{ceiling}."


def verdict_in_words(record: Record) -> str:
    if record.get("failure"):
        return "failed"
    verdict = record.get("verdict")
    if verdict is not None:
        return str(verdict)
    return "unparsed" if "judgement" in record and record.get("score") is None else "none"


def score_in_words(score: float | None) -> str:
    return "none" if score is None else f"{score:g}"


def ending_in_words(part: Record) -> str:
    return (
        "cut at the token limit" if part.get("finish") == "length" else "complete" if "finish" in part else "no answer"
    )


def failure_in_words(part: Record) -> str | None:
    found = part.get("failure")
    return f"{found['stage']}: {found['reason']}" if isinstance(found, Mapping) else found


def words_of(text: str | None) -> int | None:
    return None if text is None else len(text.split())


def present(parts: Sequence[tuple[str, str | None]]) -> list[tuple[str, str]]:
    """The parts that are present."""
    return [(label, text) for label, text in parts if text is not None]
