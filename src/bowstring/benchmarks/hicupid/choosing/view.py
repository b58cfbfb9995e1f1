"""Display of choices: each question with its options, which one is gold and which was chosen; letters and floors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.figures import Figure, Stack
from bowstring.benchmarks.hicupid.choosing.floors import floor_in_words
from bowstring.benchmarks.hicupid.choosing.options import GOLD, IN_WORDS, LETTERS
from bowstring.benchmarks.hicupid.choosing.scores import chosen_outcome
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.benchmarks.view import (
    Item,
    Record,
    RunAnswer,
    ending_in_words,
    failure_in_words,
    present,
    score_in_words,
)

_KINDS = {
    GOLD: "gold",
    "general": "general answer",
    "wrong_side": "own subject, other side",
    "wrong_person": "another user's",
    "wrong_both": "wrong in both",
    "wrong_profile": "another profile",
    "wrong_persona": "another persona",
    "books_over": "books over it",
    "other_appointment": "another user's appointment",
    "declines": "declines without a reason",
    "unrelated": "an unrelated appointment",
}


def choice_item(r: Record, facts: str | None) -> Item:
    """A record of a choice as an item of the page's list."""
    parts: list[tuple[str, str | None]] = [("question", r["question"]), *_options(r)]
    parts += [("answer", r.get("answer")), ("known fact", facts), ("failure", failure_in_words(r))]
    return Item(
        key=r["key"],
        title=r["question"],
        facets={
            "type": r["type"],
            "chose": choice_in_words(r),
            "score": score_in_words(r.get("score")),
            "split": r["split"],
            "gold at": r["gold_is"],
            "ended": ending_in_words(r) if r["by"] == "letter" else "scored" if "choice" in r else "no answer",
        },
        numbers={"score": r.get("score"), "recall": r.get("recall")},
        parts=present(parts),
        history=str(r["user"]),
        evidence=r["evidence"],
        retrieved=r.get("retrieved", []),
    )


def choice_in_words(r: Record) -> str:
    if r.get("failure"):
        return "failed"
    outcome = chosen_outcome(r)
    return "unparsed" if outcome is None else IN_WORDS[outcome]


def _options(r: Record) -> Iterator[tuple[str, str | None]]:
    for n, (letter, one) in enumerate(zip(LETTERS, r["options"], strict=False)):
        about = [_KINDS[one["kind"]]]
        if "log_probabilities" in r:
            about.append(f"{r['log_probabilities'][n] / r['tokens'][n]:.2f} per token")
        if r.get("choice") == letter:
            about.append("CHOSEN")
        yield f"{letter}: {', '.join(about)}", one["text"]


def choice_answer(r: Record) -> RunAnswer:
    """The choice of a run, for a comparison."""
    choice = r.get("choice")
    text = r["options"][LETTERS.index(choice)]["text"] if choice is not None else r.get("answer", "")
    return RunAnswer(f"{choice}. {text}" if choice is not None else text, choice_in_words(r), None)


def choice_figures(records: Sequence[Record]) -> Iterable[Figure]:
    kinds = [kind for kind in QUESTION_TYPES if any(r["type"] == kind for r in records)]
    rows: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    lost: Counter[str] = Counter()
    for outcome, words in IN_WORDS.items():  # in the same order in every row
        for r in records:
            if chosen_outcome(r) == outcome:
                rows[r["type"]][words] += 1
    lost.update(str(r["type"]) for r in records if r.get("choice") is None)
    yield Stack("choices", "What was chosen, % of the choices that could be read", rows, lost)


def about_choices(metrics: Mapping[str, Any]) -> str:
    chance = f"chance is {metrics['chance']:.1f}" if metrics.get("chance") is not None else "there are no choices"
    return (
        f"accuracy: percent, {chance}, 100 is the best. accuracy.total is the mean over 25 persona, 5 profile and 10 "
        "schedule questions. subject: the right subject among the four combinations of subject and side; side: the "
        "right side, given the right subject; chance is 50 for both. chose: wrong options, in percent of the questions "
        "that offer them; lower is better. by_sum: accuracy if log-probabilities are not divided by length."
    )


def choice_remarks(metrics: Mapping[str, Any]) -> list[str]:
    """Lines below the table of scores in the terminal."""
    lines = []
    chosen = metrics.get("chosen") or {}
    for kind, counts in chosen.items():
        n = sum(counts.values())
        said = ", ".join(f"{IN_WORDS.get(name, name)} {count:,} ({count / n:.0%})" for name, count in counts.items())
        lines.append(f"{kind}: {said}")
    if letters := metrics.get("letters"):
        said = ", ".join(
            f"{letter} {e['value']:.1f} [{e['low']:.1f}, {e['high']:.1f}]" for letter, e in letters.items()
        )
        places = ", ".join(f"{letter} {n:,}" for letter, n in metrics.get("gold_at", {}).items())
        lines.append(f"letters chosen, %: {said}; places of gold: {places}")
    lines += floor_lines(metrics)
    return lines


def floor_lines(metrics: Mapping[str, Any]) -> list[str]:
    """What controls reach that do not see the history."""
    floors = metrics.get("floors") or {}
    controls = floors.get("controls") or {}
    if not controls:
        return []
    head = (
        f"Floors, without the history (chance {floors['chance']:.1f}; {floors['questions']:,} questions of "
        f"{floors['users']:,} users):"
    )
    return [head, *(f"  {floor_in_words(name, floors)}" for name in controls)]
