"""Display of HiCUPID runs: questions with both gold answers, verdicts by type, sides, gaps between user groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from bowstring.benchmarks.figures import Figure, Stack, lengths_figure
from bowstring.benchmarks.hicupid.choosing.scores import is_choice
from bowstring.benchmarks.hicupid.choosing.view import (
    about_choices,
    choice_answer,
    choice_figures,
    choice_item,
    choice_remarks,
)
from bowstring.benchmarks.hicupid.scores import AS_GOLD, metrics_by, scored_verdicts
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.benchmarks.view import (
    Item,
    Record,
    RunAnswer,
    View,
    ending_in_words,
    failure_in_words,
    present,
    score_in_words,
    verdict_in_words,
    words_of,
)
from bowstring.metrics.measures import MetricSet

_TEXTS = {"answer": "answers", "personalized_answer": "personalized gold", "general_answer": "general gold"}


class HicupidView(View):
    def item(self, record: Record) -> Item:
        r = record
        if is_choice(r):
            return choice_item(r, _facts_of(r))
        parts = [("question", r["question"]), ("answer", r.get("answer")), ("personalized", r["personalized_answer"])]
        parts += [("general", r["general_answer"]), (_judge(r), r.get("judgement"))]
        parts += [("sides swapped", r.get("swapped_judgement")), ("known fact", _facts_of(r))]
        parts += [("failure", failure_in_words(r))]
        numbers = {name: r.get(name) for name in ("rouge_l", "bleu", "recall")}
        return Item(
            key=r["key"],
            title=r["question"],
            facets={
                "type": r["type"],
                "verdict": verdict_in_words(r),
                "score": score_in_words(r.get("score")),
                "split": r["split"],
                "ended": ending_in_words(r),
            },
            numbers={"score": r.get("score"), "words": words_of(r.get("answer")), **numbers},
            parts=present(parts),
            history=str(r["user"]),
            evidence=r["evidence"],
            retrieved=r.get("retrieved", []),
        )

    def gold(self, record: Record) -> str:
        return str(record["personalized_answer"])

    def run_answer(self, metric: str, record: Record) -> RunAnswer:
        if metric.startswith("recall"):
            found = ", ".join(map(str, record.get("retrieved", ())))
            return RunAnswer(found, f"recall {record.get('recall')}", None)
        if is_choice(record):
            return choice_answer(record)
        if metric in ("bleu", "rouge_l"):
            return RunAnswer(record.get("answer", ""), f"{metric} {record[metric]:.3f}", None)
        verdicts = [record[name] for name in ("verdict", "swapped_verdict") if name in record]
        judgements = [record[name] for name in ("judgement", "swapped_judgement") if name in record]
        return RunAnswer(record.get("answer", ""), " / ".join(map(str, verdicts)), "\n\n".join(judgements) or None)

    def figures(self, records: Sequence[Record], metric_set: MetricSet) -> Iterable[Figure]:  # noqa: ARG002
        if choices := [r for r in records if is_choice(r)]:
            yield from choice_figures(choices)
            return
        judged = [r for r in records if "judgement" in r or "failure" in r]
        kinds = [kind for kind in QUESTION_TYPES if any(r["type"] == kind for r in judged)]
        rows: dict[str, Counter[str]] = {
            kind: Counter(v for r in judged if r["type"] == kind for v in scored_verdicts(r)) for kind in kinds
        }
        lost = Counter(str(r["type"]) for r in judged if not scored_verdicts(r))
        both_orders = "; both orders counted" if any("swapped_verdict" in r for r in judged) else ""
        yield Stack("verdicts", f"Verdicts, % of those that could be parsed{both_orders}", rows, lost)
        answered = [r for r in records if "answer" in r]
        yield lengths_figure({label: [float(len(r[f].split())) for r in answered] for f, label in _TEXTS.items()})

    def about_scores(self, metrics: Mapping[str, Any], metric_set: MetricSet) -> str:
        if "floors" in metrics:
            return about_choices(metrics)
        recall = metric_set.scale("recall.total").range_text
        if not metrics["config"]["model"]:
            return f"Recall: {recall}; higher is better."
        overlap = metric_set.scale("bleu").range_text
        return (
            f"{ranges_of_scores(metric_set)} Rates and recall: {recall}. bleu and rouge_l: {overlap}, against the "
            "personalized answer; they agree poorly with people. Higher is better, except for lose."
        )

    def about_configuration(self, metrics: Mapping[str, Any]) -> list[str]:
        settings = metrics["config"]["settings"]
        said = [f"chosen by {settings['by']}"] if settings.get("task") == "choose" else []
        said += [f"{settings['shots']}-shot"] if settings.get("shots") else []
        return said + (["instruction as a user turn"] if settings.get("instruction") == "user" else [])

    def remarks(self, metrics: Mapping[str, Any]) -> list[str]:
        """Ranges of scores, sides and lengths of answers, and gaps between user groups that are established."""
        if "floors" in metrics:
            return choice_remarks(metrics)
        scored = "score.total" in metrics["metrics"]
        metric_set = metrics_by(metrics["config"].get("judge"), metrics.get("protocol", "bowstring"))
        lines = [ranges_of_scores(metric_set)] if scored else []
        if metrics.get("answer_is_a") is not None:
            chose, words = metrics["judge_chose_a"], metrics["words"]
            said = f"answers on side A: {metrics['answer_is_a']:.1%}"
            said += "" if chose is None else f"; the judge chose A in {chose:.1%} of its decisions"
            lines.append(
                f"{said}; words per answer: {words['answer']:.1f}, per gold answer: {words['personalized_answer']:.1f}"
            )
        for axis, gaps in metrics.get("fairness", {}).items():
            for name, gap in gaps.items():
                if gap.get("established"):
                    mark = "" if gap["trusted"] else " *"
                    found = f"{gap['value']:.1f} [{gap['low']:.1f}, {gap['high']:.1f}]{mark}, p {gap['corrected']:.2g}"
                    by_chance = f"chance alone gives up to {gap['chance']:.1f}"
                    lines.append(f"{name} by {axis}: {found} between {gap['best']} and {gap['worst']}; {by_chance}")
        return lines

    def fragment(self) -> Traversable:
        return files("bowstring.benchmarks.hicupid") / "page.html"


def ranges_of_scores(metric_set: MetricSet) -> str:
    """Where scores end, and which score is as good as gold."""
    total, compared = (metric_set.scale(name) for name in ("score.total", "score.persona"))
    if total.high == total.ceiling:
        return (
            f"{total.ceiling:g} is the highest total, and the highest score of persona and profile: {AS_GOLD}. "
            "This judge never prefers an answer to the gold answer."
        )
    return (
        f"score.total: 0 to {total.high:g}, the other scores: 0 to {compared.high:g}; {total.ceiling:g} is {AS_GOLD} "
        "(schedule: 100)."
    )


def _judge(r: Record) -> str:
    compared = r["type"] != "schedule" and "answer_is" in r
    return f"judge (the answer was {r['answer_is']})" if compared else "judge"


def _facts_of(r: Record) -> str | None:
    """The facts about the user that the answer should use."""
    said = [
        f"{what}: " + ", ".join(f"{name} {value}" for name, value in r[what].items())
        for what in ("persona", "profile", "schedule")
        if r.get(what)
    ]
    return "\n".join(said) or None
